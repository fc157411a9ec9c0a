"""A release opens with tools that are not ours, offline."""

import os
import subprocess
from pathlib import Path

import pytest
import yaml

from corpus.models import Domain, Passage
from tests.evaluation.conftest import Garden, make_aspect, make_support, release_into
from tests.factories import make_benchmark, make_gold, make_passage, make_query

os.environ["HF_HUB_OFFLINE"] = os.environ["HF_DATASETS_OFFLINE"] = "1"


@pytest.fixture
def load(tmp_path: Path):
    """Opens a configuration of the folder `out` with a cache of its own."""
    from datasets import load_dataset

    def opened(name: str | None, split: str):
        cache = tmp_path / f"cache-{name}-{split}"
        return load_dataset(str(tmp_path / "out"), name, split=split, cache_dir=str(cache))

    return opened


@pytest.mark.slow
def test_datasets_opens_every_configuration(garden: Garden, tmp_path: Path, load) -> None:
    release_into(garden.benchmark, tmp_path / "out")
    aspects = load("aspects", "biology")
    assert aspects["weight"][:] == [3, 1]
    assert aspects["supporting_docs"][:] == [["b0"], ["b2"]]
    examples = load("examples", "earth_science")
    assert (examples["id"][:], examples["gold_ids"][:]) == ([12], [["e0"]])
    texts = {each.pid: each.text for each in garden.passages.values() if each.pid[0] == "b"}
    documents = load("documents", "biology")
    assert dict(zip(documents["id"], documents["content"], strict=True)) == texts


def test_examples_are_the_default_configuration(garden: Garden, tmp_path: Path, load) -> None:
    release_into(garden.benchmark, tmp_path / "out")
    assert load(None, "biology")["id"][:] == [7]


def test_benchmark_without_aspects_has_no_such_configuration(db, tmp_path: Path, load) -> None:
    benchmark = make_benchmark()
    make_gold(make_query(benchmark), make_passage(benchmark))
    release_into(benchmark, tmp_path / "out")
    assert not (tmp_path / "out/aspects").exists()
    assert load("examples", "biology")["gold_ids"][:] == [["page/a_0.txt"]]
    with pytest.raises(ValueError, match="aspects"):
        load("aspects", "biology")


def test_benchmark_without_texts_has_no_documents(db, tmp_path: Path, load) -> None:
    benchmark = make_benchmark()
    make_gold(make_query(benchmark), make_passage(benchmark, text=None))
    release = release_into(benchmark, tmp_path / "out")
    assert not (tmp_path / "out/documents").exists()
    assert load("examples", "biology")["gold_ids"][:] == [["page/a_0.txt"]]
    checks = [each["check"] for each in release.faults]
    assert checks == ["gold_without_text", "passages_without_text"]


def test_one_split_without_texts_leaves_the_others_loadable(
    garden: Garden, tmp_path: Path, load
) -> None:
    Passage.objects.filter(domain__name="biology").update(text=None)
    release_into(garden.benchmark, tmp_path / "out")
    assert load("documents", "earth_science")["id"][:] == ["e0", "e1"]


@pytest.mark.few(2)
@pytest.mark.parametrize("name", ["all", "no", "1", "train-test", "日本"])
def test_odd_domain_names_load(db, tmp_path: Path, load, name: str) -> None:
    benchmark = make_benchmark(domains=(name,))
    query, passage = make_query(benchmark), make_passage(benchmark)
    make_gold(query, passage)
    make_support(make_aspect(query, 1), passage)
    release = release_into(benchmark, tmp_path / "out")
    (split,) = release.counts["splits"]
    assert load("examples", split)["id"][:] == [1]
    assert load("aspects", split)["id"][:] == [f"{split}-1-a1"]


def test_front_matter_is_yaml_whatever_the_licence(garden: Garden, tmp_path: Path) -> None:
    garden.benchmark.licence = 'CC BY: "4.0" #1'
    garden.benchmark.save()
    release_into(garden.benchmark, tmp_path / "out")
    matter = yaml.safe_load((tmp_path / "out/README.md").read_text().split("---\n")[1])
    assert matter["license"] == 'CC BY: "4.0" #1'
    assert [each["config_name"] for each in matter["configs"]] == [
        "examples",
        "aspects",
        "documents",
    ]


def test_sha256sum_accepts_the_checksums(garden: Garden, tmp_path: Path) -> None:
    release = release_into(garden.benchmark, tmp_path / "out")
    subprocess.run(
        ["sha256sum", "--strict", "--quiet", "-c", "SHA256SUMS"], cwd=tmp_path / "out", check=True
    )
    files = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert {path.relative_to(tmp_path / "out").as_posix() for path in files} == set(release.files)


def test_domain_that_still_loads_stays_out(garden: Garden, tmp_path: Path) -> None:
    Domain.objects.create(benchmark=garden.benchmark, name="loading")
    release = release_into(garden.benchmark, tmp_path / "out")
    assert list(release.counts["splits"]) == ["biology", "earth_science"]
