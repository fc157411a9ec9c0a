import builtins
import json
from io import StringIO

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.core.management import CommandError, call_command

from corpus.imports.hub import fetched
from corpus.models import Benchmark, ImportRun, Judgment, Licence, Passage, Query
from kit.errors import Refused

pytestmark = pytest.mark.django_db

CARD = """---
configs:
- config_name: examples
  data_files:
  - split: biology
    path: examples/biology.parquet
- config_name: documents
  data_files:
  - split: biology
    path: documents/biology.parquet
---
"""


@pytest.fixture
def folder(tmp_path):
    """A data set as it lies on a hub, with its card."""
    parts = {
        "examples": [{"id": 7, "query": "Why?", "gold_ids": ["a_0.txt"], "reference_answer": ""}],
        "documents": [{"id": "a_0.txt", "content": "Because, na\u00efvely."}],
    }
    for name, rows in parts.items():
        (tmp_path / name).mkdir()
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / name / "biology.parquet")
    (tmp_path / "README.md").write_text(CARD)
    labels = tmp_path / "beir/biology/qrels/test.tsv"
    labels.parent.mkdir(parents=True)
    labels.write_text("query-id\tcorpus-id\tscore\n7\ta_0.txt\t2\n")
    row = {"layer": "labels", "licence": "CC0"}
    (tmp_path / "licences.jsonl").write_text(json.dumps(row) + "\n")
    return tmp_path


def command(**options: object) -> str:
    out = StringIO()
    call_command("load_benchmark", stdout=out, benchmark="light", **options)
    return out.getvalue()


@pytest.fixture
def _datasets():
    pytest.importorskip("datasets")


@pytest.mark.slow
@pytest.mark.usefixtures("_datasets")
def test_a_local_data_set_loads_as_from_the_hub(folder, settings) -> None:
    result = json.loads(command(hub=str(folder), format="bright_pro", json=True))
    assert (result["status"], result["queries"]["added"]) == ("done", 1)
    assert Query.objects.get().qid == "7"
    assert Passage.objects.get().text == "Because, na\u00efvely."
    assert Judgment.objects.get().label == 2
    licence = Licence.objects.get()
    assert (licence.domain.name, licence.layer, licence.name) == ("biology", "labels", "CC0")
    assert ImportRun.objects.get().label == str(folder)
    assert not list(settings.UPLOADS.glob("hub-*"))


@pytest.mark.usefixtures("_datasets")
def test_a_data_set_of_another_kind_is_refused(folder) -> None:
    (folder / "README.md").write_text(CARD.replace("config_name: examples", "config_name: other"))
    with pytest.raises(CommandError, match="no configuration 'examples'; it has: documents, other"):
        command(hub=str(folder), format="bright_pro")
    assert not Benchmark.objects.exists()


@pytest.mark.usefixtures("_datasets")
def test_a_data_set_that_cannot_be_had_is_refused(tmp_path) -> None:
    with pytest.raises(CommandError, match="could not be fetched"):
        command(hub=str(tmp_path / "absent"), format="bright_pro")


def test_a_missing_library_is_said(monkeypatch, settings) -> None:
    plain = builtins.__import__

    def without(name: str, *args: object, **kwargs: object) -> object:
        if name == "datasets":
            raise ImportError(name)
        return plain(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(Refused, match="pip install datasets"), fetched("a/b", format="bright"):
        pass
    assert not list(settings.UPLOADS.glob("hub-*"))


def test_formats_that_lie_on_no_hub_are_refused() -> None:
    with pytest.raises(CommandError, match="bright_pro, bright"):
        command(hub="a/b", format="trec")


@pytest.mark.parametrize("given", [{}, {"path": "x", "hub": "a/b"}])
def test_a_path_or_a_name_is_needed_and_not_both(given) -> None:
    args = [given.pop("path")] if "path" in given else []
    with pytest.raises(CommandError, match="Give either a path or --hub NAME"):
        call_command("load_benchmark", *args, benchmark="light", format="bright", **given)
