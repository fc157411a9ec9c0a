"""Labels of panels and blind scores of samples, given on two installations, become one."""

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from annotate.models import (
    Aspect,
    CaseStatus,
    PanelStatus,
    ReferenceItem,
    ReferencePanel,
    RescoreSample,
    RescoreTask,
    SpotCheck,
    Vote,
    WeightScore,
)
from annotate.panels.labels import label_item
from annotate.panels.services import draw_panel
from annotate.panels.settling import check_item
from corpus.access import enter
from corpus.models import Benchmark, Judgment, Source
from evaluation.models import MergeConflict
from evaluation.transfer.merging.run import Merge
from kit.errors import Refused
from tests.factories import make_benchmark, make_member, make_passage, make_pool, make_query

START = datetime(2026, 1, 1, tzinfo=UTC)
ITEMS = 2
# An item, who labels it, and what they say; from 2 on a senior says it.
SAYING = st.tuples(st.integers(0, ITEMS - 1), st.integers(0, 2), st.integers(0, 1))
SAID = st.lists(SAYING, max_size=4)
Said = list[tuple[int, int, int]]


def person(benchmark: Benchmark, name: str, *roles: str) -> User:
    """As one who came with a file: nobody of this installation."""
    known = User.objects.filter(username=f"erased-{name}", memberships__benchmark=benchmark)
    return known.first() or make_member(benchmark, f"erased-{name}", *roles)


def make_side(slug: str, labels: int = 2) -> tuple[Benchmark, ReferencePanel]:
    """A benchmark with an open panel; the same pairs are drawn on every side."""
    benchmark = make_benchmark(slug)
    queries = [make_query(benchmark, f"q{n}", answers=["yes"]) for n in range(ITEMS)]
    pairs = [(each, make_passage(benchmark, f"p{n}")) for n, each in enumerate(queries)]
    panel = draw_panel(
        benchmark=benchmark,
        actor=None,
        name="reference",
        pool=make_pool(benchmark, *pairs),
        per_domain=ITEMS,
        labels_per_item=labels,
        practice_items=0,
        check_percent=100,
    )
    ReferencePanel.objects.filter(pk=panel.pk).update(status=PanelStatus.OPEN, created_at=START)
    return benchmark, ReferencePanel.objects.get(pk=panel.pk)


def say(panel: ReferencePanel, told: Said, by: str, at: datetime) -> None:
    """What nobody may say is left out; all sides say the same at the same moment."""
    items = {each.case.query.qid: each for each in panel.items.select_related("case__query")}
    roles = {0: "annotator", 1: "annotator", 2: "reviewer"}
    for second, (number, who, label) in enumerate(told):
        user = person(panel.benchmark, f"{by}{who}", roles[who])
        moment = at + timedelta(seconds=second)
        access = enter(user, panel.benchmark.slug)
        item = ReferenceItem.objects.select_related("panel__benchmark").get(
            pk=items[f"q{number}"].pk
        )
        made: Any = None
        with suppress(Refused):
            if who == 2:
                made = check_item(item=item, access=access, label=label, reason="I read it.")
                Judgment.objects.filter(pk=made.judgment_id).update(created_at=moment)
            else:
                made = label_item(item=item, access=access, label=label)
                judged = Judgment.objects.filter(provenance__case=item.case_id)
                judged.filter(created_at__gt=START + timedelta(days=99)).update(created_at=moment)
        if made is not None:
            type(made).objects.filter(pk=made.pk).update(created_at=moment)


def found_in(benchmark: Benchmark) -> Any:
    """All that was said, and what counts."""
    items = ReferenceItem.objects.filter(panel__benchmark=benchmark)
    cases = items.values_list("case__query__qid", "case__status", "case__label")
    standing = Judgment.objects.standing().filter(query__domain__benchmark=benchmark)
    votes = Vote.objects.filter(case__query__domain__benchmark=benchmark)
    checks = SpotCheck.objects.filter(item__panel__benchmark=benchmark)
    conflicts = MergeConflict.objects.filter(benchmark=benchmark)
    return {
        "votes": {*votes.values_list("case__query__qid", "voter__username", "label", "created_at")},
        "checks": {*checks.values_list("item__case__query__qid", "label", "created_at")},
        "standing checks": [*checks.standing().values_list("pk", flat=True)],
        "conflicts": {(c.query.qid, frozenset((c.ours, c.theirs))) for c in conflicts},
        "labels": {j.query.qid: j.label for j in standing.filter(source=Source.EXPERT)},
        "items": {qid: rest for qid, *rest in cases},
    }


def merged(base: Said, one: Said, other: Said, *, turned: bool) -> Any:
    with transaction.atomic():
        sides = []
        for slug, own, days in (("a", one, 1), ("bb", other, 2)):
            benchmark, panel = make_side(slug)
            say(panel, base, "both", START)
            say(panel, own, slug, START + timedelta(days=days))
            sides.append(benchmark)
        here, there = sides[::-1] if turned else sides
        before, beside = found_in(here), found_in(there)
        Merge(here, there, digest="d" * 64, actor=None).run()
        found = found_in(here)
        for name in ("votes", "checks"):
            assert found[name] == before[name] | beside[name]
        again = Merge(here, there, digest="e" * 64, actor=None)
        again.run()
        assert found_in(here) == found
        assert (dict(again.told.added), again.told.conflict_count) == ({}, 0)
        for qid, _ in found["conflicts"]:  # what stood here stands
            assert found["labels"].get(qid) == before["labels"].get(qid)
        assert len(found["standing checks"]) == len({qid for qid, *_ in found["checks"]})
        transaction.set_rollback(True)
    return found


@pytest.mark.slow
@pytest.mark.django_db
@given(SAID, SAID, SAID)
def test_panels_merge_once_and_come_to_the_same_both_ways_round(
    base: Said, one: Said, other: Said
) -> None:
    found, turned = (merged(base, one, other, turned=each) for each in (False, True))
    for name in ("votes", "checks", "conflicts"):
        assert found[name] == turned[name]
    open_ = {qid for qid, _ in found["conflicts"]}
    for name in ("labels", "items"):
        first, second = (
            {qid: value for qid, value in each[name].items() if qid not in open_}
            for each in (found, turned)
        )
        assert first == second


@pytest.mark.slow
@pytest.mark.django_db
def test_two_halves_of_a_double_annotation_agree_and_a_panel_of_there_comes_closed() -> None:
    (here, panel), (there, theirs) = make_side("a"), make_side("bb")
    say(panel, [(0, 0, 1)], "a", START)
    say(theirs, [(0, 0, 1), (1, 0, 1), (1, 1, 0)], "bb", START + timedelta(days=1))
    report = Merge(here, there, digest="d" * 64, actor=None).run()
    assert (report["added"], report["conflict_count"]) == ({"vote": 3}, 0)
    items = panel.items.select_related("case__judgment").order_by("case__query__qid")
    assert [each.case.status for each in items] == [CaseStatus.CLOSED, CaseStatus.EXPERT]
    assert (items[0].case.label, items[0].case.judgment.source) == (1, Source.EXPERT)

    bare = make_benchmark("ccc")
    for n in range(ITEMS):
        make_query(bare, f"q{n}", answers=["yes"])
        make_passage(bare, f"p{n}")
    trial = Merge(bare, there, digest="d" * 64, actor=None, is_trial=True).run()
    assert not bare.reference_panels.exists()
    report = Merge(bare, there, digest="d" * 64, actor=None).run()
    assert report["added"] == trial["added"]
    assert report["added"]["reference panel"] == 1
    copy = bare.reference_panels.get()
    assert (copy.name, copy.status) == ("reference", PanelStatus.CLOSED)
    # The half of there waits for a senior of here, as where a panel is closed.
    assert {each.case.status for each in copy.items.all()} == {CaseStatus.EXPERT}


@pytest.mark.django_db
def test_blind_scores_of_a_sample_are_merged_and_the_first_scorer_has_its_task() -> None:
    sides, now = [], timezone.now()
    for slug, weight, hour in (("a", 2, 2), ("bb", 4, 1)):
        benchmark = make_benchmark(slug)
        query = make_query(benchmark)
        aspect = Aspect.objects.create(query=query, k=1, content="Point", weight=3)
        Aspect.objects.filter(pk=aspect.pk).update(created_at=START)
        sample = RescoreSample.objects.create(benchmark=benchmark, seed=1, size=1)
        RescoreSample.objects.filter(pk=sample.pk).update(created_at=START)
        scorer = person(benchmark, slug, "reviewer")
        done = {"scorer": scorer, "done_at": now + timedelta(hours=hour)}
        task = RescoreTask.objects.create(sample=sample, query=query, place=0, **done)
        given = {"weight": weight, "author_weight": 3, "scale": aspect.scale}
        WeightScore.objects.create(aspect=aspect, scorer=scorer, task=task, **given)
        sides.append(benchmark)
    here, there = sides
    for _ in range(2):
        Merge(here, there, digest="d" * 64, actor=None).run()
        scores = WeightScore.objects.filter(aspect__query__domain__benchmark=here)
        assert sorted(scores.values_list("weight", flat=True)) == [2, 4]
        assert {each.task.sample.benchmark for each in scores.standing()} == {here}
        task = RescoreTask.objects.get(sample__benchmark=here)
        assert task.scorer.username == "erased-bb"
    RescoreSample.objects.filter(benchmark=there).update(created_at=START + timedelta(days=1))
    extra = WeightScore.objects.get(aspect__query__domain__benchmark=there)
    WeightScore.objects.filter(pk=extra.pk).update(created_at=START + timedelta(days=2))
    report = Merge(here, there, digest="e" * 64, actor=None).run()
    assert report["added"] == {"rescore sample": 1, "rescore task": 1, "weight score": 1}
    assert here.rescore_samples.count() == 2
