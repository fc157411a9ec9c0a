"""Reference answers: versions, rights, publication, reviews, and what releases check of them."""

import pytest
from django.core.exceptions import PermissionDenied

from annotate.answers import services as verbs
from annotate.answers.evidence import check, material_of, published_answers
from annotate.answers.services import choose_answer, review_answer, unchoose_answer
from annotate.assignments.services import claim_query
from annotate.models import Assignment, ReferenceAnswer, StartedFrom, WorkState
from annotate.workspace.gold import discard_passage
from evaluation.content.reading import read_queries
from evaluation.content.view import view_of
from evaluation.exporters.faults import find_faults
from kit.errors import Conflict, Refused
from kit.models import Event
from tests.annotate.answering import GOOD, MAKING, OTHER
from tests.factories import make_query


def published(room, query=None):
    query = query or room.query
    return published_answers(query.domain)[query.pk].text


def faults(room):
    view = view_of(room.benchmark)
    records = read_queries(view, room.query.domain)
    return {each.check: each.rows for each in find_faults("biology", records)}


def test_a_first_answer_is_kept_noted_and_published(room) -> None:
    written = room.write()
    assert (written.version, written.author, written.created_by) == (1, "person", room.author)
    assert ReferenceAnswer.objects.independent().filter(pk=written.pk).exists()
    assert published(room) == GOOD
    verbs_noted = Event.objects.filter(target_type="annotate.referenceanswer").values_list("verb")
    assert {verb for (verb,) in verbs_noted} == {"write answer", "choose answer"}
    assert check(material_of(room.query), GOOD).is_sound
    assert "foreign_citations" not in faults(room)


def test_a_correction_is_a_new_version_and_is_published_instead(room) -> None:
    first = room.write()
    second = room.write(OTHER, expected=1, reason="Too long.")
    first.refresh_from_db()
    assert (first.stands, first.is_chosen, first.superseded_by) == (False, False, second)
    assert first.text == GOOD
    assert (second.version, second.reason, second.is_chosen) == (2, "Too long.", True)
    assert published(room) == OTHER


def test_a_stale_write_is_refused_with_the_present_version(room) -> None:
    room.write()
    verbs.write_answer(query=room.query, actor=room.colleague, text=OTHER, expected=1)
    with pytest.raises(Conflict) as conflict:
        room.write("Mine [lamps/page_1.txt].", expected=1)
    assert conflict.value.current.text == OTHER
    assert conflict.value.current.version == 2
    assert ReferenceAnswer.objects.count() == 2
    # The same words again are no conflict: nothing would be lost.
    assert room.write(OTHER, expected=1).version == 2


def test_restoring_adds_a_version(room) -> None:
    first = room.write()
    room.write(OTHER, expected=1)
    again = verbs.restore_answer(answer=first, actor=room.author, expected=2)
    assert (again.version, again.text, again.based_on) == (3, GOOD, first)
    assert published(room) == GOOD
    with pytest.raises(Conflict):
        verbs.restore_answer(answer=first, actor=room.author, expected=2)


def test_what_was_begun_from_a_model_stays_so(room) -> None:
    base = room.generate()
    room.write(OTHER + " More [lamps/page_4.txt].", base=base)
    mine = room.write("Other words [lamps/page_1.txt].", expected=1)
    assert mine.begun_from == StartedFrom.MODEL
    assert not ReferenceAnswer.objects.independent().filter(pk=mine.pk).exists()
    with pytest.raises(Refused, match="another query"):
        verbs.write_answer(query=room.other, actor=room.author, text="x", expected=0, base=base)


@pytest.mark.parametrize("person", ["reviewer", "admin", "outsider"])
def test_only_annotators_of_the_domain_write(room, person) -> None:
    with pytest.raises(PermissionDenied):
        verbs.write_answer(query=room.query, actor=getattr(room, person), text=GOOD, expected=0)


def test_a_held_query_is_answered_by_its_holder_in_any_state(room) -> None:
    claim_query(query=room.query, actor=room.author)
    with pytest.raises(PermissionDenied, match="author works on this query"):
        verbs.write_answer(query=room.query, actor=room.colleague, text=GOOD, expected=0)
    Assignment.objects.update(state=WorkState.ACCEPTED)
    room.write()
    assert Assignment.objects.get().state == WorkState.ANSWERED
    unchoose_answer(query=room.query, actor=room.author)
    assert Assignment.objects.get().state == WorkState.ACCEPTED
    assert Event.objects.filter(verb__in=("answer query", "unanswer query")).count() == 2


@pytest.mark.parametrize("text", ["", "  \n ", "x" * (verbs.LONGEST + 1)])
def test_empty_and_endless_answers_are_refused(room, text) -> None:
    with pytest.raises(Refused):
        room.write(text)


def test_a_query_without_aspects_or_gold_is_refused_with_what_to_do(room) -> None:
    with pytest.raises(Refused, match="Write them first"):
        room.write(query=make_query(room.benchmark, "bare", "biology"))


def test_a_models_answer_is_published_only_by_a_person(room) -> None:
    made = room.generate()
    assert published(room) == ""
    choose_answer(answer=made, actor=room.admin)
    assert published(room) == OTHER
    room.generate("Other [lamps/page_1.txt].")  # a later run silently changes nothing
    assert published(room) == OTHER
    made.refresh_from_db()
    assert (made.stands, made.is_chosen) == (False, True)


def test_the_same_answer_of_the_same_model_is_no_new_version(room) -> None:
    assert room.generate() == room.generate()
    changed = MAKING | {"model": "gpt-6"}
    again = verbs.record_model_answer(query=room.query, text=OTHER, **changed)
    assert again.version == 2


def test_an_answer_with_a_foreign_citation_cannot_be_chosen(room) -> None:
    wrong = room.generate("Leaves fall [leaves/page_9.txt].")
    with pytest.raises(Refused, match=r"cites \[leaves/page_9.txt\]"):
        choose_answer(answer=wrong, actor=room.admin)
    mine = room.write("Leaves fall [leaves/page_9.txt].")  # kept, and not published
    assert not mine.is_chosen
    assert published(room) == ""


def test_gold_that_is_discarded_later_makes_a_release_fault_by_place(room) -> None:
    room.write()
    passage = room.passages["lamps/page_2.txt"]
    discard_passage(query=room.query, passage=passage, reason="noise", actor=room.author)
    (place,) = faults(room)["foreign_citations"]
    assert (place["query"], place["passage"]) == ("7", "lamps/page_2.txt")


def test_a_passage_of_the_domain_that_nobody_judged_is_foreign_too(room) -> None:
    from tests.factories import make_passage

    make_passage(room.benchmark, "unjudged", "biology")
    room.write("So it is [unjudged].")
    ReferenceAnswer.objects.update(is_chosen=True)
    (place,) = faults(room)["foreign_citations"]
    assert place["passage"] == "unjudged"


def test_an_answer_of_the_practice_model_refuses_a_final_release(room) -> None:
    making = MAKING | {"endpoint": "practice", "model": "practice-1", "practice": True}
    made = verbs.record_model_answer(query=room.query, text=OTHER, **making)
    assert "practice_answers" not in faults(room)
    choose_answer(answer=made, actor=room.author)
    assert faults(room)["practice_answers"][0]["query"] == "7"


def test_the_imported_answer_is_published_while_nothing_is_chosen(room) -> None:
    room.query.reference_answer = "As it came [lamps/page_1.txt]."
    room.query.save()
    assert published(room).startswith("As it came")
    room.write()
    assert published(room) == GOOD
    unchoose_answer(query=room.query, actor=room.author)
    assert published(room).startswith("As it came")
    with pytest.raises(Refused):
        unchoose_answer(query=room.query, actor=room.author)


def test_a_second_person_reviews_and_never_their_own(room) -> None:
    written = room.write()
    with pytest.raises(Refused, match="what should change"):
        review_answer(answer=written, access=room.access(room.reviewer), verdict="changes")
    first = review_answer(
        answer=written, access=room.access(room.reviewer), verdict="changes", note="Cite page 4."
    )
    second = review_answer(answer=written, access=room.access(room.reviewer), verdict="fine")
    first.refresh_from_db()
    assert (first.stands, first.superseded_by) == (False, second)
    for person in (room.author, room.outsider, room.admin):
        with pytest.raises(PermissionDenied):
            review_answer(answer=written, access=room.access(person), verdict="fine")
    verbs.write_answer(query=room.query, actor=room.both, text=OTHER, expected=1)
    mine = ReferenceAnswer.objects.standing().get()
    with pytest.raises(PermissionDenied):
        review_answer(answer=mine, access=room.access(room.both), verdict="fine")
    with pytest.raises(Refused, match="newer version"):
        review_answer(answer=written, access=room.access(room.reviewer), verdict="fine")


def test_no_answer_holds_an_address() -> None:
    names = {field.name for field in ReferenceAnswer._meta.get_fields()}
    assert MAKING.keys() <= names
    assert not [name for name in names if "url" in name or "address" in name]
