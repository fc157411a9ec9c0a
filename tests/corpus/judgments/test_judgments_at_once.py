"""Two labels of one pair at the same moment come out as if one had followed the other."""

import pytest

from corpus.judgments.services import record_judgment, withdraw_judgment
from corpus.models import Judgment
from tests.at_once import at_once
from tests.factories import make_benchmark, make_passage, make_query, make_user

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def record():
    benchmark = make_benchmark()
    query, passage = make_query(benchmark), make_passage(benchmark)

    def give(label: int, source: str) -> Judgment:
        return record_judgment(
            query=query, passage=passage, label=label, source=source, provenance={}
        )

    return give


def labels() -> list[tuple[str, int, str]]:
    return list(Judgment.objects.values_list("source", "label", "status"))


def test_two_first_labels(record) -> None:
    second = at_once(lambda: record(1, "debate"), lambda: record(0, "human"))
    assert isinstance(second, Judgment)
    assert labels() == [("debate", 1, "superseded"), ("human", 0, "standing")]


def test_two_labels_over_a_third(record) -> None:
    record(1, "filter")
    second = at_once(lambda: record(1, "expert"), lambda: record(0, "human"))
    assert isinstance(second, Judgment)
    assert labels() == [
        ("filter", 1, "superseded"),
        ("expert", 1, "standing"),
        ("human", 0, "superseded"),
    ]


def test_label_while_the_standing_one_is_withdrawn(record) -> None:
    standing, actor = record(1, "expert"), make_user("annotator-1")
    at_once(lambda: withdraw_judgment(judgment=standing, actor=actor), lambda: record(0, "debate"))
    assert labels() == [("expert", 1, "superseded"), ("debate", 0, "standing")]
