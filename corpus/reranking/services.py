"""Setting up a reranking: what is frozen, what it would take, what people do about it; and
the first passages of a query as a retrieval run ranked them, and which are relevant."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import groupby
from typing import Any, Final

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q

from corpus.judgments.models import PEOPLE
from corpus.lists import unused_name
from corpus.models import Benchmark, Passage, Query, RankedList, RetrievalRun
from corpus.options import Setting, as_settings, frozen
from corpus.pooling import Ranking, top
from corpus.reranking import asking
from corpus.reranking.models import RerankItem, RerankMethod, RerankRun, RerankState
from corpus.reranking.probing import first_asked
from corpus.reranking.rules import FUSIONS, LOGARITHM, PARSERS, by_place
from corpus.retrieval.toplist import scaled
from corpus.versions.effective import effective_labels
from corpus.versions.excluded import excluded_in
from corpus.versions.services import stored
from kit.errors import Refused
from kit.runs.models import RunStatus
from kit.runs.moves import retry_items
from llm.endpoints import RERANKER, Endpoint, fence_key, in_role
from llm.ledger.accounts import asked_of, start_asking
from llm.prices import costs
from llm.profiles import likely_input, likely_thoughts
from llm.requests import EFFORTS, Usage
from llm.reranking import BATCH, JINA, WIRES

AS_IT_IS: Final = "as it is"
MIN_MAX: Final = "min-max"
PLACES: Final = "places"


@dataclass(frozen=True)
class Candidates:
    """Passages in the retriever's order, with its scores as they came and from 0 to 1."""

    pids: list[str]
    raw: list[float]
    retriever: list[float]

    def only(self, known: Collection[str]) -> "Candidates":
        """Those of them that are known."""
        places = [n for n, pid in enumerate(self.pids) if pid in known]
        return Candidates(*([each[n] for n in places] for each in self._lists))

    @property
    def _lists(self) -> tuple[list[Any], list[Any], list[Any]]:
        return self.pids, self.raw, self.retriever


def scheme_of(run: RetrievalRun) -> str:
    """How a run's scores come to lie between 0 and 1 (docs/protocol.md 5.3, 5.4).

    A hybrid's do already; of others by min-max over each query's whole list; of a run without
    scores by the places.
    """
    if RankedList.objects.filter(run=run, scores__isnull=True).exists():
        return PLACES
    return AS_IT_IS if run.provenance.get("method") == "hybrid" else MIN_MAX


def candidates_of(
    run: RetrievalRun, queries: Sequence[Query], *, depth: int, scheme: str
) -> dict[int, Candidates]:
    """The first `depth` passages of each query, without those that it excludes."""
    version = stored(run.benchmark, run.corpus_version_id)
    excluded = excluded_in(version, queries) if version else {}
    found = {}
    for each in RankedList.objects.filter(run=run, query__in=[query.pk for query in queries]):
        ranking = Ranking(each.pids, each.scores)
        listed = top(ranking, len(each.pids), excluded=excluded.get(each.query_id, ()))
        raw = {pid: len(listed) - n if score is None else score
               for n, (pid, score) in enumerate(listed)}  # fmt: skip
        own = raw if scheme == AS_IT_IS else scaled(raw)
        first = list(raw)[:depth]
        found[each.query_id] = Candidates(
            first, [float(raw[pid]) for pid in first], [float(own[pid]) for pid in first]
        )
    return found


def relevant_of(run: RetrievalRun, queries: Sequence[Query]) -> dict[int, set[str]]:
    """The ids that are relevant to each query by the gold: imported, or given by people.

    Everybody sees a run's order, so labels that may not be shown now take no part, nor do those
    of machines.
    """
    version = stored(run.benchmark, run.corpus_version_id)
    if version is None:
        return {}
    about = Q(query__in=[query.pk for query in queries])
    pairs = [
        (each.query, each.passage)
        for each in effective_labels(version, about=about, shown_only=True).labels
        if (each.given.label if each.given and each.given.source in PEOPLE else each.base or 0) > 0
    ]
    names: Mapping[int, str] = dict(
        Passage.objects.filter(pk__in={pk for _, pk in pairs}).order_by().values_list("pk", "pid")
    )
    by_query = groupby(sorted(pairs), key=lambda pair: pair[0])
    return {query: {names[pk] for _, pk in group} for query, group in by_query}


SEED: Final = 666
# How a score and the retriever's come to one (docs/protocol.md 5.4).
INTERPOLATE, TIE_BREAK, ALONE = MIXES = ("interpolate", "tie-break", "alone")
MIX_WORDS: Final = {
    INTERPOLATE: "interpolated with the retriever’s",
    TIE_BREAK: "100 times the score, plus the retriever’s own",
    ALONE: "the score alone",
}
_CHARS: Final = (200, 200_000)
_DEPTH: Final = {"depth": Setting(int, 100, 1, 1000)}
_ASKED: Final = {
    "parser": Setting(str, PARSERS[0], high=20),
    "family": Setting(str, asking.AUTO, high=40),
    # None is as the parser's sampling has it.
    "temperature": Setting(float, None, 0, 2),
    "top_p": Setting(float, None, 0.01, 1),
    "output_tokens": Setting(int, None, 16, 100_000),
    "reasoning_effort": Setting(str, "", high=10),
    "skip_probe": Setting(bool, False),
}
_WEIGHT: Final = {"weight": Setting(float, 0.6, 0, 1)}
_MIXED: Final = _DEPTH | {"mix": Setting(str, INTERPOLATE, high=12)} | _WEIGHT | _ASKED
_SHORT: Final = {"document_chars": Setting(int, 3_000, *_CHARS)}
_TEMPLATE: Final = Setting(str, "", high=4_000)
# What each method may be set to. A listwise call holds all documents: they are shown shorter.
SETTINGS: Final[dict[str, dict[str, Setting]]] = {
    asking.POINTWISE: _MIXED | {"document_chars": Setting(int, 60_000, *_CHARS)},
    asking.LISTWISE: _DEPTH | _ASKED | _SHORT,
    asking.GROUPWISE: _MIXED
    | _SHORT
    | {
        "group_size": Setting(int, 20, 2, 100),
        "repeats": Setting(int, None, 1, 20),
        "seed": Setting(int, SEED, 0, 2**31),
    },
    asking.ENDPOINT: _DEPTH
    | {"mix": Setting(str, ALONE, high=12)}
    | _WEIGHT
    | {
        "document_chars": Setting(int, 24_000, *_CHARS),
        "query_template": _TEMPLATE,
        "document_template": _TEMPLATE,
        "skip_probe": Setting(bool, False),
    },
    asking.ORACLE: _DEPTH,
    asking.MERGE: _DEPTH | _WEIGHT | {"fusion": Setting(str, LOGARITHM, high=10)},
}
CHOICES: Final[dict[str, tuple[str, ...]]] = {
    "parser": PARSERS,
    "family": (asking.AUTO, *asking.FAMILIES),
    "mix": MIXES,
    "fusion": FUSIONS,
    "reasoning_effort": ("", *EFFORTS),
}
# Tokens of an answer, for forecasts.
_LIKELY_OUTPUT: Final = {asking.POINTWISE: 10, asking.LISTWISE: 900, asking.GROUPWISE: 500}


def role_of(method: str) -> str:
    """The role whose endpoint is asked; "" where nobody is."""
    if method == asking.ENDPOINT:
        return RERANKER
    return "judge" if method in asking.ROLES else ""


def is_probed(method: str, endpoint: Endpoint | None, config: Mapping[str, Any]) -> bool:
    """Whether ten pairs of known order are tried first: on every server, and on every model but
    the practice model, which costs nothing."""
    if endpoint is None or config.get("skip_probe"):
        return False
    return method == asking.ENDPOINT or not endpoint.is_practice


def start_rerank(
    *,
    benchmark: Benchmark,
    source: RetrievalRun,
    method: str,
    actor: User | None,
    endpoint: Endpoint | None = None,
    second: RetrievalRun | None = None,
    name: str = "",
    budget_usd: Decimal | None = None,
    claimed: bool = False,
    **options: Any,
) -> RerankRun:
    """Rerank the first passages of every query of a retrieval run, and wake a worker.

    `options` are those of SETTINGS. `claimed` keeps it for the calling process. Raises Refused,
    naming the field.
    """
    config = checked_config(source, method, options, second)
    endpoint = _checked(endpoint, method) if role_of(method) else None
    lists = RankedList.objects.filter(run=source).order_by("query_id")
    if not (queries := list(lists.values_list("query", flat=True))):
        raise Refused(f"{source.name} ranks nothing.", field="source")
    asked = asked_of(endpoint) if endpoint else {"calls_in_flight": settings.ASSAY_CALLS_IN_FLIGHT}
    if method == asking.ENDPOINT:
        config["wire"] = _wire(endpoint)
    method_name = RerankMethod(method).label
    how = asked.get("model") or (second.name if second else method_name)
    label = name.strip() or f"{source.name}, {method_name.lower()}: {how}"
    is_practice = any(each.provenance.get("practice") for each in (source, second) if each)
    run = RerankRun(
        benchmark=benchmark,
        name=unused_name(label[:190], names_taken(benchmark, source)),
        method=method,
        source=source,
        second=second,
        config=config,
        **asked | {"practice": asked.get("practice") or is_practice},
        budget_usd=budget_usd if endpoint else None,
        total=len(queries),
    )
    items = [RerankItem(run=run, query_id=query) for query in queries]
    said: dict[str, Any] = {"verb": "start reranking", "method": method, "source": source.pk}
    return start_asking(run, items, actor=actor, claimed=claimed, **said)


def checked_config(
    source: RetrievalRun,
    method: str,
    options: Mapping[str, Any],
    second: RetrievalRun | None = None,
) -> dict[str, Any]:
    """What a run is frozen to. Raises Refused, naming the field."""
    if method not in SETTINGS:
        raise Refused(f"There is no method {method!r}: {', '.join(SETTINGS)}.", field="method")
    whose = RerankMethod(method).label
    config = _filled(method, frozen(SETTINGS[method], options, CHOICES, whose=whose))
    for name in ("query", "document"):
        if template := config.get(f"{name}_template"):
            if f"{{{name}}}" not in template:
                raise Refused(
                    f"The template needs {{{name}}} where the text goes.", field=f"{name}_template"
                )
            config[f"{name}_template"] = template.replace("\r\n", "\n")
    is_merge = method == asking.MERGE
    if is_merge != (second is not None) or second == source:
        raise Refused("A merge, and nothing else, has a second run, another one.", field="second")
    if second and second.corpus_version_id != source.corpus_version_id:
        raise Refused("These runs rank different corpus versions.", field="second")
    return config | {"scheme": scheme_of(source), "prompt": asking.digest_of(method)}


def settings_of(run: RerankRun) -> asking.Settings:
    """The reranker as it was frozen. Raises Refused where its prompt changed since."""
    if asking.digest_of(run.method) != run.config["prompt"]:
        raise Refused("The prompt changed since this run was made; start a new run.")
    return _settings(run.method, run.endpoint, run.model, run.config)


def retry_failed(*, run: RerankRun, actor: User | None) -> None:
    """Try the failed queries again, and these alone. Raises Refused where none failed.

    What was answered comes from the ledger and is not paid again.
    """
    retry_items(run, run.items.all(), actor=actor, noun="query", nouns="queries")


def keep_failed(*, run: RerankRun, actor: User | None) -> None:
    """Let the failed queries stay as the retriever ranked them, so that the run can be published.
    Raises Refused where none failed."""
    with transaction.atomic():
        failed = list(run.items.filter(state=RerankState.FAILED).select_related("query"))
        names = {"noun": "query", "nouns": "queries", "verb": "keep"}
        retry_items(run, run.items.all(), actor=actor, **names)
        depth, scheme = run.config["depth"], run.config["scheme"]
        found = candidates_of(run.source, [e.query for e in failed], depth=depth, scheme=scheme)
        for each in failed:
            each.state, each.pids = RerankState.KEPT, found[each.query_id].pids
            each.scores = list(by_place(range(len(each.pids))).values())
        fields = ["state", "pids", "scores", "error"]  # why it failed stays
        RerankItem.objects.bulk_update(failed, fields, batch_size=200)
        run.done = run.items.exclude(state=RerankState.WAITING).count()
        run.save(update_fields=["done"])


def forecast(
    source: RetrievalRun, method: str, endpoint: Endpoint | None, config: Mapping[str, Any]
) -> dict[str, Any]:
    """What a reranking is likely to take; `usd` is None where the model has no known price.

    By the mean length of the newest queries and passages, and by what is asked first.
    """
    config, depth = _filled(method, config), min(config["depth"], source.depth)
    queries = Query.objects.filter(ranked_lists__run=source).order_by("-pk")[:200]
    shown = min(config.get("document_chars", 0), Passage.objects.mean_length(queries)) or 1
    found = {"queries": source.query_count, "calls": 0, "input_tokens": 0, "output_tokens": 0}
    if not role_of(method):
        return found | {"usd": Decimal(0)}
    model = endpoint.default_model if endpoint else ""
    who = _settings(method, "", model, {**config, "wire": _wire(endpoint)})
    length = sum(len(each.text) for each in queries) // max(1, len(queries))
    task = asking.Task("x" * length, ["x" * shown] * depth, orders=[range(depth)])
    first = asking.first_requests(task, who, fence_key())
    each = {
        asking.POINTWISE: depth,
        asking.GROUPWISE: config.get("repeats", 1) * len(first),
    }.get(method, len(first))
    calls = source.query_count * each
    tried = first_asked(who, fence_key()) if is_probed(method, endpoint, config) else []
    once, pairs = (sum(r.most_counted or likely_input(r) for r in e) for e in (first, tried))
    likely = _LIKELY_OUTPUT.get(method, 0)
    if likely:
        likely += likely_thoughts(model, config.get("reasoning_effort", ""))
    tokens = calls * once // max(1, len(first)) + pairs
    calls += len(tried)
    usage = Usage(input=tokens, output=calls * likely)
    return found | {"calls": calls, **costs(usage, endpoint)}


def names_taken(benchmark: Benchmark, source: RetrievalRun) -> set[str]:
    """Names of runs of the same corpus version, and of rerankings that are not over."""
    version = source.corpus_version_id
    made = RetrievalRun.objects.filter(benchmark=benchmark, corpus_version=version)
    open_ = benchmark.rerank_runs.filter(run=None).exclude(status=RunStatus.CANCELLED)
    return {*made.values_list("name", flat=True), *open_.values_list("name", flat=True)}


def _filled(method: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration with what it leaves open as its parser draws."""
    usual = asking.SAMPLING.get((config.get("parser", ""), method), {})
    return {**config, **{n: v for n, v in usual.items() if config.get(n) is None}}


def _settings(method: str, endpoint: str, model: str, config: Mapping[str, Any]) -> asking.Settings:
    own = {"method": method, "endpoint": endpoint, "model": model, "batch": BATCH}
    return as_settings(asking.Settings, config, **own)


def _wire(endpoint: Endpoint | None) -> str:
    """How a rerank server is asked; the practice model speaks as Jina does."""
    return endpoint.api if endpoint and endpoint.api in WIRES else JINA


def _checked(endpoint: Endpoint | None, method: str) -> Endpoint:
    if endpoint is None:
        raise Refused("This method asks a model: choose an endpoint.", field="endpoint")
    is_server = endpoint.api in WIRES
    if endpoint.is_practice:
        return in_role(endpoint, role_of(method))
    if method == asking.ENDPOINT and not is_server:
        raise Refused(
            f"The endpoint {endpoint.name} is no rerank server: its entry needs an `api` of "
            f"{', '.join(WIRES)} (docs/endpoints.md).",
            field="endpoint",
        )
    if method != asking.ENDPOINT and is_server:
        raise Refused(f"{endpoint.name} is a rerank server and writes nothing.", field="endpoint")
    return in_role(endpoint, role_of(method))
