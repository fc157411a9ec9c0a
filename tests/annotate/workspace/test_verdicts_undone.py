"""Taking a verdict back restores what it displaced: label, assignment, one verdict at a time."""

import pytest

from annotate.models import GoldPassage
from annotate.workspace.aspects import add_aspect, remove_aspect
from annotate.workspace.gold import assign_passage, discard_passage, undo_verdict
from corpus.judgments.services import record_judgment
from corpus.models import Judgment, Source, Status
from kit.models import Event
from tests.annotate.world import make_world
from tests.factories import make_gold

pytestmark = pytest.mark.django_db


class Desk:
    """One expert at one passage of a query with two aspects."""

    def __init__(self) -> None:
        self.world = make_world()
        self.expert = self.world.voters[0]
        self.pair = {"query": self.world.query, "passage": self.world.passage}
        self.aspects = [add_aspect(query=self.world.query, actor=self.expert) for _ in range(2)]

    def assign(self, k: int) -> GoldPassage:
        return assign_passage(**self.pair, aspect=self.aspects[k - 1], actor=self.expert)

    def discard(self, reason: str = "noise") -> Judgment:
        return discard_passage(**self.pair, reason=reason, actor=self.expert)

    def undo(self) -> None:
        undo_verdict(**self.pair, actor=self.expert)

    def imported(self, k: int) -> GoldPassage:
        make_gold(self.world.query, self.world.passage)
        return GoldPassage.objects.create(aspect=self.aspects[k - 1], **self.pair)

    def label(self, value: int, source: str, **fields) -> Judgment:
        fields.setdefault("provenance", {})
        return record_judgment(**self.pair, label=value, source=source, **fields)

    @property
    def standing(self) -> tuple[int | None, tuple[str, int] | None]:
        """Number of the aspect it supports, and the label that stands."""
        gold = GoldPassage.objects.standing().select_related("aspect").first()
        label = Judgment.objects.standing().values_list("source", "label").first()
        return gold.aspect.k if gold else None, label


@pytest.fixture
def desk():
    return Desk()


def test_move_is_undone_to_the_aspect_before(desk) -> None:
    desk.assign(1), desk.assign(2)
    desk.undo()
    assert desk.standing == (1, ("expert", 1))
    desk.undo()
    assert desk.standing == (None, None)


def test_discard_of_an_assignment_is_undone_to_the_assignment(desk) -> None:
    first = desk.assign(1)
    desk.discard()
    desk.undo()
    assert desk.standing == (1, ("expert", 1))
    gold = GoldPassage.objects.standing().get()
    assert gold.pk != first.pk
    assert gold.judgment == Judgment.objects.standing().get()
    assert gold.created_by == desk.expert


def test_second_discard_is_undone_to_the_reason_before(desk) -> None:
    desk.discard("fragment"), desk.discard("irrelevant")
    desk.undo()
    assert Judgment.objects.standing().get().provenance["reason"] == "fragment"


def test_verdicts_are_taken_back_one_by_one_however_often_they_were_restored(desk) -> None:
    desk.label(0, Source.DEBATE)
    desk.assign(1), desk.assign(2)
    desk.undo()
    desk.discard()
    desk.undo()
    assert desk.standing == (1, ("expert", 1))
    desk.undo()
    assert desk.standing == (None, ("debate", 0))


@pytest.mark.parametrize("verb", ["confirm", "move", "discard"])
def test_imported_assignment_comes_back(desk, verb: str) -> None:
    imported = desk.imported(1)
    {"confirm": lambda: desk.assign(1), "move": lambda: desk.assign(2), "discard": desk.discard}[
        verb
    ]()
    desk.undo()
    assert desk.standing == (1, None)
    gold = GoldPassage.objects.standing().get()
    assert (gold.judgment, gold.created_by) == (None, None)
    imported.refresh_from_db()
    assert imported.ended_at is not None


def test_assignment_to_a_removed_aspect_asks_for_another(desk) -> None:
    desk.assign(1), desk.assign(2)
    remove_aspect(aspect=desk.aspects[0], actor=desk.expert)
    desk.undo()
    assert desk.standing == (1, ("expert", 1))
    assert GoldPassage.objects.asking().count() == 1


def test_label_that_came_while_the_verdict_stood_rises(desk) -> None:
    desk.assign(1)
    desk.label(0, Source.HUMAN)
    desk.undo()
    assert desk.standing == (None, ("human", 0))


def test_real_label_rises_before_a_practice_one(desk) -> None:
    desk.label(0, Source.LLM_ADJUDICATOR, practice=True)
    desk.discard()
    desk.label(1, Source.DEBATE)
    desk.undo()
    assert desk.standing == (None, ("debate", 1))
    assert Judgment.objects.standing().get().practice is False


def test_history_keeps_every_row_and_event(desk) -> None:
    human = desk.label(1, Source.HUMAN, provenance={"rule": "majority-3", "votes": [1, 2, 3]})
    desk.discard()
    desk.undo()
    assert list(Judgment.objects.values_list("source", "label", "status")) == [
        ("human", 1, Status.SUPERSEDED),
        ("expert", 0, Status.SUPERSEDED),
        ("human", 1, Status.STANDING),
    ]
    restored = Judgment.objects.standing().get()
    assert restored.provenance == human.provenance | {"restored": human.pk}
    verbs = Event.objects.filter(actor=desk.expert).order_by("pk").values_list("verb", flat=True)
    assert list(verbs)[-5:] == [
        "label",
        "discard passage",
        "withdraw label",
        "label",
        "undo verdict",
    ]
