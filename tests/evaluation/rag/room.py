"""Two queries with true answers, two systems over their passages, and who answers and grades."""

from dataclasses import dataclass
from typing import Any

from annotate.answers.services import choose_answer
from corpus.models import Query, RetrievalRun
from evaluation.rag.models import RagRun
from evaluation.rag.services import start_answers
from evaluation.tasks import RAG
from llm import endpoints
from tests.annotate.answering import Room, make_room
from tests.factories import make_ranking

LAMPS = "lamps/page_{}.txt".format
LEAVES = "leaves/page_9.txt"
TRUE = "Moths roll their backs towards the light."


@dataclass
class Place:
    """`good` finds what answers both queries, `poor` what answers neither."""

    room: Room
    good: RetrievalRun
    poor: RetrievalRun

    def start(self, endpoint: endpoints.Endpoint, **options: Any) -> RagRun:
        """A run that this process has claimed."""
        given: dict[str, Any] = {"claimed": True, "actor": None, "runs": [self.good, self.poor]}
        return start_answers(benchmark=self.room.benchmark, endpoint=endpoint, **given | options)

    def run(self, **options: Any) -> RagRun:
        """A run, driven to its end by the practice model."""
        with endpoints.practice_if_unconfigured("answerer") as endpoint:
            run = self.start(endpoint, **options)
            RAG.drive(run)
        run.refresh_from_db()
        return run


def make_place() -> Place:
    """`room.query` has a published reference answer."""
    room = make_room()
    Query.objects.filter(pk=room.query.pk).update(
        text="Why do moths roll around the light?", answers=[TRUE, "light"]
    )
    Query.objects.filter(pk=room.other.pk).update(answers=["Leaves are shed."])
    choose_answer(answer=room.write(), actor=room.admin)
    good = make_ranking(room.query, LAMPS(1), LAMPS(2), "gone.txt", name="good").run
    make_ranking(room.other, LEAVES, name="good")
    poor = make_ranking(room.query, LAMPS(4), name="poor").run
    room.query.refresh_from_db()
    room.other.refresh_from_db()
    return Place(room, RetrievalRun.objects.get(pk=good.pk), RetrievalRun.objects.get(pk=poor.pk))
