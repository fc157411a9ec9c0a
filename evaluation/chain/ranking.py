"""Steps of a chain that make texts and rankings: cleaning, systems, wordings, rerankings."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import ceil
from typing import Any

from django.db.models import Count, Sum
from django.db.models.functions import Least, Length

from corpus.cleaning.forecast import forecast
from corpus.cleaning.services import start_cleaning
from corpus.computing import services as computing
from corpus.computing.config import freeze
from corpus.computing.methods import BATCH
from corpus.computing.models import Method
from corpus.models import CleaningPreset, CorpusVersion, Passage, Query, QuerySource
from corpus.reranking import services as reranking
from corpus.versions.services import make_current
from corpus.wordings import asking
from corpus.wordings import services as wordings
from evaluation.chain.here import Here, Kind, Lines, Settings, added, given
from evaluation.chain.source import texts
from evaluation.pipelines import services as pipelines
from evaluation.pipelines.plan import PRESETS
from kit.errors import Refused
from kit.runs.models import TrackedRun
from llm import endpoints
from llm.endpoints import Endpoint
from llm.prices import costs
from llm.profiles import CHARACTERS_PER_TOKEN
from llm.requests import Usage


def _clean(here: Here, settings: Settings) -> Sequence[TrackedRun]:
    source = here.version
    if source is None:
        raise Refused("There are no texts to clean. Import some first.")
    preset, chosen = _cleaner(settings)
    return [
        start_cleaning(
            benchmark=here.benchmark,
            source=source,
            preset=preset,
            actor=here.actor,
            endpoint=chosen,
            budget_usd=here.budget if chosen else None,
            **given(settings, "policy name options model"),
        )
    ]


def _cleaner(settings: Settings) -> tuple[str, Endpoint | None]:
    """The preset, and who is asked: nobody for rules."""
    preset = settings.get("preset", CleaningPreset.DIVER_RULES.value)
    chosen = endpoints.get(settings["endpoint"]) if "endpoint" in settings else None
    if chosen is None and preset.startswith("marcus"):
        chosen = next(iter(endpoints.available("cleaner")), None)
    return preset, chosen


def _forecast_clean(here: Here, settings: Settings) -> dict[str, Any]:
    preset, asked = _cleaner(settings)
    if here.version is None or asked is None:
        return {}
    told = forecast(here.version, preset, asked, **given(settings, "model options"))
    return {"calls": told["calls"], "usd": told["usd"]}


def _cleaned(here: Here, settings: Settings, runs: Sequence[Any]) -> dict[str, Any]:
    version = runs[0].version
    current = CorpusVersion.objects.current(here.benchmark)
    if settings.get("current", True) and current is not None and current != version:
        make_current(version=version, seen=current.pk, actor=here.actor)
        here.benchmark.refresh_from_db(fields=["taken_up"])
    return {"version": version.pk, "systems": []}


def _systems(here: Here, settings: Settings) -> Sequence[TrackedRun]:
    asked = settings.get("systems") or [{"method": "bm25"}]
    paid = here.share(len(_paid(settings)))
    return [_system(here, each, paid) for each in asked]


def _paid(settings: Settings) -> list[Mapping[str, Any]]:
    """The systems that ask a model."""
    asked = settings.get("systems", ())
    return [each for each in asked if each.get("method") == Method.EMBEDDINGS]


def _forecast_systems(here: Here, settings: Settings) -> dict[str, Any]:
    paid, version = _paid(settings), here.version
    return added([_embedded(here, version, each) for each in paid]) if paid and version else {}


def _embedded(here: Here, version: CorpusVersion, asked: Mapping[str, Any]) -> dict[str, Any]:
    """What vectors of all texts and queries are likely to take; those kept from before are free."""
    config = freeze(here.benchmark, Method.EMBEDDINGS, _config(here, asked))
    calls = tokens = 0
    for rows, name in (
        (Passage.objects.in_version(version).with_text(), "document"),
        (Query.objects.in_benchmark(here.benchmark).exclude(text=""), "query"),
    ):
        length = Length("text") + len(config[f"{name}_prefix"])
        kept = Least(length, config[f"{name}_tokens"] * CHARACTERS_PER_TOKEN)
        for _, n, total in (
            rows.order_by().values_list("domain").annotate(n=Count("pk"), length=Sum(kept))
        ):
            calls += ceil(n / BATCH)
            tokens += ceil(total / CHARACTERS_PER_TOKEN)
    endpoint = replace(endpoints.get(config["endpoint"]), default_model=config["model"])
    return {"calls": calls, **costs(Usage(input=tokens, output=0), endpoint)}


def _config(here: Here, asked: Mapping[str, Any]) -> dict[str, Any]:
    """A system's settings, with the keys of the runs and queries that it names. Raises Refused."""
    config = {name: value for name, value in asked.items() if name not in ("method", "name")}
    if "runs" in config:
        config["runs"] = [run.pk for run in here.systems(config["runs"])]
    if isinstance(words := config.get("queries"), str):
        source = QuerySource.objects.filter(benchmark=here.benchmark, name=words).first()
        if source is None:
            raise Refused(f"There are no queries in other words named {words!r}.")
        config["queries"] = source.pk
    return config


def _system(here: Here, asked: Mapping[str, Any], paid: Any) -> TrackedRun:
    method, config = str(asked.get("method", "bm25")), _config(here, asked)
    return computing.start(
        benchmark=here.benchmark,
        method=method,
        config=config,
        name=str(asked.get("name", "")),
        version=None if "runs" in config else here.version,
        budget_usd=paid if method == "embeddings" else None,
        actor=here.actor,
    )


def _expand(here: Here, settings: Settings) -> Sequence[TrackedRun]:
    method, options = settings.get("method", asking.QEXPAND), settings.get("options", {})
    wordings.checked_config(method, options)  # what a plan names is a setting, and nothing else
    return [
        wordings.start_expansion(
            benchmark=here.benchmark,
            method=method,
            retriever=_worded(here, settings),
            **here.asking(settings, wordings.ROLE),
            **given(settings, "name"),
            **options,
        )
    ]


def _worded(here: Here, settings: Settings) -> Any:
    """The retriever whose passages the model reads: rewriting needs none."""
    needs = settings.get("method", asking.QEXPAND) == asking.QEXPAND
    name = settings.get("retriever")
    return here.system(name) if needs or name else None


def _forecast_expand(here: Here, settings: Settings) -> dict[str, Any]:
    method = settings.get("method", asking.QEXPAND)
    config = wordings.checked_config(method, settings.get("options", {}))
    endpoint = here.endpoint(settings, wordings.ROLE)
    return added([wordings.forecast(here.benchmark, method, endpoint, config)])


def _rerank(here: Here, settings: Settings) -> Sequence[TrackedRun]:
    method, chosen = _reranked(here, settings)
    asked: dict[str, Any] = {"actor": here.actor}
    if role := reranking.role_of(method):
        asked = here.asking(settings, role, len(chosen))
    options = settings.get("options", {})
    for run in chosen:
        reranking.checked_config(run, method, options)
    return [
        reranking.start_rerank(
            benchmark=here.benchmark,
            source=run,
            method=method,
            **asked,
            **options,
        )
        for run in chosen
    ]


def _reranked(here: Here, settings: Settings) -> tuple[str, list[Any]]:
    """The method, and the runs that are put into another order. Raises Refused."""
    chosen = here.systems(settings.get("runs", ()))
    if not chosen:
        raise Refused("There is no retrieval run to rerank yet.")
    return settings.get("method", "pointwise"), chosen


def _forecast_rerank(here: Here, settings: Settings) -> dict[str, Any]:
    method, chosen = _reranked(here, settings)
    role = reranking.role_of(method)
    endpoint = here.endpoint(settings, role) if role else None
    told = []
    for run in chosen:
        config = reranking.checked_config(run, method, settings.get("options", {}))
        told.append(reranking.forecast(run, method, endpoint, config))
    return added(told)


def _piped(here: Here, settings: Settings) -> dict[str, Any]:
    """What a pipeline and its forecast are made of. Raises Refused."""
    return {
        "preset": settings.get("preset", PRESETS[0]),
        "retriever": here.system(settings.get("retriever")),
        "expander": here.endpoint(settings, wordings.ROLE, "expander"),
        "reranker": here.endpoint(settings, reranking.role_of("pointwise"), "reranker"),
        **given(settings, "profile depth repeats skip_probe"),
    }


def _pipeline(here: Here, settings: Settings) -> Sequence[TrackedRun]:
    return [
        pipelines.start_pipeline(
            benchmark=here.benchmark,
            actor=here.actor,
            budget_usd=here.budget,
            **_piped(here, settings),
            **given(settings, "name"),
        )
    ]


def _forecast_pipeline(here: Here, settings: Settings) -> dict[str, Any]:
    return added([pipelines.forecast(here.benchmark, **_piped(here, settings))])


def _made(runs: Sequence[Any]) -> list[Any]:
    """The retrieval runs that computations, expansions, rerankings and pipelines became."""
    return [run for each in runs if (run := each.run) is not None]


def _ranked(here: Here, settings: Settings, runs: Sequence[Any]) -> dict[str, Any]:
    own = here.left.get("systems", [])
    return {"systems": [*own, *(run.pk for run in _made(runs))]}


def _lists(here: Here, runs: Sequence[Any]) -> Lines:
    return [(run.name, run.digest) for run in _made(runs)]


def _wordings(here: Here, runs: Sequence[Any]) -> Lines:
    rows = runs[0].source.wordings.order_by("query__domain__name", "query__qid", "pk")
    return rows.values_list("query__domain__name", "query__qid", "text").iterator()


RANKING = {
    "clean": Kind(_clean, _cleaned, lambda here, runs: texts(here), forecast=_forecast_clean),
    "systems": Kind(_systems, _ranked, _lists, forecast=_forecast_systems),
    "expand": Kind(_expand, _ranked, _wordings, forecast=_forecast_expand),
    "rerank": Kind(_rerank, _ranked, _lists, forecast=_forecast_rerank),
    "pipeline": Kind(_pipeline, _ranked, _lists, forecast=_forecast_pipeline),
}
