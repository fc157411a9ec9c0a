"""Starting, pausing and stopping cleaning runs, and choosing the models that they ask."""

import contextlib
from collections.abc import Callable, Sequence
from decimal import ROUND_DOWN, Decimal
from typing import Any, Final, NamedTuple

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from corpus.chunking.semantic import MAX_TOKENS, OVERLAP, THRESHOLD
from corpus.cleaning.models import BY_LSA, BY_MODEL
from corpus.lists import unused_name
from corpus.marcus.asking import prompt
from corpus.marcus.figures import Advice, MeasuredGain, advised
from corpus.marcus.settings import AGENTS, ASK_FROM, FIXED_TOKENS, WINDOW_TOKENS
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
from corpus.texts.models import CLEANED, GIVEN, NUMBERED
from corpus.versions.services import drop_version
from kit import audit
from kit.errors import Refused
from kit.runs.models import RunStatus, Stopping, begin, lease, stopping, wake, worker_id
from kit.runs.moves import move_run, resume_run
from llm import endpoints
from llm.endpoints import Endpoint
from llm.ledger.accounts import check_budget, open_account, set_budget
from llm.requests import EFFORTS

# The role of each preset's model; the rules ask nobody.
_ROLES: Final = {
    CleaningPreset.MARCUS: "cleaner",
    CleaningPreset.MARCUS_C: "cleaner",
    CleaningPreset.MARCUS_S: "splitter",
    CleaningPreset.DCHUNK: "embedder",
}


class ChosenModels(NamedTuple):
    """The run's endpoint with its model, and the splitter's where another one cuts."""

    endpoint: Endpoint | None
    model: str = ""
    splitter: Endpoint | None = None

    @property
    def is_practice(self) -> bool:
        """Whether any of them is the practice model."""
        return any(each.is_practice for each in (self.endpoint, self.splitter) if each)


def choose_models(
    preset: str, endpoint: Endpoint | None, model: str = "", embedder: str = ""
) -> ChosenModels:
    """The chosen endpoint for every agent; without one, each role's own where any is set up.

    `embedder` is that of DChunk: without one, a model that is no practice model, else LSA.
    """
    role = _ROLES.get(CleaningPreset(preset)) if preset in CleaningPreset.values else None
    if role is None or (preset == CleaningPreset.DCHUNK and embedder == BY_LSA):
        return ChosenModels(None)
    if preset == CleaningPreset.DCHUNK and not embedder:
        chosen = choose_models(preset, endpoint, model, BY_MODEL)
        return ChosenModels(None) if chosen.is_practice else chosen
    if endpoint is not None:
        return ChosenModels(
            endpoint, model.strip() or endpoints.in_role(endpoint, role).default_model
        )
    if not by_role():
        return ChosenModels(None)
    placed = endpoints.for_role(role)
    splitter = endpoints.named_for("splitter") if preset == CleaningPreset.MARCUS else None
    main = model.strip() or placed.default_model
    is_other = splitter and (splitter.name, splitter.default_model) != (placed.name, main)
    return ChosenModels(placed, main, splitter if is_other else None)


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
    "ask_from": ASK_FROM,
    "embedder": "",
    "threshold": THRESHOLD,
    "most": MAX_TOKENS,
    "overlap": OVERLAP,
    "long_from": MAX_TOKENS,
}
# The options of DChunk, and what the vectors of its sentences are from.
CHUNKS: Final = ("embedder", "threshold", "most", "overlap", "long_from")
EMBEDDERS: Final = {
    BY_LSA: "latent semantic analysis, fitted on this corpus: asks nobody",
    BY_MODEL: "the endpoint’s model for embeddings",
}
_MAX_SITE: Final = 80
BOUNDS: Final[dict[str, tuple[float, float]]] = {
    "temperature": (0, 2),
    "window": (200, 100_000),
    "fixed": (16, 100_000),
    "ask_from": (0, 10_000),
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
    also: Sequence[str] = (),
    claimed: bool = False,
) -> CleaningRun:
    """Make a run that cleans `source` into a new version, and wake a worker.

    `options` are those of DEFAULTS. MARCUS needs an endpoint, or models set up for its roles;
    `model` is asked there, or the endpoint's own. DChunk asks one for vectors, if its embedder is
    a model. `claimed` keeps the run for the calling process.

    `also` are further presets of one job: a run each, which follows the one before and takes from
    the ledger what that paid for. The budget is that of them all.

    Raises Refused for a version that is not ready or holds no text, a name that is taken, options
    out of bounds, and a budget for a model without a price.
    """
    taken = list(taken_names(benchmark).values_list("name", flat=True))
    runs: list[CleaningRun] = []
    for each in dict.fromkeys([preset, *also]):
        run, chosen = draft(
            source=source, preset=each, policy=policy, endpoint=endpoint, model=model,
            options=options,
        )  # fmt: skip
        run.benchmark = benchmark
        label = f"{name.strip()}, {each}" if runs and name.strip() else name.strip()
        _check(run, chosen, label, DEFAULTS | (options or {}))
        run.name = (label or unused_name(f"{source.name[:50]}, {each}", taken))[:80]
        run.budget_usd = budget_usd if run.has_calls else None
        run.calls_in_flight, run.created_by = settings.ASSAY_CALLS_IN_FLIGHT, actor
        taken.append(run.name)
        runs.append(run)
    with transaction.atomic():
        for before, run in zip([None, *runs], runs, strict=False):
            run.follows = before
            _begin(run)
        begin(runs[0], claimed=claimed)
    return runs[0]


def _begin(run: CleaningRun) -> None:
    run.save()
    run.version = _begin_version(run)
    run.save(update_fields=["version"])
    if run.has_calls:
        check_budget(run.budget_usd, run.asked)
        open_account(run)
    data = {"preset": run.preset, "source": run.source_id}
    scope = run.benchmark.slug
    audit.record(actor=run.created_by, verb="start cleaning", target=run, scope=scope, data=data)


def following(run: CleaningRun) -> list[CleaningRun]:
    """The runs of its job that come after it, in their order."""
    found: list[CleaningRun] = []
    last: CleaningRun | None = run
    while last is not None:
        last = last.followers.select_related("benchmark", "source", "version", "account").first()
        found += [last] if last else []
    return found


def share_budget(run: CleaningRun) -> None:
    """Leave a run of a job what those before it left of their budget; done again, the same."""
    before = run.follows
    while before is not None and not before.has_calls:
        before = before.follows
    if before is None or before.budget_usd is None or not run.has_calls:
        return
    left = before.budget_usd - before.spent_usd - before.reserved_usd
    usd = max(Decimal(0), left.quantize(Decimal("0.01"), rounding=ROUND_DOWN))
    if run.budget_usd is None or usd < run.budget_usd:
        set_budget(run, usd, actor=None, scope=run.benchmark.slug)


def draft(
    *,
    source: CorpusVersion,
    preset: str,
    policy: str = ViolationPolicy.REPAIR,
    endpoint: Endpoint | None = None,
    model: str = "",
    options: dict[str, Any] | None = None,
) -> tuple[CleaningRun, ChosenModels]:
    """A run that is not stored, with what is frozen of it, and whom it asks; nothing is checked."""
    config = DEFAULTS | (options or {})
    chosen = choose_models(preset, endpoint, model, config["embedder"])
    agents = AGENTS.get(preset, ())
    if preset == CleaningPreset.DCHUNK:
        config["embedder"] = config["embedder"] or (BY_MODEL if chosen.endpoint else BY_LSA)
    else:
        del config["embedder"]
    if not agents or not config["reasoning_effort"]:
        # Not part of what was asked: pages of runs before there was such a choice stay known.
        del config["reasoning_effort"]
    if chosen.splitter:
        config["splitter"] = {
            "endpoint": chosen.splitter.name,
            "model": chosen.splitter.default_model,
        }
    config["prompts"] = {role: prompt(role).sha256 for role in agents}
    run = CleaningRun(
        benchmark=source.benchmark,
        source=source,
        preset=preset,
        policy=policy,
        config=config,
        endpoint=chosen.endpoint.name if chosen.endpoint else "",
        model=chosen.model[:120],
        practice=chosen.is_practice,
    )
    return run, chosen


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
        for each in (run, *run.followers.all()):
            wake(each)


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


def taken_names(benchmark: Benchmark) -> QuerySet[CorpusVersion]:
    """The versions whose names nobody may take: all but what cancelled runs have left."""
    return benchmark.versions.exclude(made_by__status=RunStatus.CANCELLED)


def _begin_version(run: CleaningRun) -> CorpusVersion:
    layers = CorpusVersion.objects.filter(pk__in=run.source.layers)
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
            "pages": NUMBERED if all(each.numbers_pages for each in layers) else GIVEN,
            **({"apart": apart} if (apart := sorted(run.source.apart)) else {}),
            **run.config,
            # A recipe is published: it names models and no endpoint.
            **({"splitter": run.config["splitter"]["model"]} if "splitter" in run.config else {}),
        },
    )
    version.layers = [version.pk]
    version.save(update_fields=["layers"])
    return version


# Readers of what cleanings gained; a room further left measures it.
_gains: list[Callable[[Benchmark], list[MeasuredGain]]] = []


def tell_gains(read: Callable[[Benchmark], list[MeasuredGain]]) -> None:
    """Let whoever sets a cleaning up see what earlier ones gained."""
    _gains.append(read)


def advise(benchmark: Benchmark) -> Advice:
    """The preset that gained most per dollar on this benchmark, or that nothing is known."""
    return advised([each for read in _gains for each in read(benchmark)])


def read_option(name: str, value: str) -> tuple[str, Any]:
    """An option as it is written in a command or an address. Raises Refused."""
    if name not in DEFAULTS:
        raise Refused(f"There is no option {name!r}.", field="options")
    kind = type(DEFAULTS[name])
    if kind is bool:
        return name, value.lower() in ("1", "true", "yes", "on")
    try:
        number = kind(value)
    except ValueError:
        raise Refused(f"{name} is a number, not {value!r}.", field=name) from None
    low, high = BOUNDS.get(name, (None, None))
    if low is not None and high is not None and not low <= number <= high:
        raise Refused(f"{name} is a number from {low} to {high}.", field=name)
    return name, number


def _check(run: CleaningRun, chosen: ChosenModels, name: str, config: dict[str, Any]) -> None:
    benchmark, source = run.benchmark, run.source
    if source.benchmark_id != benchmark.pk or source.state != VersionState.READY:
        raise Refused("Choose a corpus version of this benchmark that is ready.", field="source")
    if run.preset not in CleaningPreset.values:
        known = ", ".join(CleaningPreset.values)
        raise Refused(f"{run.preset!r} is no preset. Take one of {known}.", field="preset")
    if run.policy not in ViolationPolicy.values:
        raise Refused(f"{run.policy!r} is no policy.", field="policy")
    if config["embedder"] not in ("", *EMBEDDERS):
        words = f"The embedder is one of {', '.join(EMBEDDERS)}, or left open."
        raise Refused(words, field="embedder")
    if run.has_calls and chosen.endpoint is None:
        raise Refused("This preset asks a model: choose an endpoint.", field="endpoint")
    if taken_names(benchmark).filter(name=name).exists():
        raise Refused(f"There is a corpus version named {name!r} already.", field="name")
    unknown = config.keys() - DEFAULTS.keys()
    if unknown:
        raise Refused(f"There is no option {sorted(unknown)[0]!r}.", field="options")
    for option, (low, high) in BOUNDS.items():
        value = config[option]
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise Refused(f"{option} is a number.", field=option)
        if not low <= value <= high:
            raise Refused(f"{option} is a number from {low} to {high}.", field=option)
    if config["reasoning_effort"] not in ("", *EFFORTS):
        words = f"The reasoning effort is one of {', '.join(EFFORTS)}, or left to the model."
        raise Refused(words, field="reasoning_effort")
    site = config["site"]
    if not isinstance(site, str) or not site.strip() or len(site) > _MAX_SITE:
        raise Refused(f"site is a text of up to {_MAX_SITE} characters.", field="site")
    if not isinstance(config["single_span"], bool):
        raise Refused("single_span is true or false.", field="single_span")
    texts = Passage.objects.in_version(source).with_text()
    if not texts.exists() and not Document.objects.filter(version__in=source.layers).exists():
        raise Refused("This version holds no text that could be cleaned.", field="source")
