"""Where the labels of a derived version come from: rows of its provenance and of its evidence.

A carried label is told by the passages that it was carried from, each with the labels it has and
the evidence for them, so that `verify_release` follows the rule of the cleaning again
(evaluation/verification/carried.py).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Q

from corpus.judgments.models import Source
from corpus.models import CorpusVersion, Domain, Query, Status
from corpus.versions.holding import Carriage, Held
from evaluation.content import carried_view
from evaluation.content.evidence import Pseudonym, evidence_of
from evaluation.content.view import View
from evaluation.exporters.provenance import provenance_row

_CHUNK = 500


def provenance(view: View, domain: Domain) -> Iterator[dict[str, Any]]:
    """Every label that stands or stood there, and every one that was carried to it, with where
    from; in the order of queries and passages."""
    found = carried_view.of_domain(view, domain)
    teller = _Teller.of(found.held)
    qids = dict(Query.objects.filter(domain=domain).values_list("pk", "qid"))
    less = carried_view.outweighed(view, domain)
    rows: list[tuple[tuple[int, int, int], dict[str, Any]]] = []
    for held in found.held:
        if held.carried is None:
            continue
        told = (qids[held.query], found.passages[held.passage][0])
        origin = teller.brief(held.carried)
        if held.base is not None:
            row = provenance_row(
                *told, held.base, Source.ORIGINAL.value, "standing", None, False, {}
            )
            rows.append(((held.query, held.passage, -1), row | {"carried": origin}))
        if held.given and held.given.judgment is None:
            word = held.given
            row = provenance_row(
                *told, word.label, word.source, "standing", None, word.practice, {}
            )
            rows.append(((held.query, held.passage, 0), row | {"carried": origin}))
    given = Q(status__in=(Status.STANDING, Status.SUPERSEDED)) & ~Q(source=Source.ORIGINAL)
    columns = ("label", "source", "status", "round", "practice", "provenance")
    own = view.labels(domain).filter(given | Q(gold_version__is_current=True)).order_by("pk")
    names = ("pk", "query_id", "passage_id", "query__qid", "passage__pid", *columns)
    for pk, query, passage, *row in own.values_list(*names).iterator(chunk_size=_CHUNK):
        line = provenance_row(*row)
        if pk in less:
            line["status"] = Status.SUPERSEDED.value
        rows.append(((query, passage, pk), line))
    yield from (row for _, row in sorted(rows, key=lambda pair: pair[0]))


def evidence(view: View, domain: Domain, name: Pseudonym) -> Iterator[dict[str, Any]]:
    """A row for every pair that a label was carried to: what it holds, and out of what."""
    found = carried_view.of_domain(view, domain)
    teller = _Teller.of(found.held)
    qids = dict(Query.objects.filter(domain=domain).values_list("pk", "qid"))
    for start in range(0, len(found.held), _CHUNK):
        part = [held for held in found.held[start : start + _CHUNK] if held.carried]
        said = evidence_of({pk for held in part for pk in _judgments(held)}, name)
        for held in part:
            is_carried = held.given is not None and held.given.judgment is None
            yield {
                "query_id": qids[held.query],
                "passage_id": found.passages[held.passage][0],
                "base": held.base,
                "label": held.given.label if held.given and is_carried else None,
                "source": held.given.source if held.given and is_carried else None,
                "carried": teller.whole(held.carried, said) if held.carried else None,
            }


@dataclass(frozen=True)
class _Teller:
    """The names that carried labels are told by: passages, versions, and who cleaned them."""

    pids: Mapping[int, str]
    versions: Mapping[int, CorpusVersion]

    @classmethod
    def of(cls, held: list[Held]) -> "_Teller":
        passages = {key for each in held for key in _passages(each)}
        names = {pk: pid for pk, (pid, _) in carried_view.known(None, passages).items()}
        steps = {key for each in held for key in _steps(each)}
        return cls(names, CorpusVersion.objects.select_related("parent").in_bulk(steps))

    def brief(self, carriage: Carriage) -> dict[str, Any]:
        """From which passages of which version, by which cleaning."""
        parts = sorted(self.pids[part.held.passage] for part in carriage.parts)
        return {**self._step(carriage), "passages": parts}

    def whole(self, carriage: Carriage, said: Mapping[int, dict[str, Any]]) -> dict[str, Any]:
        """The same with every older passage, its labels and what they were made from."""
        parts = sorted(carriage.parts, key=lambda part: self.pids[part.held.passage])
        rows = []
        for part in parts:
            held = part.held
            row: dict[str, Any] = {
                "passage_id": self.pids[held.passage],
                "carries": part.carries,
                "base": held.base,
                "given": None,
            }
            if held.given and held.given.judgment is not None:
                row["given"] = said[held.given.judgment]
            elif held.given:
                row["given"] = {"label": held.given.label, "source": held.given.source}
            if held.carried:
                row["carried"] = self.whole(held.carried, said)
            rows.append(row)
        return {**self._step(carriage), "of": carriage.of, "from": rows}

    def _step(self, carriage: Carriage) -> dict[str, Any]:
        version = self.versions[carriage.version]
        return {
            "version": version.parent.name if version.parent else "",
            "cleaning": version.recipe.get("cleaning"),
        }


def _passages(held: Held) -> Iterator[int]:
    for part in held.carried.parts if held.carried else ():
        yield part.held.passage
        yield from _passages(part.held)


def _steps(held: Held) -> Iterator[int]:
    if held.carried:
        yield held.carried.version
        for part in held.carried.parts:
            yield from _steps(part.held)


def _judgments(held: Held) -> Iterator[int]:
    for part in held.carried.parts if held.carried else ():
        if part.held.given and part.held.given.judgment is not None:
            yield part.held.given.judgment
        yield from _judgments(part.held)
