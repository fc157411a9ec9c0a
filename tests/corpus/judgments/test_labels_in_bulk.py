"""Many labels at once end as the same labels would one after the other."""

from typing import Any

import pytest

from corpus.judgments.services import record_judgment, record_judgments
from corpus.models import Judgment, Source, Status
from kit.database.bulk import update_rows
from kit.models import Event
from tests.factories import make_benchmark, make_passage, make_query

pytestmark = pytest.mark.django_db

# (passage, label, source, practice, trial); of p1 an expert's label stands already, of p2 a
# debate's, of p3 a filter's; p4 comes twice in the group.
GROUP = [
    ("p1", 0, Source.DEBATE, False, False),
    ("p2", 0, Source.DEBATE, False, False),
    ("p3", 1, Source.DEBATE, False, False),
    ("p4", 1, Source.DEBATE, False, False),
    ("p4", 0, Source.DEBATE, False, False),
    ("p5", 1, Source.DEBATE, True, False),
    ("p5", 0, Source.FILTER, False, False),
    ("p6", 1, Source.LLMJUDGE, False, True),
    ("p6", 0, Source.LLMJUDGE, False, True),
    ("p7", 1, Source.DEBATE, False, False),
]
BEFORE = [("p1", Source.EXPERT), ("p2", Source.DEBATE), ("p3", Source.FILTER)]


def prepare(slug: str) -> tuple[Any, Any, dict[str, Any]]:
    benchmark = make_benchmark(slug)
    query = make_query(benchmark)
    passages = {f"p{n}": make_passage(benchmark, f"p{n}") for n in range(1, 8)}
    for pid, source in BEFORE:
        record_judgment(query=query, passage=passages[pid], label=1, source=source, provenance={})
    return benchmark, query, passages


def rows(benchmark: Any) -> list[tuple[Any, ...]]:
    """Every label, and the one that pushed it aside by what it says."""
    found = Judgment.objects.filter(query__domain__benchmark=benchmark).values_list(
        "passage__pid", "label", "source", "status", "superseded_by__label", "superseded_by__source"
    )
    return sorted(found, key=str)


def notes(benchmark: Any) -> list[str]:
    events = Event.objects.filter(verb="label", scope=benchmark.slug)
    return sorted(str(sorted(event.data.items())) for event in events)


def test_same_labels_stand_with_the_same_events() -> None:
    alone, query, passages = prepare("alone")
    for pid, label, source, practice, trial in GROUP:
        record_judgment(
            query=query,
            passage=passages[pid],
            label=label,
            source=source,
            practice=practice,
            trial=trial,
            provenance={"n": 1},
        )
    together, query, passages = prepare("together")
    labels = [
        Judgment(
            query=query,
            passage=passages[pid],
            label=label,
            source=source,
            practice=practice,
            provenance={"n": 1},
            status=Status.TRIAL if trial else Status.STANDING,
        )
        for pid, label, source, practice, trial in GROUP
    ]
    record_judgments(labels=labels, scope=together.slug)
    assert rows(together) == rows(alone)
    assert notes(together) == notes(alone)
    assert all(label.pk for label in labels)


def test_original_labels_come_through_importers_only() -> None:
    with pytest.raises(ValueError, match="original"):
        record_judgments(labels=[Judgment(source=Source.ORIGINAL)], scope="x")


def test_rows_are_updated_each_to_its_own_values() -> None:
    _, query, passages = prepare("demo")
    first, second = passages["p1"], passages["p2"]
    first.text, first.extra = "one", {"a": [1]}
    second.text, second.extra = None, None
    update_rows([first, second], ["text", "extra"])
    update_rows([], ["text"])
    for passage in (first, second, query):
        passage.refresh_from_db()
    assert (first.text, first.extra) == ("one", {"a": [1]})
    assert (second.text, second.extra) == (None, None)
    assert passages["p3"].text == "What stands in passage p3."
