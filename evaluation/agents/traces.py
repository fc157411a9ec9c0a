"""One query of an agent run as people study it: rounds, aspects, repetitions, every step."""

from collections.abc import Mapping
from typing import Any

from corpus.models import CorpusVersion, Passage
from corpus.versions.services import stored
from evaluation.agents.models import AgentItem, AnswerVerdict
from evaluation.agents.protocol.asking import citations
from evaluation.agents.protocol.measures import (
    alpha_by_round,
    coverage,
    first_rounds,
    gold_weights,
    novelty,
    repetitions,
)
from evaluation.agents.reading import aspects_here


def study(item: AgentItem, turn: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What became of the query, with one step whole; reads its aspects as they are now.

    `lines` are its aspects, `gold` what was found; `other` and `overused` came more than once,
    with how often. A document has its id, its passage's key, the weight of its gold and its text.
    """
    aspects = aspects_here(item.run, only=item.query_id).get(item.query_id, {})
    rounds, weights = item.rounds, gold_weights(aspects)
    first, new = first_rounds(rounds), novelty(rounds)
    other, overused = repetitions(rounds, weights)
    numbers = sorted(rounds)
    alphas = alpha_by_round(rounds, aspects, max(numbers, default=0), item.run.config.get("k", 5))
    words = dict(item.query.aspects.filter(removed_at=None).values_list("k", "content"))
    lines = [
        {
            **each,
            "content": words.get(int(each["name"][1:]), ""),
            "new": [sum(first[pid] == number for pid in each["found"]) for number in numbers],
        }
        for each in coverage(rounds, aspects)
    ]
    cited = {each["round"]: citations(each["text"]) for each in item.answers}
    keys = keys_of(item, {*first, *(pid for ids in cited.values() for pid in ids)})
    texts = texts_of(item, turn) if turn else {}

    def document(pid: str) -> dict[str, Any]:
        weight, text = weights.get(pid), texts.get(pid, "")
        return {"pid": pid, "key": keys.get(pid), "weight": weight, "text": text}

    verdicts: dict[int, list[AnswerVerdict]] = {}
    for verdict in item.verdicts.select_related("run").order_by("pk"):
        verdicts.setdefault(verdict.round, []).append(verdict)
    return {
        "rounds": [
            {
                "number": number,
                "returned": len(rounds[number]),
                "novelty": new[number],
                "alpha": alphas[number - 1],
            }
            for number in numbers
        ],
        "lines": lines,
        "gold": [document(pid) for pid in first if pid in weights],
        "other": [(document(pid), times) for pid, times in other],
        "other_times": sum(times for _, times in other),
        "overused": [(document(pid), times) for pid, times in overused],
        "overused_times": sum(times for _, times in overused),
        "answers": [
            {
                **each,
                "cites": [document(pid) for pid in cited[each["round"]]],
                "verdicts": verdicts.get(each["round"], ()),
            }
            for each in item.answers
        ],
        # What the tools of the step returned, in order.
        "uses": [
            (use, [document(pid) for pid in use["docids"]])
            for use in (turn["uses"] if turn else ())
        ],
    }


def keys_of(item: AgentItem, pids: set[str]) -> dict[str, int]:
    """Keys of the passages with these ids in the version that was searched."""
    rows = Passage.objects.shown().filter(domain=item.query.domain, version_id__in=_layers(item))
    return dict(rows.filter(pid__in=pids).order_by().values_list("pid", "pk"))


def texts_of(item: AgentItem, turn: Mapping[str, Any]) -> dict[str, str]:
    """The texts that a turn was shown, by id, as they are now."""
    pids = {pid for use in turn["uses"] for pid in use["docids"]}
    rows = Passage.objects.with_text().filter(
        domain=item.query.domain, version_id__in=_layers(item), pid__in=pids
    )
    return {pid: text or "" for pid, text in rows.order_by().values_list("pid", "text")}


def _layers(item: AgentItem) -> list[int]:
    run = item.run
    key = run.retrieval_run.corpus_version_id if run.retrieval_run else None
    version = stored(run.benchmark, key)
    growing = CorpusVersion.objects.growing(run.benchmark)
    return [*(version.layers if version else ()), *([growing.pk] if growing else ())]
