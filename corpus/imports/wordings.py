"""Query sources of a load: wordings by source, of the queries that are here.

A source has one name; the same wordings again change nothing, others under a taken name are a
problem. Unnamed ones are called after what was given.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from corpus.importers.fields import QID_LIMIT
from corpus.importers.rows import Key, WordingRow
from corpus.imports.context import LoadContext, known
from corpus.imports.named import LoadRows
from corpus.models import Benchmark, Query, QuerySource, Wording

UNKNOWN: Final = "wordings of queries that are not here, left out"


def show_wordings(context: LoadContext, gathered: LoadRows) -> None:
    """Part of publishing."""
    run = context.run
    for given, rows in gathered.wordings.items():
        name = (given or Path(run.label).stem or run.label)[:QID_LIMIT]
        queries = _queries(context, rows)
        texts = {key: row.text for key, row in rows.items() if key in queries}
        if not texts:
            first = next(iter(rows.values()))
            message = f"None of the queries that {name} words is here."
            context.tally.fail(first.location, message)
            continue
        digest = digest_of(texts)
        here = QuerySource.objects.filter(benchmark=context.benchmark, name=name).first()
        if here is None:
            provenance = {"import": run.pk, "format": run.format, "label": run.label}
            write_source(
                benchmark=context.benchmark,
                name=name,
                texts=[(queries[key], text) for key, text in texts.items()],
                provenance=provenance,
            )
            context.tally.add("wordings", added=len(texts))
        elif here.digest == digest:
            context.tally.add("wordings", present=len(texts))
        else:
            first = next(iter(rows.values()))
            context.tally.fail(
                first.location,
                f"A query source named {name} is here already with other wordings. Sources are "
                "never edited: give all files of one at once, and a changed one another name.",
            )


def _queries(context: LoadContext, rows: dict[Key, WordingRow]) -> dict[Key, Query]:
    found = {
        (domain, query.qid): query
        for domain, part in known(context, Query.objects.all(), "qid", rows)
        for query in part.select_related("domain").only("qid", "domain__name")
    }
    for domain, qid in rows:
        if (domain, qid) not in found:
            context.tally.odd(UNKNOWN, f"{domain}-{qid}")
    return found


def write_source(
    *,
    benchmark: Benchmark,
    name: str,
    texts: Iterable[tuple[Query, str]],
    provenance: dict[str, Any],
) -> QuerySource:
    """Write wordings as a source; in a transaction of the caller."""
    rows = list(texts)
    made = QuerySource.objects.create(
        benchmark=benchmark,
        name=name,
        digest=digest_of({(q.domain.name, q.qid): text for q, text in rows}),
        query_count=len(rows),
        provenance=provenance,
    )
    wordings = [Wording(source=made, query=query, text=text) for query, text in rows]
    Wording.objects.bulk_create(wordings, batch_size=500)
    return made


def digest_of(texts: Mapping[Key, str]) -> str:
    """SHA-256 over wordings by domain and query id: the same wordings, the same digest."""
    listed = sorted((*key, text) for key, text in texts.items())
    return hashlib.sha256(json.dumps(listed).encode()).hexdigest()
