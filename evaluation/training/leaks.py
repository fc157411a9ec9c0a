"""What written documents repeat of the benchmark: its passages, gold among them, and its answers.

A text that does is rejected: who is trained on it has seen what it will be measured by.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

from annotate.models import ReferenceAnswer
from corpus.models import CorpusVersion, Passage, Query
from corpus.versions.effective import gold_of
from evaluation.training.models import DocumentUse, TrainingDocument, TrainingRun
from evaluation.training.repeats import Repeats
from kit.database.reading import in_key_order
from kit.runs.heartbeat import Heartbeat

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
