"""Traces out of a run and in again, by file and line."""

import json

import pytest
from django.core.management import CommandError, call_command

from evaluation.agents.models import AgentRun
from evaluation.agents.reading import figures_of
from tests.evaluation.agents.room import make_place

pytestmark = pytest.mark.django_db(transaction=True)


def test_both_shapes_come_back_with_the_same_measures(settings, tmp_path, capsys) -> None:
    place = make_place(settings, tmp_path)
    run, slug = place.run(rounds=2), place.room.benchmark.slug
    before = [after.alpha.value for after in figures_of(run, None).by_round]
    for shape in ("reference", "released"):
        call_command("export_traces", slug, run=run.pk, shape=shape)
        lines = capsys.readouterr().out
        file = tmp_path / f"{shape}.jsonl"
        file.write_text(lines)
        first = json.loads(lines.splitlines()[0])
        assert first["usage"]["total_tokens"] > 0
        given = {"domain": "biology"} if shape == "reference" else {}
        call_command("import_traces", slug, file, retriever="BM25", **given)
        assert "2 traces" in capsys.readouterr().out
        again = AgentRun.objects.first()
        assert (again.status, again.rounds, again.model) == ("done", 2, "practice-1")
        assert [after.alpha.value for after in figures_of(again, None).by_round] == before
        own = {item.query_id: item.rounds for item in run.items.all()}
        assert {item.query_id: item.rounds for item in again.items.all()} == own
    with pytest.raises(CommandError, match="no such agent run"):
        call_command("export_traces", slug, run=999)


def test_faults_are_named_by_file_and_line_and_nothing_is_imported(settings, tmp_path) -> None:
    place = make_place(settings, tmp_path)
    file = tmp_path / "traces.jsonl"
    good = {"query_id": "7", "result": [{"type": "output_text", "output": "Answer: A"}]}
    strange = {"query_id": "99", "result": []}
    lines = [json.dumps(good), "{broken", "", json.dumps(strange)]
    file.write_text("\n".join(lines))
    with pytest.raises(CommandError) as refusal:
        call_command("import_traces", place.room.benchmark.slug, file, retriever="theirs")
    said = str(refusal.value).splitlines()
    assert said[0].startswith("traces.jsonl, line 2: This is not JSON")
    assert said[1] == "traces.jsonl, line 4: query_id: there is no query '99' here."
    assert not AgentRun.objects.exists()
    file.write_text(f"{json.dumps(good)}\n{json.dumps(good)}\n")
    call_command("import_traces", place.room.benchmark.slug, file, retriever="theirs")
    run = AgentRun.objects.get()
    assert (run.repetitions, run.rounds, run.retriever, run.model) == (2, None, "theirs", "unknown")
    with pytest.raises(CommandError, match="There is no"):
        call_command("import_traces", place.room.benchmark.slug, tmp_path / "x", retriever="t")
