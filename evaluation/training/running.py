"""Driving a run that makes training data, many queries at a time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from evaluation.training import asking
from evaluation.training.models import (
    DocumentKind,
    DocumentUse,
    ItemState,
    TrainingDocument,
    TrainingItem,
    TrainingRun,
)
from evaluation.training.reading import Material, materials_of, texts_of
from evaluation.training.services import settings_of
from evaluation.training.words import language_of
from kit.runs.models import RunGroup
from llm.errors import LLMError
from llm.gateway import Gateways
from llm.pump import Pump, carry, readable


@dataclass(frozen=True)
class Job:
    """A waiting query with its passages, then with what was made of them; or why there is none."""

    row: TrainingItem
    material: Material
    texts: Mapping[int, str]
    made: Sequence[asking.Made] | None = None
    failure: LLMError | None = None


class TrainingPump(Pump[Job, Job]):
    """One worker's drive of its share of a run."""

    run: TrainingRun
    words = ("query", "queries")

    def prepare(self) -> None:
        """Who grades and writes."""
        self.settings = settings_of(self.run)

    def read_group(self, group: RunGroup) -> Sequence[Job]:
        """Waiting queries with their passages."""
        rows = list(group.within(self.run.waiting_items()).select_related("query__domain"))
        found = materials_of(self.run, [each.query for each in rows])
        jobs = []
        for row in rows:
            material = found.get(row.query_id, Material())
            keys = [*material.candidates, *(key for key, *_ in material.labelled)]
            jobs.append(Job(row, material, texts_of(keys)))
        return jobs

    async def work(self, item: Job, gateways: Gateways) -> Job:
        """Grade and write for one query."""
        most = self.run.config["document_chars"]
        relevant = [key for key, is_gold, _ in item.material.labelled if is_gold]
        task = asking.Task(
            item.row.query.text,
            [item.texts[key][:most] for key in item.material.candidates],
            [item.texts[key][:most] for key in relevant if key in item.texts],
        )
        steps = asking.make(task, self.settings, self.key)
        made = await carry(
            steps, lambda each: readable(gateways, each, f"{each.role}:{item.row.pk}")
        )
        return replace(item, made=made)

    def store(self, results: Sequence[Job]) -> int:
        """Documents of a group."""
        documents: list[TrainingDocument] = []
        for each in results:
            if each.made is None:
                each.row.state = ItemState.FAILED
                each.row.error = each.failure.words if each.failure else "Nothing came back."
            else:
                each.row.state, each.row.error = ItemState.MADE, ""
                documents += [*_labelled(each), *(_document(each, made) for made in each.made)]
        TrainingDocument.objects.bulk_create(documents, batch_size=500)
        TrainingItem.objects.bulk_update([each.row for each in results], ["state", "error"])
        return len(results)


def _labelled(job: Job) -> list[TrainingDocument]:
    return [
        TrainingDocument(
            item=job.row,
            kind=DocumentKind.LABELLED,
            use=DocumentUse.POSITIVE if is_gold else DocumentUse.NEGATIVE,
            passage_id=key,
            judgment_id=judgment,
            language=language_of(job.texts[key]),
        )
        for key, is_gold, judgment in job.material.labelled
        if key in job.texts
    ]


def _document(job: Job, made: asking.Made) -> TrainingDocument:
    is_graded = made.role == asking.GRADE
    key = job.material.candidates[made.number] if is_graded else None
    return TrainingDocument(
        item=job.row,
        kind=made.role,
        use=made.outcome,
        passage_id=key,
        title=made.title,
        text=made.text,
        language=language_of(job.texts[key] if key else made.text),
        score=made.score,
        reason=made.reason,
        fault=made.fault,
        call_id=made.call or None,
    )
