"""Two worlds that differ only in what a voter must not know: byte for byte the same to them.

Masked, and nothing else: CSRF tokens and nonces (world.masked), and the dates of the batch. The
worlds are made one after the other in transactions that are rolled back, so keys of rows that a
voter sees are the same in both.
"""

import re
from itertools import product
from typing import Any

import pytest
from django.db import connection

from annotate.models import AttentionCheck, Batch, BatchItem, EscalationCase, VoteSlot
from annotate.voting.services import cast_vote
from tests.annotate.batching import answer_all, make_batch_world, submit, take
from tests.annotate.test_api import script
from tests.annotate.world import hx, make_snapshot, make_world, masked, signed_in, write_plan
from tests.factories import make_member
from tests.walking import HEADERS_APART
from tests.worlds import in_a_world

pytestmark = pytest.mark.django_db
OTHERS = ([1, 0], [1, 1], [0, 1], [None, 0])
REVEALS = ("none", "after", "start")
DATES = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z|\d\d? \w{3} \d{4},? \d\d:\d\d|\d\d:\d\d")


def answer_of(response: Any) -> tuple[int, dict[str, str], str]:
    kept = {name: value for name, value in response.items() if name not in HEADERS_APART}
    return response.status_code, kept, DATES.sub("DATE", masked(response))


def everything(world, person, paths, api_paths) -> dict[Any, Any]:
    client, api = signed_in(person), script(person)
    seen = {}
    for path in paths:
        for headers in ({}, hx("vote-panel")):
            seen[path, bool(headers)] = answer_of(client.get(world.url(path), **headers))
    for path in api_paths:
        seen[path] = answer_of(api.get(f"/api{world.url(path)}"))
    seen["home"] = answer_of(client.get("/home/annotate/"))
    return seen


@pytest.mark.slow
@pytest.mark.parametrize("reveal", REVEALS)
def test_nothing_of_a_batch_tells_a_check_from_a_case(reveal) -> None:
    """The same pair in the same place: as a check in one world, as a case in the other."""
    world = make_batch_world(reveal=reveal)
    person = world.voters[0]
    batch = take(world, person)
    check = batch.items.select_related("check_item").exclude(check_item=None).get()
    pair = check.check_item

    def look() -> dict[Any, Any]:
        paths = ["vote/", f"vote/batches/{batch.pk}/", "queries/", "passages/"]
        paths += [f"vote/batches/{batch.pk}/{n}/" for n in range(1, 11)]
        paths += [f"queries/{pair.query_id}/", f"passages/{pair.passage_id}/", "disputes/"]
        paths += ["feedback/"]
        api = ["feedback/", "feedback/votes/"]
        api += ["batches/", f"batches/{batch.pk}/", "judgments/", "cases/", "voting/terms/"]
        api += [f"batches/{batch.pk}/items/{n}/" for n in range(1, 11)]
        before = everything(world, person, paths, api)
        client = signed_in(person)
        for label in ("0", "1"):  # its answers, its first and its final judgment
            url = world.url(f"vote/batches/{batch.pk}/{check.place}/")
            answer = client.post(url, {"label": label, "elapsed_ms": "5", "reason": "Because."})
            before["post", label] = answer_of(answer)
        after = everything(world, person, paths, api)
        return before | {("after", key): value for key, value in after.items()}

    def as_case() -> dict[Any, Any]:
        # Closed from the start, so that the workspace shows its labels as it does for a check.
        case = EscalationCase.objects.create(
            origin="debate:77",
            query=pair.query,
            passage=pair.passage,
            snapshot=pair.snapshot,
            status="closed",
        )
        VoteSlot.objects.filter(case=case, place=1).update(voter=person, batch=batch)
        BatchItem.objects.filter(pk=check.pk).update(case=case, check_item=None)
        AttentionCheck.objects.filter(pk=pair.pk).delete()
        return look()

    in_first, in_second = in_a_world(look), in_a_world(as_case)
    assert in_first.keys() == in_second.keys()
    for key in in_first:
        assert in_first[key] == in_second[key], key


@pytest.mark.slow
def test_items_take_the_same_queries_whatever_they_are() -> None:
    """Time tells nothing either: a check is shown and answered by as many queries as a case."""
    world = make_batch_world()
    batch = take(world, world.voters[0])
    client = signed_in(world.voters[0])
    client.get(world.url(f"vote/batches/{batch.pk}/1/"))
    counts = set()
    for n in range(1, 11):
        with CountQueries() as count:
            client.get(world.url(f"vote/batches/{batch.pk}/{n}/"))
        counts.add(count.n)
    assert len(counts) == 1
    counts = set()
    for n in range(1, 9):
        with CountQueries() as count:
            client.post(world.url(f"vote/batches/{batch.pk}/{n}/"), {"label": "1"})
        counts.add(count.n)
    assert len(counts) == 1


class CountQueries:
    """Counts the statements of a block."""

    def __enter__(self) -> "CountQueries":
        self.n = 0
        self._wrapper = connection.execute_wrapper(self._count)
        self._wrapper.__enter__()
        return self

    def __exit__(self, *given: Any) -> None:
        self._wrapper.__exit__(*given)

    def _count(self, execute: Any, *arguments: Any) -> Any:
        self.n += 1
        return execute(*arguments)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("role", "reveal", "others"),
    [
        ("voter", "start", OTHERS[:1]),
        *(
            pytest.param(role, reveal, OTHERS, marks=pytest.mark.slow)
            for role, reveal in product(("voter", "both"), REVEALS)
        ),
    ],
)
def test_api_and_pages_are_the_same_whatever_others_said(role, reveal, others) -> None:
    """In the suite one world of each; tests/test_blind_walk.py walks every route besides."""
    world = make_world()
    write_plan(world, reveal=reveal)
    case = world.case()
    world.case()
    both = make_member(world.benchmark, "both", "annotator", "reviewer")
    person = world.voters[0] if role == "voter" else both

    def look(labels) -> Any:
        for voter, label in zip(world.voters[1:], labels, strict=False):
            cast_vote(case=case, voter=voter, label=label, reason="for a reason")
        paths = [
            "vote/",
            f"vote/{case.public_id}/",
            "disputes/",
            f"disputes/{case.public_id}/",
            "queries/",
        ]
        paths += ["feedback/", "adjudication/"]
        api = ["feedback/", "feedback/votes/", "adjudication/"]
        api += ["cases/next/", "cases/", "judgments/", "voting/arms/", "batches/"]
        return everything(world, person, paths, api)

    nobody_voted = in_a_world(lambda: look([]))
    for votes in others:
        assert in_a_world(lambda votes=votes: look(votes)) == nobody_voted, votes


@pytest.mark.parametrize("role", ["both", pytest.param("voter", marks=pytest.mark.slow)])
def test_before_a_first_judgment_the_debate_cannot_be_known(role) -> None:
    """Worlds whose agents said other things are the same, until one has judged."""
    world = make_world()
    case = world.case()
    both = make_member(world.benchmark, "both", "annotator", "reviewer")
    person = world.voters[0] if role == "voter" else both

    def look(snapshot) -> Any:
        EscalationCase.objects.filter(pk=case.pk).update(snapshot=snapshot)
        paths = ["vote/", f"vote/{case.public_id}/", "disputes/", f"disputes/{case.public_id}/"]
        return everything(world, person, paths, ["cases/next/", "cases/"])

    other = make_snapshot(rounds=3, practice=True)
    other["positions"][0] |= {"reason": "Something else.", "response": "no", "references": []}
    seen = in_a_world(lambda: look(make_snapshot()))
    assert seen == in_a_world(lambda: look(other))

    def after_judging(snapshot) -> Any:
        look(snapshot)
        signed_in(person).post(
            world.url(f"vote/{case.public_id}/"), {"label": "1", "stage": "first"}
        )
        return everything(world, person, [f"vote/{case.public_id}/"], [])

    # The comparison can fail: afterwards the debate is shown.
    assert in_a_world(lambda: after_judging(make_snapshot())) != in_a_world(
        lambda: after_judging(other)
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "others", [[None], *(pytest.param([each], marks=pytest.mark.slow) for each in (1, 0))]
)
def test_feedback_says_nothing_of_an_open_case_that_i_judged(others) -> None:
    """Neither my page, nor what an admin may write about it, nor the number of statements."""
    world = make_world()
    case = world.case()
    me = world.voters[0]

    def look(labels) -> Any:
        cast_vote(case=case, voter=me, label=1, reason="Mine.")
        for voter, label in zip(world.voters[1:], labels, strict=False):
            cast_vote(case=case, voter=voter, label=label, reason="Theirs.")
        client, api = signed_in(me), script(me)
        mine = case.votes.get(voter=me)
        with CountQueries() as count:
            page = answer_of(client.get(world.url("feedback/")))
        detail = client.get(world.url(f"feedback/votes/{mine.pk}/")).status_code
        told = signed_in(world.admin).post(
            world.url(f"feedback/people/{me.pk}/"), {"text": "So.", "case": case.public_id}
        )
        addresses = [f"/api{world.url(path)}" for path in ("feedback/", "feedback/votes/")]
        routes = [answer_of(api.get(each)) for each in addresses]
        return page, count.n, detail, told.status_code, routes

    seen = in_a_world(lambda: look(others))
    assert seen == in_a_world(lambda: look([]))
    assert seen[2:4] == (404, 422)


@pytest.mark.slow
def test_feedback_on_an_accepted_batch_is_the_same_wherever_its_check_stood() -> None:
    """The same answers; in one world the check is the item at its place, in the other a case."""
    world = make_batch_world()
    me = world.voters[0]
    batch = take(world, me)

    def look(*, swapped: bool) -> Any:
        check = batch.items.get(case=None)
        case = batch.items.exclude(case=None).first()
        if swapped:
            place, other = check.place, case.place
            BatchItem.objects.filter(pk=check.pk).update(place=99)
            BatchItem.objects.filter(pk=case.pk).update(place=place)
            BatchItem.objects.filter(pk=check.pk).update(place=other)
        answer_all(world, batch, label=check.check_item.expected)
        assert submit(world, Batch.objects.get(pk=batch.pk)).status == "accepted"
        api = ["feedback/", "feedback/votes/", "batches/", f"batches/{batch.pk}/"]
        return everything(world, me, ["feedback/", f"vote/batches/{batch.pk}/", "vote/"], api)

    assert in_a_world(lambda: look(swapped=False)) == in_a_world(lambda: look(swapped=True))
