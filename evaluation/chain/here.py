"""Where a step of a chain stands, and what a kind of step is made of."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_DOWN, Decimal
from typing import Any, Final

from django.contrib.auth.models import User

from corpus.models import Benchmark, CorpusVersion, Pool, RetrievalRun
from corpus.versions.services import stored
from kit.errors import Refused
from kit.runs.models import TrackedRun
from kit.templatetags.figures import duration
from llm import endpoints
from llm.endpoints import Endpoint

Settings = Mapping[str, Any]
Lines = Iterable[Sequence[object]]
_CENT: Final = Decimal("0.01")
# What a step is likely to take: calls, dollars and seconds of models; of people the cases, votes or
# queries, and the seconds of these.
FORETOLD: Final = ("calls", "usd", "seconds", "cases", "votes", "queries", "people_seconds")


@dataclass(frozen=True)
class Here:
    """Where a step stands: `left` is what the steps before it left, `records` tells what the chain
    began with and what they came to.

    `budget` is what the step may spend, None without a limit.
    """

    benchmark: Benchmark
    actor: User | None
    left: Mapping[str, Any] = field(default_factory=dict)
    budget: Decimal | None = None
    records: Callable[[], Sequence[Mapping[str, Any]]] = tuple

    @property
    def version(self) -> CorpusVersion | None:
        """The corpus version that the chain works on: what it cleaned, else the current one."""
        if "version" in self.left:
            return CorpusVersion.objects.get(pk=self.left["version"])
        return CorpusVersion.objects.current(self.benchmark)

    @property
    def ranked(self) -> CorpusVersion | None:
        """The version whose ids the chain's systems hold: another where they rank documents by
        their best chunk."""
        own = RetrievalRun.objects.filter(pk__in=self.left.get("systems") or ()).last()
        return stored(self.benchmark, own.corpus_version_id) if own else self.version

    @property
    def pool(self) -> Pool | None:
        """The newest pool; None where nothing was left to judge, and debates are passed over."""
        return Pool.objects.filter(pk=self.left.get("pool") or 0).first()

    def systems(self, names: Sequence[str] = ()) -> list[RetrievalRun]:
        """The chain's retrieval runs, else all of its version; by name where some are named.

        Raises Refused for a name that none has.
        """
        rows = RetrievalRun.objects.filter(benchmark=self.benchmark).order_by("pk")
        own = rows.filter(pk__in=self.left.get("systems") or ())
        version = self.ranked
        here = rows.filter(corpus_version=version.key if version else None) | own
        if names:
            # Of two that share a name it is the chain's that is meant.
            found = {run.name: run for run in [*here, *own]}
            if missing := [name for name in names if name not in found]:
                known = ", ".join(found) or "none"
                raise Refused(f"There is no retrieval run {missing[0]!r} here, but {known}.")
            return [found[name] for name in names]
        return list(own) or list(here)

    def system(self, name: str | None) -> RetrievalRun:
        """The system of this name, else the chain's first. Raises Refused."""
        if found := self.systems([name] if name else ()):
            return found[0]
        raise Refused("There is no retrieval run here yet.")

    def endpoint(self, settings: Settings, role: str, key: str = "endpoint") -> Endpoint:
        """The endpoint that is named, else the first of the role. Raises Refused."""
        if name := settings.get(key):
            return endpoints.get(name)
        known = endpoints.available(role)
        if not known:
            raise Refused("No model endpoint is set up, and the practice model does not run.")
        return known[0]

    def share(self, runs: int) -> Decimal | None:
        """Of the step's budget what each of so many runs may spend, in whole cents."""
        if self.budget is None:
            return None
        return (self.budget / max(1, runs)).quantize(_CENT, ROUND_DOWN)

    def asking(self, settings: Settings, role: str, runs: int = 1) -> dict[str, Any]:
        """What every verb that begins a run of models takes, of one of so many runs."""
        return {
            "endpoint": self.endpoint(settings, role),
            "actor": self.actor,
            "budget_usd": self.share(runs),
        }


@dataclass(frozen=True)
class Kind:
    """A kind of step, by what it does. All read `Here`.

    `begin` starts its runs: none, where it only waits for people. `waits` says what people still
    have to do. `leave` gives what later steps go on with, and may write; it is called once, with
    the runs that are done. `lines`, of which the hash of its output is made, only read, when the
    step has left what it leaves. `forecast` tells what is FORETOLD, as far as that is known.
    """

    begin: Callable[[Here, Settings], Sequence[TrackedRun]] = lambda here, settings: ()
    leave: Callable[[Here, Settings, Sequence[Any]], dict[str, Any]] = lambda *_: {}
    lines: Callable[[Here, Sequence[Any]], Lines] = lambda here, runs: ()
    waits: Callable[[Here, Settings], str] = lambda here, settings: ""
    forecast: Callable[[Here, Settings], dict[str, Any]] = lambda here, settings: {}


def given(settings: Settings, names: str) -> dict[str, Any]:
    """Those of the settings, by their names in one text, that the plan tells."""
    return {name: settings[name] for name in names.split() if name in settings}


def added(told: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Forecasts of several runs together; `usd` is None where one is not known."""
    calls, usd = 0, []
    for each in told:
        calls += each["calls"]
        usd.append(each["usd"])
    return {"calls": calls, "usd": None if None in usd else sum(usd, Decimal(0))}


def work_in_words(told: Mapping[str, Any]) -> str:
    """What a forecast asks of people, as "40 votes, 20 minutes"; "" where it says nothing of it."""
    found = [
        f"{count:,.0f} {one if round(count) == 1 else many}"
        for name, one, many in (("votes", "vote", "votes"), ("queries", "query", "queries"))
        if (count := told.get(name)) is not None
    ]
    seconds = told.get("people_seconds")
    return ", ".join([*found, duration(seconds)] if seconds else found)
