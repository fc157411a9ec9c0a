"""A benchmark with a BM25 run, and a model that grades and writes as a test tells it to."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from aiohttp import web

from corpus.models import Passage
from evaluation.models import TrainingRun
from evaluation.tasks import TRAINING
from evaluation.training.services import start_training
from llm import endpoints
from tests.corpus.reranking.room import Room
from tests.debate.answering import answering
from tests.llm.stub import Stub, completion

# Of the passages of tests.corpus.reranking.room: 7 positive, 6 and 4 dropped, 3 negative.
GRADES = {"Mulch keeps": 7, "Moist soil, moist": 6, "Trees that": 4, "A garden in summer": 3,
          "Actors send": 8, "Messages are": 0}  # fmt: skip
PAGE = " ".join(f"Mulch layer {n} is made of straw, bark and leaves." for n in range(8))
ASIDE = (
    "Mulch was the name of a brass band from the coast. It toured for twenty years with songs of "
    "soil nobody sees, and sold more hats than records, which the drummer blamed on the weather, "
    "the hall owners and an uncle who never answered letters. Its last concert was held in a car "
    "park, before ninety people, four dogs and a policeman who knew all the words."
)


def page_of(text: str, title: str = "On mulch") -> str:
    """The writer's reply with one document."""
    return f"Document 1: {json.dumps({'title': title, 'content': text})}"


@contextmanager
def writing(
    settings: Any,
    *,
    grades: Mapping[str, Any] | None = None,
    positive: str = page_of(PAGE),
    negative: Any = ASIDE,
) -> Iterator[Stub]:
    """Somebody's endpoint: grades by how a document begins, and these texts."""
    known = GRADES if grades is None else grades

    async def reply() -> web.StreamResponse:
        body = stub.asked[-1]
        shape = body.get("response_format", {}).get("json_schema", {}).get("name", "")
        # The first user message: a repair has no documents.
        asked = body["messages"][1]["content"]
        if shape == "train_grade":
            score = next((s for begins, s in known.items() if f"\n{begins}" in asked), 0)
            said = json.dumps({"score": score, "reason": "So it reads."})
        elif shape == "train_negative":
            said = json.dumps({"hard negative document": negative})
        else:
            said = positive
        return web.json_response(completion(said))

    with answering(settings, reply) as stub:
        yield stub


def start(room: Room, **options: Any) -> TrainingRun:
    """A run that this process has claimed; its pages are short."""
    given = {"source": room.source, "shortest": 20, "longest": 200, "labels": 0} | options
    return start_training(
        benchmark=room.benchmark,
        endpoint=endpoints.for_role("judge"),
        actor=None,
        claimed=True,
        **given,
    )


def driven(run: TrainingRun) -> TrainingRun:
    """The run at its end."""
    TRAINING.drive(run)
    run.refresh_from_db()
    return run


def passage(pid: str) -> Passage:
    """One of the room's passages."""
    return Passage.objects.get(pid=pid)
