"""Samples scored blind: drawn by seed and domain, given to those who have seen nothing."""

from collections import Counter

import pytest
from django.core.exceptions import PermissionDenied

from annotate.models import Aspect, RescoreTask, WeightScore
from annotate.review import rescoring as verbs
from annotate.review import services as reviews
from corpus.access import enter
from kit.errors import Refused
from tests.annotate.world import signed_in
from tests.factories import make_query


def more_queries(desk, biology, weather):
    for n in range(biology):
        query = make_query(desk.benchmark, f"b{n}", "biology")
        Aspect.objects.create(query=query, k=1, position=1, content="c", created_by=desk.author)
    for n in range(weather):
        query = make_query(desk.benchmark, f"w{n}", "weather")
        Aspect.objects.create(query=query, k=1, position=1, content="c", created_by=desk.author)


def drawn(sample):
    return list(sample.tasks.order_by("place").values_list("query__domain__name", "query__qid"))


def test_sample_is_stratified_and_seeded(desk):
    more_queries(desk, 29, 10)
    make_query(desk.benchmark, "bare")

    def draw(seed):
        return drawn(
            verbs.draw_sample(benchmark=desk.benchmark, actor=desk.admin, size=8, seed=seed)
        )

    first, again, other = draw(1), draw(1), draw(2)
    assert first == again
    assert first != other
    assert Counter(domain for domain, _ in first) == {"biology": 6, "weather": 2}
    assert "bare" not in {qid for _, qid in first}


def test_fifty_by_default_and_all_where_there_are_fewer(desk):
    more_queries(desk, 3, 2)
    sample = verbs.draw_sample(benchmark=desk.benchmark, actor=desk.admin)
    assert (sample.size, sample.tasks.count()) == (50, 6)


def test_only_admins_draw_and_only_something(desk):
    with pytest.raises(PermissionDenied):
        verbs.draw_sample(benchmark=desk.benchmark, actor=desk.reviewer)
    for wrong in ({"size": 0}, {"size": 10**6}, {"seed": -1}, {"seed": 2**40}):
        with pytest.raises(Refused):
            verbs.draw_sample(benchmark=desk.benchmark, actor=desk.admin, **wrong)
    Aspect.objects.update(removed_at="2026-01-01T00:00Z")
    with pytest.raises(Refused, match="No query has aspects"):
        verbs.draw_sample(benchmark=desk.benchmark, actor=desk.admin)


def waiting(desk, person):
    return verbs.next_task(enter(person, desk.benchmark.slug))


def test_tasks_go_to_reviewers_who_saw_nothing(desk):
    verbs.draw_sample(benchmark=desk.benchmark, actor=desk.admin)
    task = RescoreTask.objects.get()
    assert waiting(desk, desk.reviewer) == task
    assert waiting(desk, desk.outsider) is None
    assert waiting(desk, desk.admin) is None
    review = reviews.start_review(query=desk.query, reviewer=desk.reviewer)
    assert waiting(desk, desk.reviewer) is None
    assert waiting(desk, desk.third) == task
    reviews.score_weights(review=review, actor=desk.reviewer, weights=desk.weights)
    with pytest.raises(PermissionDenied):
        verbs.score_task(task=task, actor=desk.author, weights=desk.weights)
    verbs.score_task(task=task, actor=desk.third, weights=desk.weights)
    assert waiting(desk, desk.third) is None
    assert WeightScore.objects.filter(task=task, review=None).count() == 2


def test_a_task_is_done_once(desk):
    verbs.draw_sample(benchmark=desk.benchmark, actor=desk.admin)
    task = RescoreTask.objects.get()
    with pytest.raises(Refused):
        verbs.score_task(task=task, actor=desk.third, weights={})
    assert RescoreTask.objects.get().done_at is None
    verbs.score_task(task=task, actor=desk.third, weights=desk.weights)
    with pytest.raises(Refused, match="Somebody else scored"):
        verbs.score_task(task=task, actor=desk.reviewer, weights=desk.weights)


def test_queue_on_screen_and_by_api(desk):
    admin = signed_in(desk.admin)
    assert admin.post(desk.url("rescoring/samples/"), {"size": 5, "seed": 3}).status_code == 302
    task = RescoreTask.objects.get()
    client = signed_in(desk.third)
    page = client.get(desk.url("rescoring/")).content.decode()
    assert f'name="task" value="{task.pk}"' in page
    half = {"task": task.pk, f"weight-{desk.aspects[0].pk}": 4}
    assert client.post(desk.url("rescoring/"), half).status_code == 422
    shown = client.get(f"/api{desk.url('rescoring/')}").json()
    assert [shown["task"], len(shown["to_score"])] == [task.pk, 2]
    given = {f"weight-{pk}": value for pk, value in desk.weights.items()}
    assert client.post(desk.url("rescoring/"), {"task": task.pk} | given).status_code == 302
    assert "No query waits" in client.get(desk.url("rescoring/")).content.decode()
    samples = admin.get(f"/api{desk.url('rescoring/samples/')}").json()["results"]
    assert (samples[0]["drawn"], samples[0]["done"]) == (1, 1)
    api = signed_in(desk.reviewer).post(
        f"/api{desk.url(f'rescoring/{task.pk}/')}",
        {"weights": {str(pk): w for pk, w in desk.weights.items()}},
        content_type="application/json",
    )
    assert api.status_code == 404
