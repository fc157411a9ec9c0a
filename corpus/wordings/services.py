"""Setting up an expansion: what is frozen, what it would take, what people do about it."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from django.contrib.auth.models import User
from django.db import transaction

from corpus.computing.config import DEPTH
from corpus.lists import unused_name
from corpus.models import (
    Benchmark,
    ExpansionItem,
    ExpansionMethod,
    ExpansionRun,
    ExpansionState,
    Query,
    RetrievalRun,
    RunComputation,
)
from corpus.options import Setting, as_settings, frozen
from corpus.texts import tokens
from corpus.wordings import asking
from kit.errors import Refused
from kit.runs.models import RunStatus
from kit.runs.moves import retry_items
from llm.endpoints import Endpoint, fence_key, in_role
from llm.ledger.accounts import asked_of, start_asking
from llm.prices import costs
from llm.profiles import likely_input, likely_thoughts
from llm.requests import EFFORTS, Usage

ROLE: Final = "answerer"
_FLAG: Final = Setting(bool, False)
_SHARED: Final = {
    "depth": DEPTH,
    "prompt_tokens": Setting(int, 16_000, 500, 1_000_000),
    "tokenizer": Setting(str, tokens.CHARACTERS, high=tokens.LONGEST_NAME),
    "top_p": Setting(float, 1.0, 0.01, 1),
    "reasoning_effort": Setting(str, "", high=10),
}
# What each method may be set to: the rewriting as BRIGHT's code does it, QExpand as DIVER's script.
SETTINGS: Final[dict[str, dict[str, Setting]]] = {
    asking.REWRITE: {
        **_SHARED,
        "top_p": Setting(float, 0.8, 0.01, 1),
        "temperature": Setting(float, 0.8, 0, 2),
        "output_tokens": Setting(int, 2_048, 16, 100_000),
    },
    asking.QEXPAND: {
        "profile": Setting(str, asking.STRICT, high=10),
        "rounds": Setting(int, 2, 1, 5),
        "passages": Setting(int, 5, 1, 50),
        "passage_tokens": Setting(int, 512, 16, 100_000),
        **_SHARED,
        "temperature": Setting(float, 0.7, 0, 2),
        "output_tokens": Setting(int, 32_768, 16, 100_000),
        # None is as many as the profile draws.
        "samples": Setting(int, None, 1, 8),
        "stops_early": _FLAG,
        "reasoning_free": _FLAG,
    },
}
CHOICES: Final[dict[str, tuple[str, ...]]] = {
    "profile": asking.PROFILES,
    "reasoning_effort": ("", *EFFORTS),
}
# Tokens of an answer, for forecasts.
_LIKELY_OUTPUT: Final = {asking.REWRITE: 600, asking.QEXPAND: 400}


def start_expansion(
    *,
    benchmark: Benchmark,
    method: str,
    endpoint: Endpoint | None,
    actor: User | None,
    retriever: RetrievalRun | None = None,
    name: str = "",
    budget_usd: Decimal | None = None,
    claimed: bool = False,
    **options: Any,
) -> ExpansionRun:
    """Have every query with a text put into other words, and wake a worker.

    `options` are those of SETTINGS. `claimed` keeps it for the calling process. Raises Refused,
    naming the field.
    """
    config = checked_config(method, options)
    check_retriever(retriever, method)
    if endpoint is None:
        raise Refused("Queries are worded by a model: choose an endpoint.", field="endpoint")
    endpoint = in_role(endpoint, ROLE)
    queries = list(_queries(benchmark).values_list("pk", flat=True))
    if not queries:
        raise Refused("No query has a text yet. Import some first.")
    by_practice = retriever and retriever.provenance.get("practice")
    made_up = f"{retriever.name + ', ' if retriever else ''}{method}: {endpoint.default_model}"
    label = name.strip() or made_up
    run = ExpansionRun(
        benchmark=benchmark,
        name=unused_name(label[:180], names_taken(benchmark, retriever)),
        method=method,
        retriever=retriever,
        config=config,
        **asked_of(endpoint) | {"practice": endpoint.is_practice or bool(by_practice)},
        budget_usd=budget_usd,
        total=len(queries),
    )
    items = [ExpansionItem(run=run, query_id=query) for query in queries]
    said: dict[str, Any] = {"method": method, "retriever": retriever and retriever.pk}
    return start_asking(run, items, actor=actor, verb="start expansion", claimed=claimed, **said)


def checked_config(method: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """What a run is frozen to. Raises Refused, naming the field."""
    if method not in SETTINGS:
        raise Refused(f"There is no method {method!r}: {', '.join(SETTINGS)}.", field="method")
    whose = ExpansionMethod(method).label
    config = frozen(SETTINGS[method], options, CHOICES, whose=whose)
    tokens.check(config["tokenizer"])
    if config.get("samples", 1) is None:
        config["samples"] = asking.SAMPLES[config["profile"]]
    return config | {"prompt": asking.digest_of(method)}


def check_retriever(retriever: RetrievalRun | None, method: str) -> None:
    """Raises Refused for a run without an index, or one that ranked other words already."""
    if retriever is None:
        if method == asking.QEXPAND:
            raise Refused("QExpand reads what a retriever finds: choose one.", field="retriever")
        return
    made = RunComputation.objects.filter(run=retriever).first()
    if made is None:
        raise Refused(
            f"{retriever.name} was not computed here: it has lists, and no index to ask.",
            field="retriever",
        )
    if made.config.get("queries"):
        raise Refused(
            f"{retriever.name} ranked queries in other words. Choose one that ranked them as "
            "they are.",
            field="retriever",
        )


def retrievers_of(benchmark: Benchmark) -> Any:
    """The runs whose index can be asked, by name."""
    rows = RetrievalRun.objects.filter(benchmark=benchmark, computation__isnull=False)
    rows = rows.exclude(computation__config__has_key="queries").select_related("corpus_version")
    return rows.order_by("corpus_version", "name")


def settings_of(run: ExpansionRun) -> asking.Settings:
    """How queries are worded, as frozen. Raises Refused where a prompt changed since."""
    if asking.digest_of(run.method) != run.config["prompt"]:
        raise Refused("The prompt changed since this run was made; start a new run.")
    return _settings(run.method, run.endpoint, run.model, run.config)


def retry_failed(*, run: ExpansionRun, actor: User | None) -> None:
    """Try the failed queries again, and these alone. Raises Refused where none failed."""
    retry_items(run, run.items.all(), actor=actor, noun="query", nouns="queries")


def keep_failed(*, run: ExpansionRun, actor: User | None) -> None:
    """Let the failed queries stay as they are, so that the rest can be published. Raises Refused
    where none failed."""
    with transaction.atomic():
        names = {"noun": "query", "nouns": "queries", "verb": "keep"}
        retry_items(run, run.items.all(), actor=actor, **names)
        run.waiting_items().update(state=ExpansionState.KEPT)
        run.done = run.total
        run.save(update_fields=["done"])


def forecast(
    benchmark: Benchmark,
    method: str,
    endpoint: Endpoint | None,
    config: Mapping[str, Any],
) -> dict[str, Any]:
    """What an expansion is likely to take, by the length of the newest queries; `usd` is None
    where the model has no known price. Passages count as long as they may be shown."""
    newest = list(_queries(benchmark).order_by("-pk")[:200])
    count = _queries(benchmark).count()
    model = endpoint.default_model if endpoint else ""
    who = _settings(method, "", model, config)
    text = "x" * (sum(len(each.text) for each in newest) // max(1, len(newest)))
    shown = asking.Shown((), ("x " * 2 * who.passage_tokens,) * who.passages)
    answer = "x" * 4 * _LIKELY_OUTPUT[method]
    asked = [
        likely_input(asking.request_of(
            asking.prompt_for(text, shown, answer if number else "", who, fence_key()), who
        ))
        for number in range(who.rounds)
    ]  # fmt: skip
    output = _LIKELY_OUTPUT[method] + likely_thoughts(model, who.reasoning_effort)
    calls = count * who.rounds * who.samples
    usage = Usage(input=count * who.samples * sum(asked), output=calls * output)
    return {"queries": count, "calls": calls, **costs(usage, endpoint)}


def names_taken(benchmark: Benchmark, retriever: RetrievalRun | None) -> set[str]:
    """Names of query sources, of expansions that are not over, and of the retrieval runs that
    stand beside what they become."""
    version = retriever.corpus_version_id if retriever else None
    made = RetrievalRun.objects.filter(benchmark=benchmark, corpus_version=version)
    open_ = benchmark.expansions.filter(source=None).exclude(status=RunStatus.CANCELLED)
    rows = (made, benchmark.query_sources.all(), open_)
    return {name for each in rows for name in each.values_list("name", flat=True)}


def _queries(benchmark: Benchmark) -> Any:
    return Query.objects.in_benchmark(benchmark).exclude(text="").order_by("pk")


def _settings(method: str, endpoint: str, model: str, config: Mapping[str, Any]) -> asking.Settings:
    own = {"method": method, "endpoint": endpoint, "model": model}
    return as_settings(asking.Settings, config, **own)
