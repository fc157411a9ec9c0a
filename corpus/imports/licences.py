"""Licences of a load: compared with those that are here, and written when it is published."""

from collections.abc import Iterator, Sequence

from corpus.importers.licences import FIELDS
from corpus.importers.rows import LicenceRow
from corpus.imports.context import LoadContext
from corpus.models import Licence

_ELSEWHERE = "Neither this load nor the benchmark has a domain {!r}."
_CLASH = (
    "The licence of the {} of {} is here already with another {}. "
    "An admin can change it on the page Licences."
)


def show_licences(context: LoadContext, rows: Sequence[LicenceRow]) -> None:
    """Part of publishing. What a row leaves out clashes with nothing."""
    found = Licence.objects.filter(domain__benchmark=context.benchmark)
    here = {(each.domain_id, each.layer): each for each in found}
    for row in rows:
        for name in _domains(context, row):
            key = context.domains[name], row.layer
            if stored := here.get(key):
                _compare(context, row, stored, name)
                continue
            given = {each: getattr(row, each) or "" for each in FIELDS}
            here[key] = Licence.objects.create(
                domain_id=key[0], layer=row.layer, name=row.name, **given
            )
            context.tally.add("licences", added=1)


def _domains(context: LoadContext, row: LicenceRow) -> Iterator[str]:
    """Those that the row is about: the one it names, else all of the load."""
    if not row.domain:
        yield from sorted(context.touched)
    elif row.domain in context.touched or _is_ready(context, row.domain):
        yield row.domain
    else:
        context.tally.fail(row.location.at("domain"), _ELSEWHERE.format(row.domain))


def _is_ready(context: LoadContext, name: str) -> bool:
    return name in context.domains and context.benchmark.domains.ready().filter(name=name).exists()


def _compare(context: LoadContext, row: LicenceRow, stored: Licence, domain: str) -> None:
    pairs = {each: (getattr(row, each), getattr(stored, each)) for each in ("name", *FIELDS)}
    others = [name for name, (given, kept) in pairs.items() if given not in (None, kept)]
    if others:
        message = _CLASH.format(row.layer, domain, ", ".join(others))
        context.tally.fail(row.location, message)
    else:
        context.tally.add("licences", present=1)
