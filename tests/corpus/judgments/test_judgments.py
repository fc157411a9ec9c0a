import pytest

from corpus.judgments.services import (
    record_judgment,
    restore_judgment,
    strongest,
    withdraw_judgment,
)
from corpus.models import Judgment, Source, Status
from kit.health.logs import run_now
from kit.models import Event
from tests.factories import make_benchmark, make_gold, make_passage, make_query, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def pair():
    benchmark = make_benchmark()
    return make_query(benchmark), make_passage(benchmark)


def record(pair, label: int, source: str, **fields) -> Judgment:
    query, passage = pair
    return record_judgment(
        query=query, passage=passage, label=label, source=source, provenance={}, **fields
    )


def standing() -> list[tuple[str, int]]:
    return list(Judgment.objects.standing().values_list("source", "label"))


# Every (source, practice), by hand: the higher stands; of two equal ones see PEOPLE.
WEIGHT = {
    ("lara", True): 0,
    ("llmjudge", True): 0,
    ("filter", True): 1,
    ("debate", True): 2,
    ("llm_adjudicator", True): 3,
    ("human", True): 4,
    ("expert", True): 5,
    ("lara", False): 6,
    ("llmjudge", False): 6,
    ("filter", False): 7,
    ("debate", False): 8,
    ("llm_adjudicator", False): 9,
    ("human", False): 10,
    ("expert", False): 11,
}
PEOPLE = ("human", "expert")


def expected_states(old: tuple[str, bool], new: tuple[str, bool]) -> tuple[str, str]:
    if WEIGHT[new] > WEIGHT[old] or (WEIGHT[new] == WEIGHT[old] and new[0] in PEOPLE):
        return "superseded", "standing"
    return "standing", "superseded" if WEIGHT[new] < WEIGHT[old] else "trial"


def test_every_source_has_its_weight() -> None:
    assert {source for source, _ in WEIGHT} == set(Source.values) - {"original"}


# Every step up and down and the whole way; the ways of two steps or more are slow.
STEPS = (-1, 0, 1, 11, -11)
PAIRS = [
    pytest.param(old, new, marks=[] if WEIGHT[new] - WEIGHT[old] in STEPS else pytest.mark.slow)
    for old in WEIGHT
    for new in WEIGHT
]


@pytest.mark.parametrize(("old", "new"), PAIRS)
def test_which_of_two_labels_stands(pair, old: tuple[str, bool], new: tuple[str, bool]) -> None:
    record(pair, 0, old[0], practice=old[1])
    record(pair, 1, new[0], practice=new[1])
    assert tuple(Judgment.objects.values_list("status", flat=True)) == expected_states(old, new)


def test_debate_held_again_is_a_trial_beside_the_first(pair) -> None:
    first = record(pair, 1, Source.DEBATE)
    again = record(pair, 0, Source.DEBATE)
    assert (again.status, again.superseded_by) == (Status.TRIAL, None)
    assert list(Judgment.objects.standing()) == [first]


def test_real_label_takes_the_place_of_a_practice_one(pair) -> None:
    record(pair, 0, Source.LLM_ADJUDICATOR, practice=True)
    real = record(pair, 1, Source.FILTER)
    assert list(Judgment.objects.standing()) == [real]


def test_restored_label_names_the_row_it_began_as(pair) -> None:
    actor = make_user("annotator-1")
    row = first = record(pair, 1, Source.HUMAN)
    for _ in range(2):
        withdraw_judgment(judgment=row, actor=actor)
        row = restore_judgment(judgment=row, actor=actor)
    assert (row.label, row.source, row.status) == (1, Source.HUMAN, Status.STANDING)
    assert row.provenance == {"restored": first.pk}
    assert Judgment.objects.count() == 3


@pytest.mark.parametrize(
    ("sources", "best"),
    [
        (["debate", "human", "filter"], 1),
        (["human", "human"], 1),  # people: the newer
        (["debate", "debate"], 0),  # machines: the one that stood first
        ([], None),
    ],
)
def test_strongest_of_several_labels(pair, sources: list[str], best: int | None) -> None:
    given = [record(pair, 1, source) for source in sources]
    assert strongest(given) == (None if best is None else given[best])


def test_label_costs_one_look_and_two_rows(pair, django_assert_num_queries) -> None:
    query, passage = pair
    str(query.domain.benchmark)  # what the caller has read already
    fields = {"label": 1, "source": Source.DEBATE, "provenance": {}, "held": True}
    token = run_now.set("debate.run 1")  # nobody asks whether the benchmark is archived
    with django_assert_num_queries(5):  # savepoint, look, label, event, release
        record_judgment(query=query, passage=passage, **fields)
    run_now.reset(token)


def test_superseded_label_says_by_which(pair) -> None:
    old = record(pair, 0, Source.DEBATE)
    new = record(pair, 1, Source.HUMAN)
    old.refresh_from_db()
    assert (old.status, old.superseded_by, old.label) == (Status.SUPERSEDED, new, 0)


def test_weaker_label_is_kept_but_does_not_stand(pair) -> None:
    strong = record(pair, 1, Source.EXPERT)
    weak = record(pair, 0, Source.DEBATE)
    assert (weak.status, weak.superseded_by) == (Status.SUPERSEDED, strong)


def test_trial_label_never_touches_the_standing_one(pair) -> None:
    record(pair, 1, Source.DEBATE)
    trial = record(pair, 0, Source.LLMJUDGE, trial=True)
    assert trial.status == Status.TRIAL
    assert standing() == [("debate", 1)]


def test_original_gold_is_left_alone(pair) -> None:
    query, passage = pair
    make_gold(query, passage)
    record(pair, 0, Source.EXPERT)
    assert Judgment.objects.original().get().label == 1


def test_original_label_by_verb_is_refused(pair) -> None:
    with pytest.raises(ValueError, match="original"):
        record(pair, 1, Source.ORIGINAL)


def test_every_label_leaves_an_event(pair) -> None:
    actor = make_user("annotator-1")
    judgment = record(pair, 1, Source.EXPERT, actor=actor)
    withdraw_judgment(judgment=judgment, actor=actor)
    events = Event.objects.order_by("pk").values_list("verb", "actor__username", "target_id")
    key = str(judgment.pk)
    assert list(events) == [
        ("label", "annotator-1", key),
        ("withdraw label", "annotator-1", key),
    ]
    assert standing() == []


def test_database_refuses_a_second_standing_label(pair) -> None:
    from django.db import IntegrityError, transaction

    query, passage = pair
    record(pair, 1, Source.DEBATE)
    with pytest.raises(IntegrityError), transaction.atomic():
        Judgment.objects.create(query=query, passage=passage, label=0, source=Source.HUMAN)
