"""Which rows make up a benchmark, and what of them is left behind.

The tables follow from the model graph: what belongs to a benchmark by foreign keys that are never
null (`corpus.benchmarks.archive.rows_of`), and the three kinds that no such key leads from: events
by their scope, accounts by the runs that pay from them, calls by their account or by who names
them. A model is in, or stands in LEFT_OUT with the reason; a test walks all models.
"""

from dataclasses import dataclass
from functools import cache, cached_property
from graphlib import CycleError, TopologicalSorter
from typing import Any, Final, TypeAlias

from django.apps import apps
from django.contrib.auth.models import User
from django.db import models
from django.db.models import Q

from corpus.benchmarks.archive import rows_of
from corpus.models import Benchmark
from kit.backup.tables import Table, kind_of
from kit.models import Event
from llm.ledger.accounts import PayingRun
from llm.models import Account, Call

Kind: TypeAlias = type[models.Model]

_OF_INSTALLATION: Final = "of the installation and of no benchmark"
_WHO: Final = "who people are and how they sign in: people travel as pseudonyms"
_PLACES: Final = "places in a benchmark are given anew by its admins"
_HOLDS_KEYS: Final = "holds a secret and an address of this installation"
LEFT_OUT: Final[dict[str, str]] = {
    "auth.Permission": _OF_INSTALLATION,
    "auth.Group_permissions": _OF_INSTALLATION,
    "auth.Group": _OF_INSTALLATION,
    "auth.User_groups": _WHO,
    "auth.User_user_permissions": _WHO,
    "auth.User": _WHO,
    "contenttypes.ContentType": _OF_INSTALLATION,
    "sessions.Session": _WHO,
    "kit.RunGroup": "parts of runs under way, and none of those travel",
    "kit.Worker": _OF_INSTALLATION,
    "kit.Quota": "what the benchmark may use is said by whoever runs the site",
    "kit.SignInLink": _WHO,
    "kit.LinkRequest": _WHO,
    "kit.ProviderIdentity": _WHO,
    "kit.SecondFactor": _WHO,
    "kit.Tries": _WHO,
    "kit.ApiToken": _WHO,
    "llm.RateLimit": _OF_INSTALLATION,
    "llm.ModelProfile": _OF_INSTALLATION,
    "annotate.Digest": "mail of one person",
    "annotate.Draft": "seen by its writer alone, and not yet said",
    "corpus.Membership": _PLACES,
    "corpus.Membership_domains": _PLACES,
    "corpus.Invitation": _PLACES,
    "corpus.Invitation_domains": _PLACES,
    "corpus.Webhook": _HOLDS_KEYS,
    "corpus.Delivery": _HOLDS_KEYS,
    "corpus.PassageIndexRun": "the text index is made anew",
    "evaluation.KeptBoard": "reckoned anew when somebody looks",
    "evaluation.Transfer": "the writing and reading of such files itself",
}
# Columns that stay behind in whatever table they stand, with what stands there instead.
_BLANK: Final[dict[str, Any]] = {
    "owner": "",  # the machine's name
    "lease_until": None,
    "token_hash": None,  # of a guest agent
    "path": "",  # on this machine's disk
    "qrels_path": "",
    "folder": "",
}
# And in one table alone.
BLANK: Final[dict[str, dict[str, Any]]] = {
    # Named by whoever imports it, and read only until it is whole.
    "corpus.Benchmark": {"slug": "", "archived_at": None},
    "llm.Account": {"made": 0},
    "kit.Event": {"once": None, "scope": ""},
}
# Columns that are not written: the database fills them anew.
_ANEW: Final = {"annotate.EscalationCase": {"public_id"}}


@dataclass(frozen=True)
class Part:
    """A table of a benchmark: its rows and the columns that travel."""

    kind: Kind
    rows: models.QuerySet[Any]

    @property
    def label(self) -> str:
        """`corpus.Query`."""
        return self.kind._meta.label

    @cached_property
    def fields(self) -> list[Any]:
        """What is written of a row; its key only where that is a foreign key."""
        anew = _ANEW.get(self.label, set())
        found = [each for each in self.kind._meta.concrete_fields if each.name not in anew]
        return [each for each in found if not each.primary_key or each.remote_field]

    @cached_property
    def key(self) -> str:
        """The column of its key."""
        return str(self.kind._meta.pk.column)  # type: ignore[union-attr]

    @cached_property
    def table(self) -> Table:
        """The columns as they are written."""
        columns = {str(each.column): kind_of(each) for each in self.fields}
        return Table(self.kind._meta.db_table, self.key, columns)

    @cached_property
    def numbered(self) -> Table:
        """The columns as they are read, with the key."""
        key = {self.key: kind_of(self.kind._meta.pk)}
        return Table(self.table.name, self.key, key | self.table.columns)

    @cached_property
    def targets(self) -> dict[int, str]:
        """By the place of a column the model that it leads to."""
        return {
            at: each.related_model._meta.label
            for at, each in enumerate(self.fields)
            if each.remote_field is not None
        }

    @cached_property
    def blanks(self) -> dict[int, Any]:
        """By the place of a column what stands there in the file."""
        words = _BLANK | BLANK.get(self.label, {})
        return {at: words[each.name] for at, each in enumerate(self.fields) if each.name in words}

    @cached_property
    def leads_to_itself(self) -> bool:
        """Whether rows lead to others of the table, which may come later."""
        return self.label in self.targets.values()


@cache
def models_of() -> dict[str, Kind]:
    """The models of a file by label, in their order."""
    return {part.label: part.kind for part in parts_of(Benchmark(pk=0, slug=""))}


def parts_of(benchmark: Benchmark) -> list[Part]:
    """Every table of the benchmark, what others lead to first.

    The one way round that the models have (a benchmark names its current version) is left open:
    `Benchmark.taken_up` is null while the others are written (`reading`).
    """
    own = {
        rows.model: rows for rows in rows_of(benchmark) if rows.model._meta.label not in LEFT_OUT
    }
    own[Account] = _accounts(own)
    own[Call] = _calls(own)
    own[Event] = events_of(benchmark)
    return [Part(kind, own[kind]) for kind in _in_order(list(own))]


def events_of(benchmark: Benchmark) -> models.QuerySet[Event]:
    """Its events, but reads: those changed nothing, and are the record of an installation."""
    return Event.objects.of(benchmark.slug).filter(once=None)


def _accounts(own: dict[Kind, models.QuerySet[Any]]) -> models.QuerySet[Any]:
    paid = Q()
    for kind, rows in own.items():
        if issubclass(kind, PayingRun):
            paid |= Q(pk__in=rows.exclude(account=None).values("account"))
    return Account.objects.filter(paid)


def _calls(own: dict[Kind, models.QuerySet[Any]]) -> models.QuerySet[Any]:
    """Those that its runs paid for, and those of others whose answer it took from the ledger."""
    found = Q(account__in=own[Account].values("pk"))
    for kind, rows in own.items():
        for field in kind._meta.concrete_fields:
            if field.related_model is Call:
                named = rows.exclude(**{field.name: None}).values(field.name)
                found |= Q(pk__in=named)
    return Call.objects.filter(found)


def _in_order(kinds: list[Kind]) -> list[Kind]:
    """Each behind those that its foreign keys lead to, by name where the order is open."""
    kinds = sorted(kinds, key=lambda kind: kind._meta.label)
    order: TopologicalSorter[Kind] = TopologicalSorter()
    for kind in kinds:
        order.add(kind)
        for field in kind._meta.concrete_fields:
            other = field.related_model
            if other in kinds and other is not kind and kind is not Benchmark:
                order.add(kind, other)
    try:
        return list(order.static_order())
    except CycleError as error:  # a test sees it before anybody else does
        raise TypeError(f"Models lead round in a circle: {error.args[1]}") from error


def schema() -> dict[str, dict[str, str]]:
    """By model the columns that a file of this version has, with the kinds of their values."""
    return {part.label: part.table.columns for part in parts_of(Benchmark(pk=0, slug=""))}


def left_open() -> set[str]:
    """Models that are neither in a file nor in LEFT_OUT; none, says a test."""
    known = schema().keys() | LEFT_OUT.keys()
    return {each._meta.label for each in apps.get_models(include_auto_created=True)} - known


def is_person(label: str) -> bool:
    """Whether a foreign key to this model names a person."""
    return label == User._meta.label
