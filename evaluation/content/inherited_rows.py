"""Where the labels of a derived version come from: rows of its provenance and of its evidence.

An inherited label is stated by the passages that it follows from, each with their labels and the
evidence for them, so that `verify_release` follows the rule of the cleaning again
(evaluation/verification/folder.py).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Q

from corpus.judgments.models import Source
from corpus.models import CorpusVersion, Domain, Query, Status
from corpus.versions.effective import EffectiveLabel, Inheritance
from evaluation.content import inherited_view
from evaluation.content.evidence import Pseudonym, evidence_of
from evaluation.content.view import View
from evaluation.exporters.provenance import provenance_row

_CHUNK = 500


def provenance(view: View, domain: Domain) -> Iterator[dict[str, Any]]:
    """Every label that was given there, current or superseded, and every inherited one with its
    origin; in the order of queries and passages."""
    found = inherited_view.of_domain(view, domain)
    origins = _Origins.of(found.labels)
    qids = dict(Query.objects.filter(domain=domain).values_list("pk", "qid"))
    less = inherited_view.outweighed(view, domain)
    rows: list[tuple[tuple[int, int, int], dict[str, Any]]] = []
    for effective in found.labels:
        if effective.inherited is None:
            continue
        pair = (qids[effective.query], found.passages[effective.passage][0])
        origin = origins.brief(effective.inherited)
        if effective.base is not None:
            row = provenance_row(
                *pair, effective.base, Source.ORIGINAL.value, "standing", None, False, {}
            )
            rows.append(((effective.query, effective.passage, -1), row | {"carried": origin}))
        if effective.given and effective.given.judgment is None:
            given = effective.given
            row = provenance_row(
                *pair, given.label, given.source, "standing", None, given.practice, {}
            )
            rows.append(((effective.query, effective.passage, 0), row | {"carried": origin}))
    since = Q(status__in=(Status.STANDING, Status.SUPERSEDED)) & ~Q(source=Source.ORIGINAL)
    columns = ("label", "source", "status", "round", "practice", "provenance")
    own = view.labels(domain).filter(since | Q(gold_version__is_current=True)).order_by("pk")
    names = ("pk", "query_id", "passage_id", "query__qid", "passage__pid", *columns)
    for pk, query, passage, *row in own.values_list(*names).iterator(chunk_size=_CHUNK):
        line = provenance_row(*row)
        if pk in view.left_out.labels.instead:
            line["status"] = Status.STANDING.value
        if pk in less:
            line["status"] = Status.SUPERSEDED.value
        rows.append(((query, passage, pk), line))
    yield from (row for _, row in sorted(rows, key=lambda pair: pair[0]))


def evidence_rows(view: View, domain: Domain, name: Pseudonym) -> Iterator[dict[str, Any]]:
    """A row for every pair that inherited a label: its labels, and what they follow from."""
    found = inherited_view.of_domain(view, domain)
    origins = _Origins.of(found.labels)
    qids = dict(Query.objects.filter(domain=domain).values_list("pk", "qid"))
    for start in range(0, len(found.labels), _CHUNK):
        part = [each for each in found.labels[start : start + _CHUNK] if each.inherited]
        keys = {pk for each in part for pk in _judgments(each)}
        evidence = evidence_of(keys, name, view.left_out)
        for effective in part:
            given = effective.given
            own = given if given is not None and given.judgment is None else None
            yield {
                "query_id": qids[effective.query],
                "passage_id": found.passages[effective.passage][0],
                "base": effective.base,
                "label": own.label if own else None,
                "source": own.source if own else None,
                "carried": origins.whole(effective.inherited, evidence)
                if effective.inherited
                else None,
            }


@dataclass(frozen=True)
class _Origins:
    """The names in inherited labels: passages, versions, and who cleaned them."""

    pids: Mapping[int, str]
    versions: Mapping[int, CorpusVersion]

    @classmethod
    def of(cls, labels: list[EffectiveLabel]) -> "_Origins":
        passages = {key for each in labels for key in _passages(each)}
        names = {pk: pid for pk, (pid, _) in inherited_view.known(None, passages).items()}
        steps = {key for each in labels for key in _steps(each)}
        return cls(names, CorpusVersion.objects.select_related("parent").in_bulk(steps))

    def brief(self, inheritance: Inheritance) -> dict[str, Any]:
        """From which passages of which version, by which cleaning."""
        parts = sorted(self.pids[part.effective.passage] for part in inheritance.sources)
        return {**self._step(inheritance), "passages": parts}

    def whole(
        self, inheritance: Inheritance, evidence: Mapping[int, dict[str, Any]]
    ) -> dict[str, Any]:
        """The same with every older passage, its labels and the evidence for them."""
        parts = sorted(inheritance.sources, key=lambda part: self.pids[part.effective.passage])
        rows = []
        for part in parts:
            effective = part.effective
            row: dict[str, Any] = {
                "passage_id": self.pids[effective.passage],
                "carries": part.carries,
                "base": effective.base,
                "given": None,
            }
            if effective.given and effective.given.judgment is not None:
                row["given"] = evidence[effective.given.judgment]
            elif effective.given:
                row["given"] = {"label": effective.given.label, "source": effective.given.source}
            if effective.inherited:
                row["carried"] = self.whole(effective.inherited, evidence)
            rows.append(row)
        return {**self._step(inheritance), "of": inheritance.of, "from": rows}

    def _step(self, inheritance: Inheritance) -> dict[str, Any]:
        version = self.versions[inheritance.version]
        return {
            "version": version.parent.name if version.parent else "",
            "cleaning": version.recipe.get("cleaning"),
        }


def _passages(effective: EffectiveLabel) -> Iterator[int]:
    for part in effective.inherited.sources if effective.inherited else ():
        yield part.effective.passage
        yield from _passages(part.effective)


def _steps(effective: EffectiveLabel) -> Iterator[int]:
    if effective.inherited:
        yield effective.inherited.version
        for part in effective.inherited.sources:
            yield from _steps(part.effective)


def _judgments(effective: EffectiveLabel) -> Iterator[int]:
    for part in effective.inherited.sources if effective.inherited else ():
        if part.effective.given and part.effective.given.judgment is not None:
            yield part.effective.given.judgment
        yield from _judgments(part.effective)
