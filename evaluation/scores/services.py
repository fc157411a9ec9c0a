"""The gold that a benchmark's retrieval runs are scored against, read out of the database.

Three golds (docs/protocol.md 2.7): base is the imported gold, refined adds the holes, expert also
takes out what an expert refused. A fourth adds machine gold of aspects to the expert one (X06).
"""

from collections.abc import Collection, Sequence
from enum import StrEnum

from django.contrib.auth.models import AnonymousUser, User

from corpus.access import Access, enter, enter_unblinded
from corpus.judgments.shown import hides_machines
from corpus.models import Benchmark
from corpus.versions.services import called
from evaluation.content.reading import read_queries
from evaluation.content.view import frozen, view_of
from evaluation.exporters.records import QueryRecord
from evaluation.metrics.gold import Aspect, Gold
from evaluation.scores.models import ScoreSheet
from kit.errors import Refused


class GoldView(StrEnum):
    """Which labels count."""

    BASE = "base"
    REFINED = "refined"
    EXPERT = "expert"
    MACHINE = "machine"


def held_view(sheet: ScoreSheet, view: str) -> str:
    """The view under which a sheet has it: where there is no machine gold that is the expert's."""
    if view != GoldView.MACHINE or sheet.scores.filter(view=view).exists():
        return view
    return str(GoldView.EXPERT)


def readable_view(access: Access, view: str) -> str:
    """The view that is asked for; the imported gold where others would tell a voter of labels that
    are kept from them (corpus/judgments/shown.py)."""
    return str(GoldView.BASE) if hides_machines(access) else view


def enter_scored(user: User | AnonymousUser, slug: str) -> Access:
    """As `enter`, for scores by the refined gold; PermissionDenied for whom `readable_view` keeps
    from it."""
    access = enter(user, slug)
    return enter_unblinded(user, slug) if hides_machines(access) else access


def gold_here(slug: str, *, domain: str, version: str, view: GoldView) -> Gold:
    """The gold of a benchmark's domain in a corpus version, both by name, by default the only
    domain and the current version. Raises Refused for what is not here."""
    known = domains_here(slug)
    if domain not in known and (domain or len(known) != 1):
        raise Refused(f"Choose a domain with --domain: {', '.join(known) or 'none is here'}.")
    return next(iter(golds_here(slug, [domain or known[0]], version=version, view=view).values()))


def golds_here(
    slug: str, domains: Collection[str], *, version: str, view: GoldView
) -> dict[str, Gold]:
    """The same of several domains, all as of one moment."""
    with frozen():
        benchmark = _benchmark(slug)
        shown = view_of(benchmark, called(benchmark, version))
        return {
            each.name: gold_in(read_queries(shown, each, with_answers=False), view)
            for each in shown.splits.values()
            if each.name in domains
        }


def domains_here(slug: str) -> list[str]:
    """Names of the benchmark's domains, in order; raises Refused where there is no benchmark."""
    return sorted(_benchmark(slug).domains.ready().values_list("name", flat=True))


def _benchmark(slug: str) -> Benchmark:
    benchmark = Benchmark.objects.filter(slug=slug).first()
    if benchmark is None:
        raise Refused(f"There is no benchmark {slug!r}.")
    return benchmark


def gold_in(records: Sequence[QueryRecord], view: GoldView) -> Gold:
    """Labels, holes, aspects and excluded ids of a domain, from its records in a corpus version.

    Aspects are taken as far as they have come: what they do not cover yet is left out and counted.
    Of a query that has none, but whose imported judgments tell subtopics, each of these is an
    aspect of weight 1 (docs/metrics.md), in the version that was loaded.
    """
    labels = {each.qid: labels_in(each, view) for each in records}
    return Gold.of(
        labels,
        aspects={each.qid: named for each in records if (named := _aspects(each, view))},
        excluded={each.qid: each.excluded for each in records if each.excluded},
        base={each.qid: labels_in(each, GoldView.BASE) for each in records},
        complete=False,
    )


def labels_in(record: QueryRecord, view: GoldView) -> dict[str, int]:
    """A query's labels by passage id, as a view has them."""
    name = GoldView.EXPERT if view == GoldView.MACHINE else view
    found: dict[str, int] = {
        each.passage: label for each in record.labels if (label := getattr(each, name)) is not None
    }
    if view == GoldView.MACHINE:
        found |= {pid: max(1, found.get(pid, 1)) for pid in record.machine_gold}
    return found


def _aspects(record: QueryRecord, view: GoldView) -> dict[str, Aspect]:
    if record.aspects:
        with_machine = view == GoldView.MACHINE
        return {
            f"a{each.k}": Aspect(
                each.weight,
                (*each.supporting, *(one.passage for one in each.machine if with_machine)),
            )
            for each in record.aspects
        }
    found: dict[str, list[str]] = {}
    for label in record.labels:
        for name, value in (label.subtopics or {}).items():
            passages = found.setdefault(name, [])
            if value > 0:
                passages.append(label.passage)
    return {name: Aspect(1.0, passages) for name, passages in sorted(found.items())}
