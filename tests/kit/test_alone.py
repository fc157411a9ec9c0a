"""Commands that read files start without apps, database, data folder and secret key."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from config.safety import write_secret_key
from kit.lists.chained import chained
from manage import is_alone
from tests.bench.server import ROOT
from tests.evaluation.metrics.score_files import QRELS, RUN

# What takes long to import, and what opens a database or asks for the key.
HEAVY = (
    "celery",
    "config.settings",
    "corpus.models",
    "django.contrib",
    "django.db.models",
    "django.forms",
    "django.template",
    "django.urls",
    "evaluation.models",
    "openai",
    "rest_framework",
)
_THEN_SAY = """
import json, runpy, sys
code = 0
try:
    runpy.run_path("manage.py", run_name="__main__")
except BaseException as end:
    code = getattr(end, "code", 1)
    print(repr(end))
print("\\n" + json.dumps([code, sorted(sys.modules)]))
"""
_RATINGS = "item,rater,label\n" + "".join(f"{n},{r},{n % 2}\n" for n in range(4) for r in "ab")


def run(data: Path, *arguments: str) -> tuple[str, int, set[str]]:
    """What a command printed, how it ended, and every module that it imported."""
    own = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME")}
    done = subprocess.run(
        [sys.executable, "-c", _THEN_SAY, *arguments],
        cwd=ROOT,
        env=own | {"ASSAY_DATA": str(data)},
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    printed, _, last = done.stdout.rstrip().rpartition("\n")
    code, modules = json.loads(last)
    return printed + done.stderr, code, set(modules)


def heavy(modules: set[str]) -> set[str]:
    return {name for name in HEAVY if name in modules}


@pytest.fixture
def files(tmp_path):
    for name, content in (("r.run", RUN), ("q.txt", QRELS), ("r.csv", _RATINGS), ("p.txt", "Hi")):
        (tmp_path / name).write_text(content)
    (tmp_path / "e.jsonl").write_text("".join(chained([{"id": 1, "verb": "vote"}])))
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "said", "besides"),
    [
        (["score_run", "r.run", "--qrels", "q.txt"], "nDCG@10", {"pyarrow", "scipy"}),
        (["extract_text", "p.txt"], "Hi", {"numpy", "pyarrow", "scipy"}),
        *(
            pytest.param(arguments, said, besides, marks=pytest.mark.slow)
            for arguments, said, besides in [
                (["score_run", "r.run", "--qrels", "q.txt", "--csv"], "kind,gold", {"pyarrow"}),
                (["score_run", "--help"], "--metrics", {"pyarrow", "scipy"}),
                (["agreement", "r.csv", "--level", "nominal"], "percent agreement", {"pyarrow"}),
                (["aggregate_votes", "r.csv"], "majority", {"pyarrow"}),
                (["verify_events", "e.jsonl"], "1 events", {"numpy", "pyarrow", "scipy"}),
                (["verify_release", "."], "cannot be read as a release", {"scipy"}),
                (["practice_model", "--help"], "--latency-ms", {"numpy", "pyarrow", "scipy"}),
            ]
        ),
    ],
)
def test_a_command_of_files_loads_nothing_of_the_site(files, arguments, said, besides) -> None:
    names = {each.name for each in files.iterdir()}
    given = [str(files / each) if each in names else each for each in arguments]
    printed, code, modules = run(files / "data", *given)
    assert said in printed
    assert heavy(modules) == set()
    assert modules & besides == set()
    assert (code != 0) == ("cannot be read" in said)
    assert not (files / "data").exists()


@pytest.mark.slow
def test_the_gold_of_a_benchmark_loads_the_site(tmp_path) -> None:
    """So the test above can fail, and the option is seen however it is written."""
    data = tmp_path / "data"
    data.mkdir()
    printed, code, _ = run(data, "score_run", "r.run", "--benchmark", "moon")
    assert "SECRET_KEY" in printed
    write_secret_key(data)
    printed, code, modules = run(data, "score_run", "r.run", "--bench=moon", "--domain", "x")
    assert {"celery", "config.settings", "corpus.models", "django.db.models"} <= heavy(modules)
    assert code != 0
    assert "no such table" in printed


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("score_run r --qrels q --base b", True),
        ("score_run r --benchmark moon", False),
        ("score_run r --be moon", False),
        ("score_run r --qrels q --settings config.settings", False),
        ("leaderboard moon", False),
        ("", False),
    ],
)
def test_which_lines_need_no_database(line, expected) -> None:
    assert is_alone(line.split()) is expected


@pytest.mark.slow
def test_a_file_of_pairs_is_debated_without_key_and_database(tmp_path: Path) -> None:
    row = {"id": "a", "query": "What lights it?", "answers": ["gas"], "passage": "Gas lights it."}
    (tmp_path / "pairs.jsonl").write_text(json.dumps(row) + "\n")
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    environment["ASSAY_DATA"] = str(tmp_path / "data")
    command = ["run_debates", "--pairs", tmp_path / "pairs.jsonl", "--out", tmp_path / "out.jsonl"]
    told = [
        subprocess.run(
            [sys.executable, "manage.py", *command, "--json"],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for _ in range(2)
    ]
    assert json.loads((tmp_path / "out.jsonl").read_text())["id"] == "a"
    calls = [json.loads(each)["spending"]["calls"] for each in told]
    assert calls[0] > 0
    # The ledger has the answers of the first.
    assert calls[1] == 0
