"""Model families: where one that labels or judges is measured as well, figures may favour it."""

import re
from collections.abc import Collection, Iterator
from typing import Any, Final

from django.db.models import QuerySet

from annotate.models import SupportLabel
from corpus.judgments.models import PEOPLE
from corpus.models import Benchmark, Judgment, Source
from debate.models import DebateRun

_WORD: Final = re.compile(r"[a-z]+")
# Makers whose models go by several names.
_SAME: Final = {
    **dict.fromkeys(("o", "chatgpt", "davinci"), "gpt"),
    **dict.fromkeys(("codestral", "mixtral", "ministral", "magistral"), "mistral"),
    "qwq": "qwen",
}
LABELS, JUDGES, ANSWERS = "labels", "judges answers", "answers"
RERANKS, EXPANDS = "reranks", "words queries"
# What decides, and what is decided on.
DECIDING: Final = (LABELS, JUDGES)
RETRIEVING: Final = (RERANKS, EXPANDS)
DECIDED_ON: Final = (ANSWERS, *RETRIEVING)


def family_of(model: str) -> str:
    """The family a model's name tells: "Qwen/Qwen3-32B" and "qwen2.5-7b" are "qwen".

    The first word behind the maker's path; names that tell nothing are a family of their own.
    """
    name = model.rsplit("/", 1)[-1].casefold()
    found = _WORD.match(name)
    return _SAME.get(found[0], found[0]) if found else name


def models_in(benchmark: Benchmark) -> Iterator[tuple[str, str]]:
    """(what it does, model) of every model at work here, practice models and people left out."""
    for models in _labelling(benchmark):
        yield from ((LABELS, model) for model in models)
    for does, rows in (
        (JUDGES, benchmark.judge_runs),
        (JUDGES, benchmark.grade_runs),
        (JUDGES, benchmark.support_runs),
        (ANSWERS, benchmark.agent_runs),
        (ANSWERS, benchmark.rag_runs),
        (RERANKS, benchmark.rerank_runs),
        (EXPANDS, benchmark.expansions),
    ):
        named = rows.filter(practice=False).exclude(model="").order_by().distinct()
        yield from ((does, model) for model in named.values_list("model", flat=True))


def _labelling(benchmark: Benchmark) -> Iterator[list[str]]:
    """Models behind labels that stand, of pairs and of aspects, run by run: agents of a debate,
    judges, adjudicators."""
    kinds: tuple[type[Judgment | SupportLabel], ...] = (Judgment, SupportLabel)
    runs = list[Any]()
    for kind in kinds:
        labels = kind.objects.in_benchmark(benchmark).standing().filter(practice=False)
        runs += labels.order_by().values_list("provenance__run", flat=True).distinct()
    # A release is of whatever provenance an import brought.
    keys = {each for each in runs if isinstance(each, int) and 0 < each < 2**63}
    for run in benchmark.debate_runs.filter(pk__in=keys, practice=False):
        yield _models(run)


def _models(run: DebateRun) -> list[str]:
    return [choice["model"] for choice in run.model_choices] or [run.model]


def labels_by(benchmark: Benchmark, families: Collection[str]) -> QuerySet[Judgment]:
    """Labels that runs gave in which a model of these families had a say, whether they stand."""
    runs = [
        run.pk
        for run in benchmark.debate_runs.filter(practice=False)
        if {family_of(model) for model in _models(run)} & set(families)
    ]
    labels = Judgment.objects.in_benchmark(benchmark).exclude(source__in=(Source.ORIGINAL, *PEOPLE))
    return labels.filter(provenance__run__in=runs)


def shared_families(benchmark: Benchmark) -> dict[str, dict[str, list[str]]]:
    """By family that both decides and is decided on: its models by what they do."""
    found: dict[str, dict[str, set[str]]] = {}
    for does, model in models_in(benchmark):
        found.setdefault(family_of(model), {}).setdefault(does, set()).add(model)
    return {
        family: {does: sorted(each) for does, each in sorted(by.items())}
        for family, by in sorted(found.items())
        if _is_shared(set(by))
    }


def _is_shared(does: set[str]) -> bool:
    # Answers are judged by judges, lists by labels; an agent or answerer uses lists, too.
    return bool(does & set(DECIDING)) and bool(does - set(DECIDING))


def told(family: str, does: dict[str, list[str]]) -> str:
    """A family in a line."""
    return f"{family}: " + "; ".join(f"{name} {', '.join(each)}" for name, each in does.items())
