"""Experts say what passages support: own verdict first, what is shown when, who is asked."""

from typing import Any

import pytest
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction

from annotate.grading import sentences as verbs
from annotate.grading.sentences import judge_sentence, next_sentence, open_sentences
from annotate.grading.services import close_sample
from annotate.home import waiting_work
from annotate.models import SentenceGrade, SentenceItem, VoteSlot
from annotate.voting.cases import open_case
from annotate.voting.eligibility import waiting_for
from kit.errors import Refused
from kit.models import Event
from tests.annotate.answering import TEXTS, Room
from tests.annotate.test_api import script
from tests.annotate.voting.test_blind_worlds import answer_of
from tests.annotate.world import make_snapshot, signed_in
from tests.factories import make_member
from tests.worlds import in_a_world

PID = "lamps/page_1.txt"
SAID = ({"run": 1, "verdict": 2, "span": [0, 36]}, {"run": 2, "verdict": 0, "span": None})


def draw(room: Room, *texts: str, machines: Any = SAID, passage: Any = None, **options: Any):
    cited = passage or room.passages[PID]
    offered = [
        SentenceItem(
            query=room.query,
            passage=cited,
            origin=f"claim:1:{n}",
            text=text,
            context="All of it.",
            machines=list(machines),
        )
        for n, text in enumerate(texts or ["Moths roll."], 1)
    ]
    given = {"people": 2, "post_edit": 0} | options
    return open_sentences(access=room.access(room.admin), sentences=offered, **given)


def judge(room: Room, person, verdict: int, item: SentenceItem | None = None, **more: Any):
    item = item or SentenceItem.objects.get()
    given = {"span": (0, len(item.passage.text or ""))} if verdict == 2 else {}
    return judge_sentence(item=item, access=room.access(person), verdict=verdict, **given | more)


def dispute(room: Room):
    """Voters are asked about a passage that is nobody's gold for this query."""
    return open_case(
        origin="debate:1",
        kind="dispute",
        query=room.query,
        passage=room.foreign,
        snapshot=make_snapshot(),
    )


def waits(room: Room, *names: str) -> list[int]:
    return [verbs.to_judge(room.access(getattr(room, name))).count() for name in names]


def test_an_own_verdict_comes_first_and_then_the_machines_are_shown(room) -> None:
    draw(room)
    item = SentenceItem.objects.get()
    client, url = signed_in(room.author), room.url("answers/support/")
    page = client.get(url).content.decode()
    assert "Machines say" not in page
    sent = {"sentence": item.pk, "verdict": "1", "expected": "first"}
    second = client.post(url, sent)
    assert second.headers["Location"] == f"{url}?sentence={item.pk}"
    page = client.get(second.headers["Location"]).content.decode()
    assert "You said" in page
    assert TEXTS[PID][:36] in page  # the words that a machine named
    assert "Keep: Partly supported" in page or "Keep: partly supported" in page
    # The tab that still shows the first stage says nothing of the second one.
    late = client.post(url, sent)
    assert (late.status_code, "another tab" in late.content.decode()) == (422, True)
    client.post(url, sent | {"verdict": "2", "expected": "final", "start": "0", "end": "16"})
    given = SentenceGrade.objects.standing().get()
    assert (given.first, given.verdict, given.saw_machines) == (1, 2, True)
    assert (given.start, given.end) == (0, 16)
    assert Event.objects.filter(verb="judge sentence", scope="lamps#answers").count() == 2
    assert waits(room, "author") == [0]


def test_in_the_part_that_is_post_edited_machines_stand_there_at_once(room) -> None:
    draw(room, *(f"Sentence {n}." for n in range(10)), post_edit=30)
    assert SentenceItem.objects.filter(is_post_edit=True).count() == 3
    item = SentenceItem.objects.filter(is_post_edit=True).first()
    page = signed_in(room.author).get(room.url(f"answers/support/?sentence={item.pk}"))
    assert "Machines say" in page.content.decode()
    given = judge(room, room.author, 0, item)
    assert (given.first, given.verdict, given.saw_machines) == (None, 0, True)
    assert verbs.stage_of(item, given) == verbs.GIVEN
    # Nothing to show: nobody is told that machines say nothing.
    with transaction.atomic():
        draw(room, machines=(), post_edit=90)
        assert not SentenceItem.objects.filter(machines=[], is_post_edit=True).exists()


@pytest.mark.parametrize(
    ("verdict", "more", "words"),
    [
        (2, {"span": None}, "Choose the words"),
        (2, {"span": (0, 1)}, "three whole ones"),
        (2, {"span": (5, 5)}, "not in the passage"),
        (2, {"span": (0, len(TEXTS[PID]) + 1)}, "not in the passage"),
        (1, {"span": (-1, 4)}, "not in the passage"),
        (3, {}, "fully, partly or not"),
    ],
)
def test_full_support_takes_words_of_the_passage(room, verdict, more, words) -> None:
    draw(room)
    with pytest.raises(Refused, match=words):
        judge(room, room.author, verdict, **more)
    assert not SentenceGrade.objects.exists()
    item = SentenceItem.objects.get()
    with pytest.raises(IntegrityError), transaction.atomic():
        SentenceGrade.objects.create(item=item, grader=room.author, verdict=2)


def test_where_two_differ_a_third_is_asked_and_where_all_three_do_a_fourth_settles(room) -> None:
    draw(room)
    fourth = make_member(room.benchmark, "fourth", "annotator")
    judge(room, room.author, 2)
    judge(room, room.colleague, 0)
    judge(room, room.both, 1)
    access = room.access(fourth)
    assert verbs.to_judge(access).count() == 1
    # Whatever the fourth says one of the three said too.
    judge(room, fourth, 1)
    assert verbs.to_judge(access).filter(machines=[]).count() == 0


def test_where_two_differ_a_third_is_asked_and_no_fourth(room) -> None:
    draw(room)
    judge(room, room.author, 2)
    assert waits(room, "colleague") == [1]
    judge(room, room.colleague, 0)
    assert waits(room, "both") == [1]
    judge(room, room.both, 0)
    fourth = make_member(room.benchmark, "fourth", "annotator")
    assert verbs.to_judge(room.access(fourth)).filter(machines=[]).count() == 0


def test_where_two_agree_nobody_else_is_asked(room) -> None:
    draw(room)
    judge(room, room.author, 1)
    judge(room, room.colleague, 1)
    assert waits(room, "both") == [0]
    # Both have yet to look at what the machines said.
    assert waits(room, "author", "colleague") == [1, 1]


def test_annotators_of_the_domain_are_asked_and_nobody_else(room) -> None:
    sample = draw(room)
    names = ("author", "colleague", "both", "reviewer", "admin", "outsider")
    assert waits(room, *names) == [1, 1, 1, 0, 0, 0]
    (work,) = [each for each in waiting_work(room.author) if each.name == "Citations to check"]
    assert work.left == 1
    for name in ("reviewer", "admin", "outsider"):
        with pytest.raises(Refused, match="does not wait"):
            judge(room, getattr(room, name), 1)
    with pytest.raises(PermissionDenied):
        open_sentences(access=room.access(room.author), sentences=[])
    close_sample(sample=sample, access=room.access(room.admin))
    with pytest.raises(Refused, match="does not wait"):
        judge(room, room.author, 1)


def test_who_wrote_the_reference_answer_does_not_judge_it(room) -> None:
    room.write()
    draw(room)
    SentenceItem.objects.update(is_reference=True)
    assert waits(room, "author", "colleague") == [0, 1]


def test_a_correction_needs_a_reason_and_keeps_the_first_verdict(room) -> None:
    draw(room)
    judge(room, room.author, 1)
    judge(room, room.author, 1)
    with pytest.raises(Refused, match="Say why"):
        judge(room, room.author, 0)
    given = judge(room, room.author, 0, reason="I misread it.")
    assert (given.first, given.verdict) == (1, 0)
    assert SentenceGrade.objects.count() == 3


def test_who_was_shown_what_machines_say_is_not_asked_to_vote_on_the_pair(room) -> None:
    def votes(person) -> int:
        return waiting_for(room.access(person)).count()

    draw(room, "One.", "Two.", post_edit=50, passage=room.foreign)
    dispute(room)
    assert (votes(room.colleague), votes(room.both)) == (1, 1)
    edited = SentenceItem.objects.get(is_post_edit=True)
    # Looking is enough: the verdicts stood on the page.
    signed_in(room.colleague).get(room.url(f"answers/support/?sentence={edited.pk}"))
    script(room.both).get(f"/api{room.url(f'sentences-to-judge/{edited.pk}/')}")
    assert (votes(room.colleague), votes(room.both)) == (0, 0)
    assert not SentenceGrade.objects.exclude(verdict=None).exists()


def test_who_holds_a_case_of_the_pair_judges_that_first(room) -> None:
    draw(room, passage=room.foreign)
    case = dispute(room)
    VoteSlot.objects.filter(pk=case.slots.first().pk).update(voter=room.colleague)
    assert waits(room, "colleague", "both") == [0, 1]


def test_what_others_and_machines_said_changes_nothing_before_the_own_verdict(room) -> None:
    """Two worlds: other machines' verdicts, and another person's; the same first stage."""

    def world(machines: Any, theirs: int) -> dict[str, Any]:
        draw(room, machines=machines, people=3)
        item = SentenceItem.objects.get()
        judge(room, room.colleague, theirs)
        judge(room, room.colleague, theirs)
        page = signed_in(room.author).get(room.url("answers/support/"))
        row = script(room.author).get(f"/api{room.url('sentences-to-judge/next/')}").json()
        assert row["sentence"] == item.pk
        return {
            "page": answer_of(page),
            "api": row,
            "home": answer_of(signed_in(room.author).get("/home/annotate/")),
        }

    one = in_a_world(lambda: world(SAID, 2))
    two = in_a_world(lambda: world(({"run": 9, "verdict": 1, "span": [3, 9]},), 0))
    assert one == two
    assert one["api"]["machines"] == []
    assert "colleague" not in str(one)


def test_the_api_judges_as_the_screen_does(room) -> None:
    draw(room)
    api, base = script(room.author), f"/api{room.url('sentences-to-judge/')}"
    shown = api.get(f"{base}next/").json()
    assert (shown["stage"], shown["machines"], shown["passage"]) == ("first", [], TEXTS[PID])
    path = f"{base}{shown['sentence']}/"

    def post(**body: Any):
        return api.post(path, body, content_type="application/json")

    assert post(verdict=2).json()["field"] == "span"
    then = post(verdict=2, span=[0, 16], expected="first").json()
    assert (then["stage"], then["verdict"]) == ("final", 2)
    assert [each["verdict"] for each in then["machines"]] == [2, 0]
    assert post(verdict=2, span=[0, 16], expected="first").status_code == 409
    assert post(verdict=0, expected="final").json()["stage"] == "given"
    assert api.get(f"{base}next/").json()["sentence"] is None
    assert next_sentence(room.access(room.author)) is None
    assert script(room.outsider).get(f"{base}next/").status_code == 403


def test_who_was_shown_the_machines_in_one_sample_is_not_asked_the_same_in_another(room) -> None:
    draw(room)
    first = SentenceItem.objects.get()
    judge(room, room.author, 0, first)
    draw(room, "Moths roll.", "Moths rest.", seed=2)
    judge(room, room.author, 0, first)
    # Of the second sample the other sentence alone; the first one can still be corrected.
    left = verbs.judgeable(room.access(room.author))
    assert {(each.sample_id == first.sample_id, each.text) for each in left} == {
        (True, "Moths roll."),
        (False, "Moths rest."),
    }
