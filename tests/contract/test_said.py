"""What the commands print and write: on real files, on pairs that are debated, on the demo."""

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from annotate.models import EscalationCase
from tests.contract.kept import same_text
from tests.contract.shell import Shell, digests

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_measures_of_real_runs(shared: Path, tmp_path: Path) -> None:
    shell = Shell(DATA=shared, TMP=tmp_path)
    trec, bright = "$DATA/trec_eval-tests", "$DATA/bright"
    shell(f"score_run {trec}/results.test --qrels {trec}/qrels.test")
    shell(f"score_run {trec}/results.test --qrels {trec}/qrels.test --per-query --metrics MAP,P@5")
    shell(f"score_run {trec}/results-302.test --qrels {trec}/qrels-302.test --json --per-query")
    shell(f"score_run {trec}/results.trunc --qrels {trec}/qrels.rel_level --relevant-from 2")
    for task in ("biology", "pony"):
        files = f"{bright}/runs-reasonir/{task}.run.gz --qrels {bright}/qrels/{task}.txt"
        shell(f"score_run {files} --metrics nDCG@10,recall@100,P@10,hit@10,MRR,MAP --json")
        shell(f"score_run {files} --profile reference")
    fixed = f"--qrels {bright}/qrels-fixed/biology.txt --base {bright}/qrels/biology.txt"
    shell(f"score_run {bright}/runs-reasonir/biology.run.gz {fixed}")
    shell(f"score_run {trec}/results.test --qrels {trec}/qrels.test --metrics none")
    shell(f"score_run {trec}/results.test --qrels $DATA/nowhere")
    same_text("score_run.txt", shell.transcript)


def test_agreement_of_real_ratings(shared: Path, tmp_path: Path) -> None:
    shell = Shell(DATA=shared, TMP=tmp_path)
    irr = shared / "agreement" / "irr"
    for name in ("diagnoses", "anxiety"):
        rows = [line.split(",") for line in (irr / f"{name}.csv").read_text().splitlines()]
        ratings(tmp_path / f"{name}.csv", _columns(rows))
    example = (shared / "agreement" / "krippendorff2011_example.csv").read_text().splitlines()
    ratings(tmp_path / "example.csv", _columns([line.split(",")[1:] for line in example]))
    votes = (shared / "agreement" / "snow2008" / "rte.tsv").read_text().splitlines()[1:]
    ratings(tmp_path / "rte.csv", (line.split("\t")[:3] for line in votes))
    shell("agreement $TMP/diagnoses.csv --level nominal")
    shell("agreement $TMP/anxiety.csv --level ordinal --categories 1,2,3,4,5,6 --json")
    shell("agreement $TMP/anxiety.csv --level interval --width 0.2")
    bootstrap = "--method bootstrap --resamples 200 --confidence 0.9"
    shell(f"agreement $TMP/example.csv --level interval {bootstrap}")
    shell("agreement $TMP/example.csv --level ordinal --json")
    shell("agreement $TMP/rte.csv --level nominal --votes 10 --json")
    shell("agreement $TMP/anxiety.csv --level nominal --categories 1,2")
    same_text("agreement.txt", shell.transcript)


def _columns(rows: list[list[str]]) -> Iterable[list[str]]:
    """A table with a column for each rater, as rows of item, rater, label."""
    header, *items = rows
    for number, labels in enumerate(items, 1):
        for rater, label in zip(header, labels, strict=True):
            yield [str(number), rater, label]


def ratings(path: Path, rows: Iterable[list[str]]) -> None:
    lines = ["item,rater,label", *(",".join(row) for row in rows)]
    path.write_text("".join(f"{line}\n" for line in lines))


@pytest.mark.slow
def test_main_texts_of_real_pages(shared: Path, tmp_path: Path) -> None:
    shell = Shell(DATA=shared, TMP=tmp_path)
    pages = sorted((shared / "web-cleaning-dev").rglob("*.html.gz"))
    for path in pages:
        shell(f"extract_text '$DATA/{path.relative_to(shared)}'", is_foreign=True)
    first = f"'$DATA/{pages[0].relative_to(shared)}'"
    shell(f"extract_text {first} --json --url https://page.example/read", is_foreign=True)
    shell("extract_text $DATA/README.md", is_foreign=True)
    shell("extract_text $DATA/nowhere.html")
    same_text("extract_text_1.txt", shell.transcript)


@pytest.mark.slow
@pytest.mark.django_db(transaction=True, reset_sequences=True)
def test_debates_of_real_pairs(shared: Path, tmp_path: Path) -> None:
    shell = Shell(DATA=shared, TMP=tmp_path)
    write(tmp_path / "pairs.jsonl", pairs(shared / "hotpotqa" / "dev_250.jsonl.gz", questions=12))
    shell("run_debates --pairs $TMP/pairs.jsonl --out $TMP/out.jsonl")
    outcomes = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    labels = (" ".join(str(row[key]) for key in row if key != "turns") for row in outcomes)
    shell.note("out.jsonl, without its turns", "\n".join(labels))
    shell.note_files(tmp_path, "files")
    shell("run_debates --pairs $TMP/pairs.jsonl --out $TMP/again.jsonl --rounds 1 --json")
    shell("run_debates --pairs $TMP/pairs.jsonl --out $TMP/judged.jsonl --preset llmjudge --json")
    shell.note_files(tmp_path, "files")
    shell("run_debates --pairs $TMP/nowhere.jsonl --out $TMP/other.jsonl")
    same_text("pairs.txt", shell.transcript)


def pairs(path: Path, *, questions: int) -> Iterable[dict[str, Any]]:
    """Each paragraph beside its question, until so many were asked."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for _, line in zip(range(questions), lines, strict=False):
            row = json.loads(line)
            answers = [span for each in row["answers_objects"] for span in each["spans"]]
            for each in row["contexts"][:4]:
                yield {
                    "id": f"{row['question_id']}-{each['id']}",
                    "query": row["question_text"],
                    "answers": answers,
                    "passage": each["paragraph_text"],
                }


def write(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


@pytest.mark.slow
@pytest.mark.django_db(transaction=True, reset_sequences=True)
def test_the_demo_from_its_first_start_to_its_release(tmp_path: Path) -> None:
    shell = Shell(TMP=tmp_path, DEMO=ROOT / "corpus" / "demo")
    shell("load_demo")
    shell("sign_in_link admin nobody")
    shell("load_benchmark $DEMO --format bright_pro --benchmark garden-weather --json")
    shell("index_passages --benchmark garden-weather")
    shell("run_debates --benchmark garden-weather --forecast")
    shell("run_debates --benchmark garden-weather --name debated")
    vote(shell, most=6)
    judge(shell)
    shell("write_answers garden-weather --json")
    shell("answer_comparison garden-weather --draw --size 1 --as admin")
    shell("answer_comparison garden-weather")
    shell("qualification garden-weather")
    built = "build_release garden-weather --version 0.1.0 --out"
    shell(f"{built} $TMP/release", in_any_order=True)
    shell("verify_release $TMP/release")
    shell(f"{built} $TMP/release-again --json")
    shell("build_release garden-weather --version 1.0.0 --out $TMP/final --final")
    same_text("release.txt", "".join(f"{line}\n" for line in digests(tmp_path / "release")))
    for name in ("beir", "bright", "trec"):
        shell(f"export_benchmark garden-weather --format {name} --out $TMP/{name}")
        shell.note_files(tmp_path / name, f"files of {name}")
    same_text("demo.txt", shell.transcript)


def api(shell: Shell, who: str, method: str, path: str, body: Any = None) -> Any:
    """What a script of this person gets from the demo's API; a digest of it is noted."""
    client = Client(raise_request_exception=False)
    client.force_login(User.objects.get(username=who))
    sent = {"content_type": "application/json"} if body is not None else {}
    answer = getattr(client, method)(f"/api/b/garden-weather/{path}", body, **sent)
    text = answer.content.decode()
    shell.note(f"{who}: {method.upper()} {path} gives {answer.status_code}", text, most=0)
    return json.loads(text) if text else None


def vote(shell: Shell, *, most: int) -> None:
    """Three people vote on disputes: with one voice on some, two against one on others."""
    for number, who in enumerate(("annotator-1", "annotator-2", "annotator-3")):
        for _ in range(most):
            case = api(shell, who, "get", "cases/next/")["case"]
            key = EscalationCase.objects.get(public_id=case["id"]).pk
            label = int(key % 4 > number)
            body = {"label": label, "reason": "For the contract."}
            api(shell, who, "post", f"cases/{case['id']}/votes/", body)


def judge(shell: Shell) -> None:
    """An expert takes one passage out of the gold and finds another one."""
    query = api(shell, "annotator-1", "get", "queries/?domain=weather")["results"][0]["id"]
    gold = api(shell, "annotator-1", "get", f"queries/{query}/gold-passages/")["results"]
    for each in gold[:1]:
        place = f"queries/{query}/passages/{each['passage']}"
        api(shell, "annotator-1", "post", f"{place}/discard/", {"reason": "topic_only"})


@pytest.mark.slow
@pytest.mark.django_db(transaction=True, reset_sequences=True)
def test_the_demo_retrieved_judged_and_cleaned(tmp_path: Path) -> None:
    shell = Shell(TMP=tmp_path, DEMO=ROOT / "corpus" / "demo")
    demo = "--benchmark demo"
    shell(f"load_benchmark $DEMO --format bright_pro {demo} --name Demo")
    shell("check_endpoint")
    shell(f"compute_run {demo} --method bm25 --name words --json")
    shell(f"compute_run {demo} --method embeddings --name vectors --json")
    shell(f"compute_run {demo} --method hybrid --runs words vectors --name both --json")
    shell(f"build_pool {demo} --depth 4 --name pooled", in_any_order=True)
    shell(f"build_pool {demo} --runs nothing")
    for preset in ("llmjudge", "graded", "filter", "rounds-1+adjudicator"):
        shell(f"run_debates {demo} --pool pooled --preset {preset} --name {preset} --json")
    shell("adopt_run 4 --preview")
    shell("adopt_run 4")
    shell("adopt_run 4 --undo")
    shell("adopt_run 3 --keep --name kept")
    shell("leaderboard demo")
    shell("leaderboard demo --metric alpha_nDCG@25 --view expert --json")
    shell("export_benchmark demo --format trec --out $TMP/trec --json")
    shell.note_files(tmp_path, "files")
    shell(f"score_run $TMP/trec/runs/words/gardening.run {demo} --domain gardening")
    shell("clean_corpus demo --preset diver_rules --name ruled")
    shell("clean_corpus demo --preset marcus --forecast")
    shell("clean_corpus demo --preset marcus --name cleaned --budget 1 --json")
    shell("clean_corpus demo --preset dchunk --name chunked --option long_from=1")
    shell("clean_corpus demo --option most=few")
    shell(f"compute_run {demo} --corpus-version ruled --name words --json")
    shell("compare_versions demo --before '' --after ruled")
    shell("reference_panel demo --per-domain 2 --pool 2")
    shell("write_hints 1")
    shell("calls --totals roles")
    shell("calls --totals models --json")
    shell("calls --role check")
    same_text("work.txt", shell.transcript)
