"""Where a release says that its reference answers come from, and that verification checks it."""

import hashlib
import json
from pathlib import Path

import pytest

from annotate.answers.services import choose_answer
from annotate.models import ReferenceAnswer
from debate.answering.asking import default_prompt
from debate.answers.services import candidates, start_answers
from debate.tasks import ANSWERS
from evaluation.exporters.files import write_sums
from evaluation.verification.folder import verify
from llm import endpoints
from tests.annotate.answering import make_room
from tests.evaluation.conftest import release_into

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def room():
    """`query` has a model's answer that was chosen, `other` one that came with it."""
    room = make_room()
    with endpoints.practice_if_unconfigured() as endpoint:
        run = start_answers(
            benchmark=room.benchmark, queries=candidates(room.benchmark), endpoint=endpoint,
            actor=room.admin, temperature=0.5, reasoning_effort="low", claimed=True,
        )  # fmt: skip
        ANSWERS.drive(run)
    choose_answer(answer=ReferenceAnswer.objects.get(query=room.query), actor=room.admin)
    room.other.reference_answer = "Leaves fall [leaves/page_9.txt]."
    room.other.save()
    return room


def origins(folder: Path) -> dict[str, dict]:
    rows = (folder / "evidence/answers/biology.jsonl").read_text().splitlines()
    return {row["query_id"]: row for row in map(json.loads, rows)}


def test_a_release_says_who_wrote_its_answers_and_how(room, tmp_path) -> None:
    release_into(room.benchmark, tmp_path / "out")
    found = origins(tmp_path / "out")
    answer = ReferenceAnswer.objects.get(query=room.query)
    assert found[room.query.qid] == {
        "query_id": room.query.qid,
        "text_sha256": hashlib.sha256(answer.text.encode()).hexdigest(),
        "author": "model",
        "model": "practice-1",
        "practice": True,
        "prompt_version": default_prompt().version,
        "prompt_sha256": default_prompt().sha256,
        "request_key": answer.call.key,
        "parameters": {
            "temperature": 0.5,
            "max_tokens": 16_000,
            "reasoning_effort": "low",
            "replicate": 0,
        },
    }
    assert found[room.other.qid]["author"] == "import"
    assert set(found[room.other.qid]) == {"query_id", "text_sha256", "author"}
    prompt = tmp_path / f"out/evidence/prompts/{default_prompt().sha256}.txt"
    assert hashlib.sha256(prompt.read_bytes()).hexdigest() == prompt.stem
    assert verify(tmp_path / "out").differences == []


@pytest.mark.slow
def test_a_correction_of_a_models_answer_says_which_model(room, tmp_path) -> None:
    generated = ReferenceAnswer.objects.get(query=room.query)
    answer = room.write(base=generated)
    choose_answer(answer=answer, actor=room.admin)
    release_into(room.benchmark, tmp_path / "out")
    row = origins(tmp_path / "out")[room.query.qid]
    assert (row["author"], row["begun_from"], row["model"]) == ("person", "model", "practice-1")
    assert row["parameters"]["temperature"] == 0.5


UNTRUE = [
    ("answers/biology.jsonl", '"text_sha256":"', '"text_sha256":"0', "another than the one"),
    ("answers/biology.jsonl", '"model":"practice-1"', '"model":""', "without its model"),
    ("answers/biology.jsonl", None, "", "does not say where"),
    ("prompts", "query", "question", "another hash than its name"),
]


@pytest.mark.slow
def test_verification_names_an_origin_that_does_not_hold(room, tmp_path) -> None:
    release_into(room.benchmark, tmp_path / "out")
    for path, old, new, why in UNTRUE:
        place = tmp_path / "out/evidence" / path
        place = next(place.glob("*.txt")) if place.is_dir() else place
        text = place.read_text()
        assert old is None or old in text
        place.write_text(new if old is None else text.replace(old, new, 1))
        write_sums(tmp_path / "out")
        assert any(why in each.why for each in verify(tmp_path / "out").differences), why
        place.write_text(text)
    write_sums(tmp_path / "out")
    assert verify(tmp_path / "out").differences == []
