"""A query with aspects, a reference answer and a computed run, to search agents over."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.utils import timezone

from annotate.answers.services import choose_answer
from annotate.models import Aspect
from corpus.computing import searching
from corpus.computing.services import run_computation, start
from corpus.models import RetrievalRun
from evaluation.agents import guests
from evaluation.agents.models import AgentRun
from evaluation.agents.services import candidates, start_agent
from evaluation.tasks import AGENTS
from llm import endpoints
from tests.annotate.answering import Room, make_room

REFERENCE = (
    "Insects roll their backs towards the light and so they fly in loops around a lamp "
    "[lamps/page_1.txt]. At night the sky is brighter than the ground, which tells them where up "
    "is [lamps/page_2.txt]. Warm air rises around a bulb and carries small insects upwards, so "
    "that many of them stay near it [lamps/page_3.txt][lamps/page_4.txt]."
)

POINTS = (
    "Insects roll their backs towards the light.",
    "The sky is brighter than the ground.",
    "Warm air rises around a bulb and carries insects.",
)


@dataclass
class Place:
    """The room, and a BM25 run over it."""

    room: Room
    retriever: RetrievalRun

    def without_other(self) -> None:
        """Leave one query that can be asked."""
        Aspect.objects.filter(query=self.room.other).update(removed_at=timezone.now())

    def run(self, **options: Any) -> AgentRun:
        """An agent run, driven to its end by the practice model."""
        with endpoints.practice_if_unconfigured("agents") as endpoint:
            run = self.start(endpoint, **options)
            AGENTS.drive(run)
        run.refresh_from_db()
        return run

    def start(self, endpoint: endpoints.Endpoint, **options: Any) -> AgentRun:
        """A run that this process has claimed."""
        given: dict[str, Any] = {"claimed": True, "actor": None} | options
        return start_agent(
            benchmark=self.room.benchmark,
            queries=candidates(self.room.benchmark),
            retriever=self.retriever,
            endpoint=endpoint,
            **given,
        )


def make_place(settings: Any, folder: Path) -> Place:
    """`room.query` has a published reference answer."""
    settings.INDEXES = folder / "indexes"
    searching._corpora.clear()
    guests._searchers.clear()
    room = make_room()
    for aspect, content in zip(room.aspects, POINTS, strict=True):
        Aspect.objects.filter(pk=aspect.pk).update(content=content)
    answer = room.write(REFERENCE)
    choose_answer(answer=answer, actor=room.admin)
    made = start(benchmark=room.benchmark, method="bm25", config={}, actor=None, claimed=True)
    run_computation(made)
    made.refresh_from_db()
    assert made.run is not None, made.error
    return Place(room, made.run)
