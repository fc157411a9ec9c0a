"""Starting, pausing and stopping cleaning runs.

Who is asked in a cleaning: a model that a person chose, or those of the roles."""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from corpus.imports.context import unused_name
from corpus.imports.sweep import drop_version
from corpus.marcus.asking import prompt
from corpus.marcus.settings import AGENTS, FIXED_TOKENS, WINDOW_TOKENS
from corpus.models import (
    Benchmark,
    CleaningPreset,
    CleaningRun,
    CorpusVersion,
    Document,
    Passage,
    VersionState,
    ViolationPolicy,
)
from corpus.texts.models import CLEANED
from kit import audit
from kit.errors import Refused
from kit.runs.models import RunStatus, Stopping, lease, stopping, wake, worker_id
from kit.runs.moves import move_run, resume_run
from llm import endpoints
from llm.endpoints import Endpoint
from llm.ledger.accounts import check_budget, open_account
from llm.requests import EFFORTS

# The role of each preset's model; the rules ask nobody.
_ROLES: Final = {
    CleaningPreset.MARCUS: "cleaner",
    CleaningPreset.MARCUS_C: "cleaner",
    CleaningPreset.MARCUS_S: "splitter",
    CleaningPreset.DCHUNK: "embedder",
}


@dataclass(frozen=True)
class Seats:
    """The run's endpoint with its model, and the splitter's where another one cuts."""

    endpoint: Endpoint | None
    model: str = ""
    splitter: Endpoint | None = None

    @property
    def is_practice(self) -> bool:
        """Whether any of them is the practice model."""
        return any(each.is_practice for each in (self.endpoint, self.splitter) if each)


def take_seats(preset: str, endpoint: Endpoint | None, model: str = "") -> Seats:
    """The chosen endpoint for every agent; without one, each role's own where any is set up."""
    role = _ROLES.get(CleaningPreset(preset)) if preset in CleaningPreset.values else None
    if role is None:
        return Seats(None)
    if endpoint is not None:
        return Seats(endpoint, model.strip() or endpoints.in_role(endpoint, role).default_model)
    if not by_role():
        return Seats(None)
    placed = endpoints.for_role(role)
    splitter = endpoints.named_for("splitter") if preset == CleaningPreset.MARCUS else None
    main = model.strip() or placed.default_model
    is_other = splitter and (splitter.name, splitter.default_model) != (placed.name, main)
    return Seats(placed, main, splitter if is_other else None)


def by_role() -> str:
    """The models that are asked without a chosen endpoint, in words; "" where no role has one."""
    mine = dict.fromkeys(_ROLES.values())
    if not endpoints.roles().keys() & mine.keys():
        return ""
    return ", ".join(f"{role} {endpoints.for_role(role).default_model}" for role in mine)


# What each setting is where a person says nothing, and within which bounds.
DEFAULTS: Final[dict[str, Any]] = {
    "site": "the web",
    "temperature": 0.0,
    "reasoning_effort": "",
    "window": WINDOW_TOKENS,
    "fixed": FIXED_TOKENS,
    "single_span": False,
    "threshold": 0.5,
    "most": 4096,
    "overlap": 0.2,
    "long_from": 4096,
}
_MOST_SITE: Final = 80
_BOUNDS: Final[dict[str, tuple[float, float]]] = {
    "temperature": (0, 2),
    "window": (200, 100_000),
    "fixed": (16, 100_000),
    "threshold": (-1, 1),
    "most": (16, 100_000),
    "overlap": (0, 0.9),
    "long_from": (1, 10_000_000),
}


def start_cleaning(
    *,
    benchmark: Benchmark,
    source: CorpusVersion,
    preset: str,
    actor: User | None,
    policy: str = ViolationPolicy.REPAIR,
    endpoint: Endpoint | None = None,
    model: str = "",
    name: str = "",
    budget_usd: Decimal | None = None,
    options: dict[str, Any] | None = None,
    claimed: bool = False,
) -> CleaningRun:
    """Make a run that cleans `source` into a new version, and wake a worker.

    `options` are those of DEFAULTS. All presets but the rules alone need an endpoint, or models
    set up for their roles; `model` is asked there, or the endpoint's own (of dchunk it has to give
    vectors). `claimed` keeps the run
    for the calling process. Raises Refused for a version that is not ready or holds no text, a
    name that is taken, options out of bounds, and a budget for a model without a price.
    """
    config = DEFAULTS | (options or {})
    seats = take_seats(preset, endpoint, model)
    endpoint = seats.endpoint
    _check(benchmark, source, preset, policy, endpoint, name.strip(), config)
    agents = AGENTS[preset]
    if not asks(preset):
        budget_usd = None
    if not agents or not config["reasoning_effort"]:
        # Not part of what was asked: pages of runs before there was such a choice stay known.
        del config["reasoning_effort"]
    if seats.splitter:
        config["splitter"] = {
            "endpoint": seats.splitter.name,
            "model": seats.splitter.default_model,
        }
    config["prompts"] = {role: prompt(role).sha256 for role in agents}
    taken = taken_names(benchmark).values_list("name", flat=True)
    label = name.strip() or unused_name(f"{source.name[:50]}, {preset}", taken)
    with transaction.atomic():
        run = CleaningRun.objects.create(
            benchmark=benchmark,
            source=source,
            name=label[:80],
            preset=preset,
            policy=policy,
            config=config,
            endpoint=endpoint.name if endpoint else "",
            model=seats.model[:120],
            practice=seats.is_practice,
            budget_usd=budget_usd,
            calls_in_flight=settings.ASSAY_CALLS_IN_FLIGHT,
            created_by=actor,
        )
        run.version = _begin_version(run)
        run.save(update_fields=["version"])
        if run.has_calls:
            check_budget(budget_usd, run.asked)
            open_account(run)
        data = {"preset": preset, "source": source.pk}
        audit.record(
            actor=actor, verb="start cleaning", target=run, scope=benchmark.slug, data=data
        )
        if claimed:
            run.claim()
        else:
            wake(run)
    return run


def resume_cleaning(*, run: CleaningRun, actor: User) -> None:
    """Go on where a paused or failed run stopped; paid answers are not paid again."""
    if run.version is None:
        raise Refused("What this run made is gone. Start a new one.")
    resume_run(run=run, actor=actor, pause_reason="")


def cancel_cleaning(*, run: CleaningRun, actor: User) -> None:
    """Stop for good; nobody ever sees the version that it was making.

    A worker drops its rows: half a million take longer than a person waits. A failed run can be
    given up, too: what it has half made would keep its name.
    """
    sources = (RunStatus.QUEUED, RunStatus.RUNNING, RunStatus.PAUSED, RunStatus.FAILED)
    with transaction.atomic():
        to, verb = RunStatus.CANCELLED, "cancel cleaning"
        move_run(run, to, actor=actor, verb=verb, sources=sources, lease_until=None)
        wake(run)


def drop_cancelled(run: CleaningRun, *, before_each: Callable[[], object] = lambda: None) -> None:
    """Remove what a cancelled run wrote, in small groups; one worker at a time does.

    A worker that still wrote has lost the run. Killed, another goes on when the lease is over.
    `before_each` is called before each group.
    """
    version = run.version
    if version is None or version.state != VersionState.LOADING:
        return
    now = timezone.now()
    free = Q(lease_until=None) | Q(lease_until__lt=now)
    rows = CleaningRun.objects.filter(pk=run.pk, status=RunStatus.CANCELLED)
    if not rows.filter(free).update(lease_until=now + lease(), owner=worker_id()):
        return

    def go_on() -> None:
        before_each()
        if stopping.is_set():
            rows.update(lease_until=None)
            raise Stopping(f"cleaning run {run.pk}")
        rows.update(lease_until=timezone.now() + lease())

    with contextlib.suppress(Stopping):
        drop_version(version, before_each=go_on)


def asks(preset: str) -> bool:
    """Whether the preset asks an endpoint, for texts or for vectors."""
    return bool(AGENTS[preset]) or preset == CleaningPreset.DCHUNK


def taken_names(benchmark: Benchmark) -> QuerySet[CorpusVersion]:
    """The versions whose names nobody may take: all but what cancelled runs have left."""
    return benchmark.versions.exclude(made_by__status=RunStatus.CANCELLED)


def _begin_version(run: CleaningRun) -> CorpusVersion:
    version = CorpusVersion.objects.create(
        benchmark=run.benchmark,
        parent=run.source,
        name=run.name,
        recipe={
            "kind": CLEANED,
            "cleaning": run.pk,
            "preset": run.preset,
            "policy": run.policy,
            "model": run.model,
            "practice": run.practice,
            **run.config,
            # A recipe is published: it names models and no endpoint.
            **({"splitter": run.config["splitter"]["model"]} if "splitter" in run.config else {}),
        },
    )
    version.layers = [version.pk]
    version.save(update_fields=["layers"])
    return version


def _check(
    benchmark: Benchmark,
    source: CorpusVersion,
    preset: str,
    policy: str,
    endpoint: Endpoint | None,
    name: str,
    config: dict[str, Any],
) -> None:
    if source.benchmark_id != benchmark.pk or source.state != VersionState.READY:
        raise Refused("Choose a corpus version of this benchmark that is ready.", field="source")
    if preset not in CleaningPreset.values:
        known = ", ".join(CleaningPreset.values)
        raise Refused(f"{preset!r} is no preset. Take one of {known}.", field="preset")
    if policy not in ViolationPolicy.values:
        raise Refused(f"{policy!r} is no policy.", field="policy")
    if asks(preset) and endpoint is None:
        raise Refused("This preset asks a model: choose an endpoint.", field="endpoint")
    if taken_names(benchmark).filter(name=name).exists():
        raise Refused(f"There is a corpus version named {name!r} already.", field="name")
    unknown = config.keys() - DEFAULTS.keys()
    if unknown:
        raise Refused(f"There is no option {sorted(unknown)[0]!r}.", field="options")
    for option, (low, high) in _BOUNDS.items():
        value = config[option]
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise Refused(f"{option} is a number.", field=option)
        if not low <= value <= high:
            raise Refused(f"{option} is a number from {low} to {high}.", field=option)
    if config["reasoning_effort"] not in ("", *EFFORTS):
        words = f"The reasoning effort is one of {', '.join(EFFORTS)}, or left to the model."
        raise Refused(words, field="reasoning_effort")
    site = config["site"]
    if not isinstance(site, str) or not site.strip() or len(site) > _MOST_SITE:
        raise Refused(f"site is a text of up to {_MOST_SITE} characters.", field="site")
    if not isinstance(config["single_span"], bool):
        raise Refused("single_span is true or false.", field="single_span")
    texts = Passage.objects.in_version(source).with_text()
    if not texts.exists() and not Document.objects.filter(version__in=source.layers).exists():
        raise Refused("This version holds no text that could be cleaned.", field="source")
