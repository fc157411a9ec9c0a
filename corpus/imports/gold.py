"""Versions of the original gold: a newer one is another row set, and both stay evaluable.

A new version's judgments are written in short transactions while the version is not ready; what
becomes current is settled by publishing.
"""

import hashlib
import json
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from django.db import IntegrityError, connection
from django.utils import timezone

from corpus.importers.rows import JudgmentRow, Key
from corpus.imports.context import ConcurrentLoad, LoadContext, Pace
from corpus.imports.named import LoadRows
from corpus.imports.texts import as_json
from corpus.lists import unused_name
from corpus.models import GoldVersion, Judgment, Source, Status
from kit import audit

AS_LOADED = "as loaded"
_COLUMNS = (
    "query_id",
    "passage_id",
    "label",
    "subtopics",
    "source",
    "status",
    "gold_version_id",
    "provenance",
    "created_at",
)


class Given(NamedTuple):
    """One label of a gold, and the row ids of its query and passage."""

    label: int
    subtopics: dict[str, int] | None
    query: int
    passage: int


# By (query id, passage id).
Labels: TypeAlias = dict[Key, Given]


class GoldChange(NamedTuple):
    """What publishing does with one domain's gold, `before` being the version current so far."""

    domain: str
    before: int | None
    version: GoldVersion
    state: str
    judgments: int


def stage_gold(context: LoadContext, gathered: LoadRows, pace: Pace) -> list[GoldChange]:
    """Compare the gold of each domain that the load speaks of, and write what is new."""
    spoken: dict[str, set[str]] = {}
    for domain, qid in gathered.queries:
        spoken.setdefault(domain, set()).add(qid)
    for domain, rows in gathered.gold.items():
        known = [row for row in rows.values() if _has_query(context, row)]
        spoken.setdefault(domain, set()).update(row.qid for row in known)
        gathered.gold[domain] = {(row.qid, row.pid): row for row in known}
    if context.tally.problems:
        return []
    changes = [
        _stage_domain(context, domain, qids, gathered.gold[domain], pace)
        for domain, qids in spoken.items()
    ]
    return [each for each in changes if each is not None]


def show_gold(context: LoadContext, changes: Sequence[GoldChange]) -> None:
    """Make the staged gold current; raises Overtaken where another load's came between."""
    for change in changes:
        versions = GoldVersion.objects.filter(domain_id=context.domain(change.domain))
        current = versions.filter(is_current=True).values_list("pk", flat=True).first()
        if current != change.before:
            raise ConcurrentLoad
        if change.state != "unchanged":
            versions.update(is_current=False)
            name = unused_name(change.version.name, versions.values_list("name", flat=True))
            fields = {} if change.version.is_ready else {"is_ready": True, "name": name}
            try:
                stored = GoldVersion.everything.filter(pk=change.version.pk)
                stored.update(is_current=True, **fields)
            except IntegrityError as error:
                raise ConcurrentLoad from error
            change.version.refresh_from_db()
        _note(context, change)


def digest_of(labels: Labels) -> str:
    """sha256 over the sorted (query id, passage id, label and subtopics): same gold, same digest.

    Subtopics take part only where there are any.
    """
    sha = hashlib.sha256()
    for (qid, pid), given in sorted(labels.items()):
        subtopics = [given.subtopics] if given.subtopics else []
        sha.update(json.dumps([qid, pid, given.label, *subtopics], sort_keys=True).encode())
    return sha.hexdigest()


def _has_query(context: LoadContext, row: JudgmentRow) -> bool:
    if (row.domain, row.qid) in context.queries:
        return True
    context.tally.fail(row.location, f"There is no query {row.qid} in {row.domain}.")
    return False


def _stage_domain(
    context: LoadContext, domain: str, qids: set[str], rows: dict[Key, JudgmentRow], pace: Pace
) -> GoldChange | None:
    """The domain's gold is this load's for its own queries, and as it was for all others."""
    versions = GoldVersion.objects.filter(domain__benchmark=context.benchmark, domain__name=domain)
    current = versions.filter(is_current=True).first()
    before = _labels_of(current)
    labels = {key: given for key, given in before.items() if key[0] not in qids}
    labels |= {
        key: Given(
            row.label,
            row.subtopics,
            context.queries[row.domain, row.qid],
            context.passages[row.domain, row.pid],
        )
        for key, row in rows.items()
    }
    added = sum(before.get(key) != labels[key] for key in rows)
    context.tally.add("judgments", added=added, present=len(rows) - added)
    if current is None and not labels:
        return None
    digest, replaced = digest_of(labels), current.pk if current else None
    if current is not None and current.digest == digest:
        return GoldChange(domain, replaced, current, "unchanged", len(labels))
    if known := versions.filter(digest=digest).first():
        return GoldChange(domain, replaced, known, "current again", len(labels))
    name = next((row.gold for row in rows.values() if row.gold), AS_LOADED)
    with pace.writing(context, 0):
        version = GoldVersion.everything.create(
            domain_id=context.domain(domain),
            name=name[:110],
            digest=digest,
            is_current=False,
            is_ready=False,
        )
        context.stage("gold", version.pk)
    now = connection.ops.adapt_datetimefield_value(timezone.now())
    provenance = json.dumps({"import": context.run.pk})
    rest = (Source.ORIGINAL.value, Status.STANDING.value, version.pk, provenance, now)
    judgments = (
        (query, passage, label, as_json(subtopics), *rest)
        for label, subtopics, query, passage in labels.values()
    )
    pace.write(context, Judgment, _COLUMNS, judgments)
    return GoldChange(domain, replaced, version, "new", len(labels))


def _labels_of(version: GoldVersion | None) -> Labels:
    rows = Judgment.objects.filter(gold_version=version) if version else Judgment.objects.none()
    columns = ("query__qid", "passage__pid", "label", "subtopics", "query_id", "passage_id")
    return {(qid, pid): Given(*given) for qid, pid, *given in rows.order_by().values_list(*columns)}


def _note(context: LoadContext, change: GoldChange) -> None:
    version, state = change.version, change.state
    entry = {
        "domain": change.domain,
        "name": version.name,
        "state": state,
        "judgments": change.judgments,
    }
    context.tally.gold.append(entry)
    if state != "unchanged":
        audit.record(
            context.run.created_by,
            "gold version",
            version,
            context.benchmark.slug,
            {**entry, "digest": version.digest},
        )
