"""Licences of layers in a release: read back by an import, with their whole texts for people."""

import json

import pytest

from corpus.benchmarks.services import state_licence
from corpus.models import Licence
from evaluation.exporters.licences import LINKS, link_of
from evaluation.releases.exporting import export_benchmark
from tests.corpus.import_files import imported
from tests.evaluation.conftest import release_into
from tests.factories import make_benchmark

WHOLE = "A licence\n\n```\nwith a fence of its own\n```\n"
SA = {
    "licence": "CC BY-SA 4.0",
    "url": "https://example.org/by-sa",
    "attribution": "Authors | pages",
}


@pytest.fixture
def licensed(garden):
    biology = garden.query.domain
    for layer in ("queries", "passages"):
        state_licence(benchmark=garden.benchmark, layer=layer, text=WHOLE, actor=None, **SA)
    state_licence(
        benchmark=garden.benchmark, layer="labels", licence="CC0", domain=biology, actor=None
    )
    return garden.benchmark


def rows(benchmark) -> set[tuple[str, ...]]:
    found = Licence.objects.filter(domain__benchmark=benchmark)
    columns = ("domain__name", "layer", "name", "url", "attribution", "text")
    # A domain's name is that of its split in a release.
    return {(row[0].replace("-", "_"), *row[1:]) for row in found.values_list(*columns)}


def test_a_release_says_of_what_licence_each_layer_is(licensed, tmp_path) -> None:
    folder = tmp_path / "out"
    release_into(licensed, folder)
    text = (folder / "LICENCE.md").read_text()
    assert "## CC BY-SA 4.0\n\nOf queries, passages.\n\n<https://example.org/by-sa>\n" in text
    assert f"````\n{WHOLE}````\n" in text
    assert "## CC0\n\nOf labels of biology.\n" in text
    assert "for answers, aspects; labels of earth_science; what" in text
    card = (folder / "README.md").read_text()
    assert "| CC BY-SA 4.0 | queries, passages | Authors \\| pages |\n" in card
    croissant = json.loads((folder / "croissant.json").read_text())
    assert croissant["license"] == ["https://example.org/by-sa", "CC0"]
    assert croissant["creditText"] == "Authors | pages"
    about = {each["@id"]: each["description"] for each in croissant["recordSet"]}
    assert about["documents-biology"] == (
        "documents of the split biology\n"
        "Licence of the passages: CC BY-SA 4.0.\nAttribution: Authors | pages"
    )
    assert "Licence of the labels: CC0." in about["examples-biology"]
    assert "CC0" not in about["examples-earth_science"]


@pytest.mark.parametrize("format", ["release", "beir", "bright"])
def test_licences_come_back_as_they_went_out(licensed, tmp_path, format) -> None:
    folder = tmp_path / "out"
    if format == "release":
        release_into(licensed, folder)
    else:
        export_benchmark(benchmark=licensed, folder=folder, format=format)
    other = make_benchmark("again", domains=())
    run = imported(other, folder, "bright_pro" if format == "release" else format)
    assert (run.problems, run.status) == ([], "done")
    assert rows(other) == rows(licensed)


@pytest.mark.parametrize("format", ["release", "beir", "trec"])
def test_the_licence_of_the_whole_comes_back_for_every_layer_without_one(
    licensed, tmp_path, format
) -> None:
    licensed.licence = "CC-BY-4.0"
    licensed.save()
    folder = tmp_path / "out"
    if format == "release":
        release_into(licensed, folder)
    else:
        export_benchmark(benchmark=licensed, folder=folder, format=format)
    other = make_benchmark("again", domains=())
    parts = ("biology", "earth-science") if format == "trec" else ("",)
    for part in parts:
        run = imported(other, folder / part, "bright_pro" if format == "release" else format)
        assert run.problems == []
    # Of 5 layers by 2 domains, queries and passages of both and labels of biology were stated.
    of_whole = {each for each in rows(other) if each[2] == "CC-BY-4.0"}
    layers = {(domain, layer) for domain, layer, *_ in of_whole}
    assert rows(other) - of_whole == rows(licensed)
    assert layers == {
        ("earth_science", "labels"),
        *(
            (domain, layer)
            for domain in ("biology", "earth_science")
            for layer in ("answers", "aspects")
        ),
    }
    release_into(other, tmp_path / "again")
    text = (tmp_path / "again/LICENCE.md").read_text()
    assert "## CC-BY-4.0\n\nOf answers, aspects; labels of earth_science.\n" in text


def test_of_trec_each_folder_has_its_own(licensed, tmp_path) -> None:
    export_benchmark(benchmark=licensed, folder=tmp_path / "out", format="trec")
    other = make_benchmark("again", domains=())
    for domain in ("biology", "earth-science"):
        assert imported(other, tmp_path / "out" / domain, "trec").problems == []
    assert rows(other) == rows(licensed)


def test_a_licence_without_its_text_has_its_address_and_stands_on_the_card(
    licensed, tmp_path
) -> None:
    licensed.licence = "cc-by-4.0"
    licensed.save()
    state_licence(benchmark=licensed, layer="aspects", licence="Ask us", actor=None)
    release = release_into(licensed, tmp_path / "out")
    (fault,) = [each for each in release.faults if each["check"] == "licences_without_text"]
    by, zero = LINKS["CC-BY-4.0"], LINKS["CC0-1.0"]
    assert [row["name"] for row in fault["rows"]] == [
        "Ask us: no address",
        f"CC0: {zero}",
        f"cc-by-4.0: {by}",
    ]
    text = (tmp_path / "out/LICENCE.md").read_text()
    assert f"# Licence\n\ncc-by-4.0\n\n<{by}>\n" in text
    assert f"## CC0\n\nOf labels of biology.\n\n<{zero}>\n" in text
    assert "licences are named without their texts" in (tmp_path / "out/README.md").read_text()


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("CC BY-NC 4.0", "CC-BY-NC-4.0"),
        ("apache-2.0", "Apache-2.0"),
        ("MIT License", "MIT"),
        ("ODC_By 1.0", "ODC-By-1.0"),
        ("CC BY", ""),
        ("MIT, but not for profit", ""),
    ],
)
def test_usual_licences_have_an_address_by_their_name(name, key) -> None:
    assert link_of(name) == LINKS.get(key, "")
