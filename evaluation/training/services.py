"""Setting up runs that make training data, what they are likely to take, and asking people.

A written document that repeats a passage or an answer of the benchmark is rejected: who is trained
on it has seen what it will be measured by.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import islice
from typing import Any, Final

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Exists, F, OuterRef

from annotate.models import CaseKind, CaseStatus, EscalationCase, ReferenceAnswer
from annotate.voting.cases import open_case
from corpus.judgments.models import PEOPLE
from corpus.judgments.services import lock_queries
from corpus.lists import unused_name
from corpus.models import Benchmark, CorpusVersion, Judgment, Passage, Query, RetrievalRun
from corpus.options import Setting, as_settings, frozen
from corpus.versions.effective import gold_of
from corpus.versions.services import stored
from debate.audits.services import add_fillers
from debate.models import Debate
from evaluation.agents.services import mean_tokens
from evaluation.training import asking
from evaluation.training.models import (
    DocumentUse,
    TrainingDocument,
    TrainingItem,
    TrainingRun,
)
from evaluation.training.reading import candidates
from evaluation.training.repeats import Repeats
from evaluation.training.words import LANGUAGES
from kit import audit
from kit.database.reading import in_key_order
from kit.errors import Refused
from kit.runs.heartbeat import Heartbeat
from kit.runs.models import RunStatus
from kit.runs.moves import retry_items
from kit.stats.proportions import Proportion, proportion
from kit.stats.sampling import draw
from llm.endpoints import Endpoint, fence_key, in_role
from llm.ledger.accounts import asked_of, start_asking
from llm.prices import costs
from llm.profiles import likely_input, likely_thoughts
from llm.requests import EFFORTS, Usage

ROLE: Final = "judge"
SETTINGS: Final[dict[str, Setting]] = {
    "depth": Setting(int, 10, 0, 100),
    "labels": Setting(int, 5, 0, 100),
    "positives": Setting(int, 1, 0, asking.MOST_WRITTEN),
    "negatives": Setting(int, 1, 0, asking.MOST_WRITTEN),
    "shortest": Setting(int, 400, 10, 4_000),
    "longest": Setting(int, 800, 10, 8_000),
    "least_chars": Setting(int, 300, 50, 10_000),
    "likeness": Setting(float, 0.5, 0.05, 1),
    "language": Setting(str, "", high=20),
    "document_chars": Setting(int, 12_000, 200, 200_000),
    "temperature": Setting(float, 0.7, 0, 2),
    "reasoning_effort": Setting(str, "", high=10),
}
CHOICES: Final[dict[str, tuple[str, ...]]] = {
    "language": ("", *LANGUAGES),
    "reasoning_effort": ("", *EFFORTS),
}
MOST_ASKED: Final = 1_000
# Tokens of an answer, a guess for forecasts; a word is one and a third.
_LIKELY: Final = {asking.GRADE: 60, asking.NEGATIVE: 300}


def start_training(
    *,
    benchmark: Benchmark,
    source: RetrievalRun | None,
    endpoint: Endpoint,
    actor: User | None,
    domain: str = "",
    name: str = "",
    budget_usd: Decimal | None = None,
    claimed: bool = False,
    **options: Any,
) -> TrainingRun:
    """Make training data of every query, and wake a worker.

    `options` are those of SETTINGS. `claimed` keeps it for the calling process. Raises Refused,
    naming the field.
    """
    config = checked_config(options, source) | {"domain": domain}
    endpoint = in_role(endpoint, ROLE)
    if domain and not benchmark.domains.ready().filter(name=domain).exists():
        raise Refused(f"There is no domain {domain!r}.", field="domain")
    queries = candidates(benchmark, domain)
    if not queries:
        raise Refused("No query has a text here.", field="domain")
    version = (
        stored(benchmark, source.corpus_version_id)
        if source
        else CorpusVersion.objects.current(benchmark)
    )
    if source and version is None:
        raise Refused(f"The corpus version that {source.name} ranks is gone.", field="source")
    taken = set(benchmark.training_runs.values_list("name", flat=True))
    made_up = f"Training data by {endpoint.default_model}"
    run = TrainingRun(
        benchmark=benchmark,
        name=unused_name((name.strip() or made_up)[:190], taken),
        source=source,
        corpus_version=version,
        config=config,
        **asked_of(endpoint),
        budget_usd=budget_usd,
        total=len(queries),
    )
    items = [TrainingItem(run=run, query=query) for query in queries]
    said: dict[str, Any] = {"verb": "start training data", "queries": len(queries)}
    return start_asking(run, items, actor=actor, claimed=claimed, **said)


def checked_config(options: Mapping[str, Any], source: RetrievalRun | None) -> dict[str, Any]:
    """What a run is frozen to. Raises Refused, naming the field."""
    config = frozen(SETTINGS, options, CHOICES, whose="Making training data")
    if config["shortest"] > config["longest"]:
        raise Refused("The longest is shorter than the shortest.", field="longest")
    if source is None:
        config["depth"] = 0
    if not any(config[name] for name in ("depth", "labels", "positives")):
        raise Refused("Grade passages, take labels, or write positives.", field="positives")
    return config | {"prompts": asking.digest()}


def settings_of(run: TrainingRun) -> asking.Settings:
    """Who grades and writes, as it was frozen. Raises Refused where a prompt changed since."""
    if asking.digest() != run.config["prompts"]:
        raise Refused("A prompt changed since this run was made; start a new run.")
    return _settings(run.endpoint, run.model, run.config)


def retry_failed(*, run: TrainingRun, actor: User | None) -> None:
    """Try the failed queries again, and these alone; what was answered comes from the ledger and
    is not paid again. Raises Refused where none failed."""
    retry_items(run, run.items.all(), actor=actor, noun="query", nouns="queries")


def close(run: TrainingRun) -> None:
    """Hold what was written against the benchmark's texts, and end the run. Raises LostLease."""
    compared = reject_leaks(run)
    written = run.documents.written()
    leaks = [each for each in written.values_list("leak", flat=True) if each]
    report = {
        "written": written.count(),
        "compared": max(compared, run.report.get("compared", 0)),
        "leaks": len(leaks),
        "gold_leaks": sum(leak["is_gold"] for leak in leaks),
    }
    run.finish(report=report)


def forecast(
    benchmark: Benchmark,
    source: RetrievalRun | None,
    endpoint: Endpoint | None,
    config: Mapping[str, Any],
    domain: str = "",
) -> dict[str, Any]:
    """What a run is likely to take, if no passage is labelled and no reply has to be asked for
    again; `usd` is None without a known price."""
    queries = candidates(benchmark, domain)
    model = endpoint.default_model if endpoint else ""
    who, key = _settings("", model, config), fence_key()
    depth = min(config["depth"], source.depth) if source else 0
    shown = min(mean_tokens(queries), config["document_chars"] // 4)
    counts = {asking.GRADE: depth, asking.POSITIVE: int(config["positives"] > 0),
              asking.NEGATIVE: config["negatives"]}  # fmt: skip
    likely = _LIKELY | {asking.POSITIVE: config["positives"] * config["longest"] * 4 // 3}
    length = sum(len(each.text) for each in queries) // max(1, len(queries))
    usage_in = usage_out = 0
    for role, count in counts.items():
        request = asking.request_of(role, who, key, "x" * length)
        asked = likely_input(request) + (0 if role == asking.POSITIVE else shown)
        usage_in += len(queries) * count * asked
        thoughts = likely_thoughts(model, who.reasoning_effort)
        usage_out += len(queries) * count * (likely[role] + thoughts)
    return {
        "queries": len(queries),
        "calls": len(queries) * sum(counts.values()),
        **costs(Usage(input=usage_in, output=usage_out), endpoint),
    }


def ask_people(*, run: TrainingRun, size: int, seed: int, actor: User | None) -> int:
    """Put a sample of graded pairs before people as cases like any other, who see nothing of the
    grade; how many. In proportion to domain and grade, the same seed draws the same.

    As many disputes of these domains are shown from the passage alone from now on, as for audits of
    debates (`add_fillers`): a case without positions is then not known to be one of these.
    What they decide is a label of theirs. Left out are pairs that people judge or judged, and those
    of queries without a true answer, which nothing could be held against. Written texts are no
    passages and are never asked about. Raises Refused.
    """
    if not 1 <= size <= MOST_ASKED:
        raise Refused(f"Choose 1 to {MOST_ASKED:,} pairs.", field="size")
    if not 0 <= seed < 2**31:
        raise Refused("Choose a seed of at most nine digits.", field="seed")
    if run.status != RunStatus.DONE:
        raise Refused("People are asked when the run is done.")
    pair = {"query": OuterRef("item__query_id"), "passage": OuterRef("passage_id")}
    people = Judgment.objects.filter(source__in=PEOPLE, **pair)
    with transaction.atomic():
        rows = run.documents.graded_pairs().exclude(item__query__answers=[])
        rows = rows.exclude(Exists(EscalationCase.objects.filter(**pair))).exclude(Exists(people))
        strata: dict[tuple[int, str], list[int]] = defaultdict(list)
        columns = ("item__query__domain_id", "use", "pk")
        for domain, use, pk in rows.order_by("pk").values_list(*columns):
            strata[domain, use].append(pk)
        drawn = draw(strata, size, seed)
        if not drawn:
            raise Refused(
                "No graded pair is left whose query has an answer and that people have not judged."
            )
        related = TrainingDocument.objects.select_related("item__query__domain", "passage")
        asked = []
        found = list(related.filter(pk__in=drawn).order_by("pk"))
        lock_queries(each.item.query_id for each in found)  # in one order, whatever was drawn
        for each in found:
            case = _case(each)
            if case.kind == CaseKind.AUDIT:  # else somebody opened one just now
                each.case = case
                asked.append(each)
        TrainingDocument.objects.bulk_update(asked, ["case"])
        fillers = _add_fillers(run, asked)
        # A scope of its own: lists of a benchmark's events are read by people who also vote.
        scope = f"{run.benchmark.slug}#audits"
        data = {"size": len(asked), "seed": seed, "fillers": fillers}
        audit.record(actor=actor, verb="ask about grades", target=run, scope=scope, data=data)
    return len(asked)


def people_said(run: TrainingRun) -> tuple[int, Proportion]:
    """How many pairs people were asked about, and of those they decided how many they labelled
    otherwise than the grade."""
    asked = run.documents.filter(case__isnull=False)
    decided = asked.filter(case__status=CaseStatus.CLOSED, case__label__isnull=False)
    labels = decided.values_list("use", F("case__label"))
    wrong = sum((use == DocumentUse.POSITIVE) != (label > 0) for use, label in labels)
    return asked.count(), proportion(wrong, len(labels), exact=True)


def _case(document: TrainingDocument) -> EscalationCase:
    query = document.item.query
    assert document.passage is not None  # it was graded
    # The pair without any position: shaped as every case is (annotate.voting.snapshot).
    snapshot = {"question": query.text, "answers": list(query.answers), "practice": False,
                "rounds": 0, "positions": []}  # fmt: skip
    return open_case(
        origin=f"training:{document.pk}",
        kind=CaseKind.AUDIT,
        query=query,
        passage=document.passage,
        snapshot=snapshot,
    )


def _add_fillers(run: TrainingRun, asked: Sequence[TrainingDocument]) -> int:
    """Of disputes about pairs, of whatever run, in the domains of what is asked."""
    domains = {each.item.query.domain_id for each in asked}
    pairs = Debate.objects.filter(
        run__benchmark=run.benchmark_id, query__domain__in=domains, aspect=None
    )
    return add_fillers(pairs, domains, f"filler of grades:{run.pk}")


def _settings(endpoint: str, model: str, config: Mapping[str, Any]) -> asking.Settings:
    return as_settings(asking.Settings, config, endpoint=endpoint, model=model)


# Written texts that are held at a time, and passages they are held against at once.
_HELD: Final = 20_000
_AT_ONCE: Final = 1_000


def reject_leaks(run: TrainingRun) -> int:
    """Reject written documents that repeat the benchmark's texts; how many passages and answers
    they were held against. One pass over the corpus for every 20,000. Raises LostLease."""
    compared, after = 0, 0
    gold = set(gold_of(run.corpus_version)) if run.corpus_version else set()
    with Heartbeat(run) as heart:
        while rows := list(_written(run, after)):
            after = rows[-1].pk
            held = Repeats([each.whole for each in rows])
            found: dict[int, dict[str, Any]] = {}
            compared, texts = 0, _texts(run)
            while part := list(islice(texts, _AT_ONCE)):
                heart.step(run.done, run.total)
                compared += len(part)
                for mine, other, share in held.among([text for *_, text in part]):
                    what, key, label, _ = part[other]
                    is_gold = what == "query" or key in gold
                    leak = {what: key, "is": label, "share": round(share, 3), "is_gold": is_gold}
                    before = found.get(mine)
                    if before is None or _weight(leak) > _weight(before):
                        found[mine] = leak
            for number, leak in found.items():
                each = rows[number]
                each.use, each.leak = DocumentUse.REJECTED, leak
                each.fault = f"Repeats {leak['is']} ({leak['share']:.0%})."
            TrainingDocument.objects.bulk_update(
                [rows[number] for number in found], ["use", "leak", "fault"], batch_size=500
            )
    return compared


def _written(run: TrainingRun, after: int) -> Any:
    rows = run.documents.written().exclude(use=DocumentUse.REJECTED)
    return rows.filter(pk__gt=after).order_by("pk")[:_HELD]


def _texts(run: TrainingRun) -> Iterator[tuple[str, int, str, str]]:
    """(what, key, name, text) of all passages and of the answers of queries: those that came with
    them, and those that were written and chosen here."""
    growing = CorpusVersion.objects.growing(run.benchmark)
    layers = [*(run.corpus_version.layers if run.corpus_version else ())]
    layers += [growing.pk] if growing else []
    part = Passage.objects.filter(version_id__in=layers)
    rows = in_key_order(part.with_text(), "pk", "pid", "text", part=part)
    for pk, pid, text in rows:
        yield "passage", pk, f"passage {pid}", text
    queries = Query.objects.in_benchmark(run.benchmark).order_by("pk")
    for query in queries.iterator(chunk_size=_AT_ONCE):
        for text in filter(None, (query.gold_answer, query.reference_answer)):
            yield "query", query.pk, f"an answer of query {query}", text
    chosen = ReferenceAnswer.objects.chosen().filter(query__in=queries.order_by())
    for each in chosen.select_related("query__domain").order_by("pk").iterator(_AT_ONCE):
        yield "query", each.query_id, f"an answer of query {each.query}", each.text


def _weight(leak: dict[str, Any]) -> tuple[bool, float]:
    return leak["is_gold"], leak["share"]
