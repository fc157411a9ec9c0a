import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from annotate.models import Aspect, GoldPassage
from annotate.tasks import import_benchmark
from annotate.workspace.loading import EDITED, run_import
from corpus.benchmarks.services import create_benchmark
from corpus.imports.services import queue_import
from corpus.models import Benchmark, Domain, ImportRun, Judgment, Passage, Query, RankedList
from tests.corpus.import_files import aspect, bright_pro, bright_row, claimed, example, write_lines
from tests.factories import make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def benchmark():
    return create_benchmark(name="Light", slug="light", actor=None)


def done(benchmark, folder) -> ImportRun:
    run = claimed(benchmark, folder)
    run_import(run)
    return run


def command(*args: object, **options: object) -> tuple[int, str, str]:
    out, err = StringIO(), StringIO()
    try:
        call_command("load_benchmark", *map(str, args), stdout=out, stderr=err, **options)
    except SystemExit as end:
        return int(end.code), out.getvalue(), err.getvalue()
    return 0, out.getvalue(), err.getvalue()


def test_aspects_come_in_with_their_passages_and_no_new_label(benchmark, tmp_path) -> None:
    run = done(benchmark, bright_pro(tmp_path))
    assert run.status == "done"
    found = Aspect.objects.order_by("position").values_list("k", "content", "weight", "scale")
    assert list(found) == [(1, "Point 1.", 4, "likert5"), (2, "Point 2.", 4, "likert5")]
    assert Aspect.objects.first().aspect_id == "biology-7-a1"
    golds = GoldPassage.objects.standing().values_list("aspect__k", "passage__pid", "judgment")
    assert set(golds) == {(1, "light/Moth_0.txt", None), (2, "light/Lamp_0.txt", None)}
    assert not Judgment.objects.standing().exists()
    assert run.summary["aspects"] == {"added": 2, "present": 0}


def test_gold_passage_absent_from_the_documents_is_kept_as_an_id(benchmark, tmp_path) -> None:
    run = done(benchmark, bright_pro(tmp_path, documents=[]))
    assert run.status == "done"
    assert {gold.passage.text for gold in GoldPassage.objects.all()} == {None}
    odd = {each["what"]: each["count"] for each in run.summary["oddities"]}
    assert odd["gold passages without text"] == 2


def test_aspects_again_change_nothing(benchmark, tmp_path) -> None:
    done(benchmark, bright_pro(tmp_path))
    run = done(benchmark, tmp_path)
    assert run.summary["aspects"] == {"added": 0, "present": 2}
    assert (Aspect.objects.count(), GoldPassage.objects.count()) == (2, 2)


def test_aspects_that_people_changed_since_are_theirs(benchmark, tmp_path) -> None:
    done(benchmark, bright_pro(tmp_path))
    first = Aspect.objects.get(k=1)
    first.write(expected=1, actor=make_user("annotator-1"), content="Better words.")
    run = done(benchmark, tmp_path)
    assert run.status == "done"
    assert {odd["what"]: odd["count"] for odd in run.summary["oddities"]}[EDITED] == 1
    assert Aspect.objects.get(k=1).content == "Better words."


def test_an_aspect_with_other_content_is_a_problem(benchmark, tmp_path) -> None:
    done(benchmark, bright_pro(tmp_path / "a"))
    other = bright_pro(tmp_path / "b", aspects=[aspect(1, content="Other."), aspect(2)])
    run = done(benchmark, other)
    assert run.status == "failed"
    (problem,) = run.problems
    assert (problem["file"], problem["line"]) == ("aspects/biology.jsonl", 1)
    assert Aspect.objects.get(k=1).content == "Point 1."


def test_a_passage_moved_to_another_aspect_is_a_problem(benchmark, tmp_path) -> None:
    done(benchmark, bright_pro(tmp_path / "a"))
    docs = ["light/Moth_0.txt", "light/Lamp_0.txt"]
    swapped = [aspect(1, supporting_docs=docs[1:]), aspect(2, supporting_docs=docs[:1])]
    run = done(benchmark, bright_pro(tmp_path / "b", aspects=swapped))
    assert [each["field"] for each in run.problems] == ["supporting_docs"] * 2


def test_the_task_does_a_run_once(benchmark, tmp_path) -> None:
    run = queue_import(
        benchmark=benchmark, actor=None, format="bright_pro", path=bright_pro(tmp_path)
    )
    for _ in range(3):
        import_benchmark(run.pk)
    run.refresh_from_db()
    assert (run.status, run.fence, Query.objects.count()) == ("done", 1, 1)
    import_benchmark(10**6)  # a message of a run that is gone


def test_an_unexpected_error_fails_the_run_in_plain_words(benchmark, tmp_path) -> None:
    run = claimed(benchmark, bright_pro(tmp_path))
    ImportRun.objects.filter(pk=run.pk).update(format="gone")
    run.refresh_from_db()
    run_import(run)
    assert (run.status, run.error) == (
        "failed",
        "Something went wrong on our side. Nothing was loaded; please try again.",
    )


def test_a_run_that_kills_its_workers_is_given_up(benchmark, tmp_path) -> None:
    run = claimed(benchmark, bright_pro(tmp_path))
    ImportRun.objects.filter(pk=run.pk).update(fence=6)
    run.refresh_from_db()
    run_import(run)
    assert (run.status, Query.objects.count()) == ("failed", 0)


def test_command_makes_the_benchmark_and_says_what_came_in(tmp_path) -> None:
    make_user("admin")
    folder = bright_pro(tmp_path / "data")
    code, out, err = command(
        folder, format="bright_pro", benchmark="light", name="Light", admin="admin"
    )
    assert (code, err) == (0, "")
    assert "queries: 1 added" in out
    made = Benchmark.objects.get(slug="light")
    assert (made.name, made.memberships.get().user.username) == ("Light", "admin")


def test_command_prints_json(tmp_path) -> None:
    path = write_lines(tmp_path / "biology.jsonl", [bright_row()])
    code, out, _ = command(path, format="bright", benchmark="light", json=True)
    result = json.loads(out)
    assert (code, result["status"], result["problems"]) == (0, "done", [])
    assert result["queries"] == {"added": 1, "present": 0, "filled": 0}
    assert result["gold"][0]["judgments"] == 2


def test_command_takes_the_gold_that_is_asked_for(tmp_path) -> None:
    path = write_lines(tmp_path / "biology.jsonl", [bright_row()])
    qrels = tmp_path / "biology.txt"
    qrels.write_text("0 0 late_0.txt 1\n")
    command(path, format="bright", benchmark="light", qrels=qrels)
    assert Passage.objects.get().pid == "late_0.txt"


def test_command_names_problems_and_leaves_nothing(tmp_path) -> None:
    folder = bright_pro(tmp_path, examples=[example(), example(id=8, query=3)])
    code, out, err = command(folder, format="bright_pro", benchmark="light")
    assert (code, out) == (1, "")
    assert err.splitlines()[0] == "examples/biology.jsonl:2 query: Text is needed here."
    assert "nothing was loaded" in err
    assert not any(model.objects.exists() for model in (Benchmark, Domain, ImportRun, Passage))


def test_command_that_fails_keeps_a_benchmark_that_was_there(benchmark, tmp_path) -> None:
    code, _, err = command(tmp_path / "absent", format="bright", benchmark="light")
    assert (code, err.splitlines()[0]) == (1, "absent: There is no such file or folder.")
    assert ImportRun.objects.get(benchmark=benchmark).status == "failed"


@pytest.mark.parametrize(
    "options", [{"benchmark": "no slug!"}, {"benchmark": "light", "admin": "nobody"}]
)
def test_command_refuses_what_it_cannot_use(tmp_path, options) -> None:
    with pytest.raises(CommandError):
        command(bright_pro(tmp_path), format="bright_pro", **options)
    assert not Benchmark.objects.exists()


def test_command_loads_a_run_of_the_domain_it_is_told(tmp_path) -> None:
    command(write_lines(tmp_path / "biology.jsonl", [bright_row()]), benchmark="b", format="bright")
    path = tmp_path / "output.run"
    path.write_text("0 Q0 a/b_0.txt 1 2.5 bm25\n0 Q0 elsewhere 2 1 bm25\n")
    code, out, err = command(path, benchmark="b", format="trec_run", domain="biology")
    assert (code, err) == (0, "")
    assert "rankings: 1 added" in out
    assert "run bm25: new, 1 queries, depth 2, 1 ids unknown" in out


def test_command_loads_rows_whose_fields_have_other_names(tmp_path) -> None:
    folder = tmp_path / "light"
    write_lines(folder / "topics.jsonl", [{"no": 7, "title": "moths"}])
    write_lines(folder / "documents.jsonl", [{"key": "a", "words": "moth"}, {"key": "b"}])
    write_lines(folder / "qrels.jsonl", [{"no": 7, "passage": "a", "grade": 2}])
    maps = ["qid=no", "docno=key", "contents=words", "docid=passage", "label=grade"]
    options = {"benchmark": "b", "format": "trec", "map": maps, "json": True}
    code, out, _ = command(folder, **options)
    assert (code, json.loads(out)["problems"][0]["field"]) == (1, "contents")
    write_lines(folder / "documents.jsonl", [{"key": "a", "words": "moth", "old": 1}])
    code, out, _ = command(folder, **options)
    assert (code, json.loads(out)["names"]["passage"]) == (0, "docid")
    label = Judgment.objects.get()
    assert (label.query.qid, label.query.text, label.passage.pid) == ("7", "moths", "a")
    assert (label.passage.text, label.passage.extra, label.label) == ("moth", {"old": 1}, 2)
    rows = [{"no": 7, "passage": pid, "similar": score} for pid, score in (("a", 0.5), ("x", 2))]
    write_lines(tmp_path / "light.jsonl", rows)
    maps = ["qid=no", "docid=passage", "score=similar"]
    code, _, err = command(tmp_path / "light.jsonl", benchmark="b", format="score_json", map=maps)
    assert (code, err) == (0, "")
    [ranked] = RankedList.objects.all()
    assert dict(zip(ranked.pids, ranked.scores, strict=True)) == {"a": 0.5, "x": 2.0}
    with pytest.raises(CommandError, match="--map: 'id' is not OURS=THEIRS"):
        command(folder, benchmark="b", format="trec", map=["id"])


def test_command_refuses_a_domain_where_files_name_theirs(tmp_path) -> None:
    path = write_lines(tmp_path / "biology.jsonl", [bright_row()])
    with pytest.raises(CommandError, match="Only runs are told their domain"):
        command(path, benchmark="light", format="bright", domain="biology")
    assert not Benchmark.objects.exists()
