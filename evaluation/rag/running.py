"""Driving a run of generated answers, many queries at a time."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

from corpus.models import Benchmark, CorpusVersion, Passage
from corpus.texts.models import PassageQuerySet
from corpus.versions.services import stored
from evaluation.rag.models import AnswerState, RagAnswer, RagRun, SourceKind
from evaluation.rag.protocol.answering import (
    Strings,
    answer_request,
    has_information,
    measure,
    read_answers,
)
from evaluation.rag.services import generator_of
from kit.runs.models import RunGroup
from llm import pump
from llm.gateway import Gateways
from llm.requests import Reply

Texts: TypeAlias = dict[tuple[int | None, int], dict[str, str]]
_STORED = (
    *("passages", "missing", "state", "answers", "is_informed"),
    *("accuracy", "exact", "f1", "call", "error"),
)


# An answer that waits, with the texts that it is written from.
Job: TypeAlias = pump.Job[RagAnswer, Sequence[str], Reply]


class AnswerPump(pump.Pump[Job, Job]):
    """One worker's drive of its share of a run."""

    run: RagRun
    words = ("answer", "answers")

    def prepare(self) -> None:
        """Who answers."""
        self.generator = generator_of(self.run)

    def read_group(self, group: RunGroup) -> Sequence[Job]:
        """Waiting answers with the texts of their passages; ids without one are left out."""
        rows = list(
            group.within(self.run.waiting_items()).select_related("query__domain", "source")
        )
        texts = texts_of(self.run, rows)
        jobs = []
        for row in rows:
            known = texts[row.source.corpus_version_id, row.query.domain_id]
            found = [pid for pid in row.passages if pid in known]
            row.missing, row.passages = row.missing + len(row.passages) - len(found), found
            is_bare = row.source.kind == SourceKind.NONE
            jobs.append(Job(row, None if is_bare else [known[pid] for pid in found]))
        return jobs

    async def work(self, item: Job, gateways: Gateways) -> Job:
        """Ask once."""
        asked = answer_request(item.row.query.text, item.exam, self.generator, self.key)
        reply = await gateways.complete(asked, f"{asked.role}:{item.row.pk}")
        return replace(item, said=reply)

    def store(self, results: Sequence[Job]) -> int:
        """Answers of a group, held against the true ones."""
        for each in results:
            row, reply = each.row, each.said
            if reply is None:
                row.state = AnswerState.FAILED
                row.error = each.failure.words if each.failure else "The model gave no answer."
                continue
            row.state, row.call_id, row.error = AnswerState.ANSWERED, reply.call_id or None, ""
            row.answers = list(read_answers(reply.text, self.generator.harness))
            row.is_informed = has_information(row.answers)
            found = measure(row.answers, row.query.answers)
            if found is not None:
                # Who says that nothing was found has failed, whatever words the true answer has.
                found = found if row.is_informed else Strings(0, 0, 0.0)
                row.accuracy, row.exact, row.f1 = found
        RagAnswer.objects.bulk_update([each.row for each in results], _STORED)
        return len(results)


def texts_of(run: RagRun, rows: Sequence[RagAnswer]) -> Texts:
    """Texts by passage id, by corpus version and domain, of all that the answers name.

    Gold may be of what experts collected, which no corpus version holds.
    """
    asked: dict[tuple[int | None, int], set[str]] = defaultdict(set)
    for row in rows:
        asked[row.source.corpus_version_id, row.query.domain_id] |= set(row.passages)
    found: Texts = {}
    for (version, domain), pids in asked.items():
        known = passages_of(run.benchmark, version).with_text().filter(domain=domain, pid__in=pids)
        found[version, domain] = {pid: text or "" for pid, text in known.values_list("pid", "text")}
    return found


def passages_of(benchmark: Benchmark, key: int | None) -> PassageQuerySet:
    """Passages of the corpus version of this key, and what experts collected."""
    versions = [stored(benchmark, key), CorpusVersion.objects.growing(benchmark)]
    layers = [pk for each in versions if each for pk in each.layers or [each.pk]]
    return Passage.objects.filter(version_id__in=layers)
