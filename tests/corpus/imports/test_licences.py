"""Licences by domain and layer: imported, compared, stated, shown; wrong ones are named."""

import json
from pathlib import Path

import pytest
from django.test import Client

from corpus.benchmarks.services import state_licence
from corpus.importers.rows import LAYERS
from corpus.models import Benchmark, Layer, Licence
from kit.errors import Refused
from kit.models import Event
from tests.corpus.import_files import bright_pro, bright_row, imported, write_lines
from tests.factories import make_benchmark, make_member, make_passage
from tests.markup import one_line

pytestmark = pytest.mark.django_db
WHOLE = "Share alike.\n\n  1. Definitions\n"
STATED = {
    "domain": "biology",
    "layer": "passages",
    "licence": "CC BY-SA 4.0",
    "url": "https://example.org/by-sa",
    "attribution": "Authors of the pages",
    "text": WHOLE,
}


@pytest.fixture
def benchmark() -> Benchmark:
    return make_benchmark("light", domains=("robotics",))


def folder(root: Path, *rows: dict) -> Path:
    bright_pro(root, examples=[], aspects=[], documents=[{"id": "p", "content": "x"}])
    write_lines(root / "licences.jsonl", list(rows))
    return root


def stored() -> list[tuple[str, ...]]:
    rows = Licence.objects.values_list("domain__name", "layer", "name", "attribution", "text")
    return sorted(rows)


def messages(run) -> list[str]:
    return [f"{each['file']}:{each['line']} {each['message']}" for each in run.problems]


def test_names_of_layers_are_the_same_for_files_and_screens() -> None:
    assert tuple(Layer.values) == LAYERS


def test_licences_are_imported_and_compared(benchmark, tmp_path) -> None:
    everywhere = {"layer": "labels", "licence": "CC0"}
    run = imported(benchmark, folder(tmp_path / "a", STATED, everywhere))
    assert (run.problems, run.summary["licences"]) == ([], {"added": 2, "present": 0})
    # Without a domain a row is of those in the folder: not of robotics, which is not.
    assert stored() == [
        ("biology", "labels", "CC0", "", ""),
        ("biology", "passages", "CC BY-SA 4.0", "Authors of the pages", WHOLE),
    ]
    short = {name: STATED[name] for name in ("domain", "layer", "licence")}
    again = imported(benchmark, folder(tmp_path / "b", short, everywhere))
    assert again.summary["licences"] == {"added": 0, "present": 2}
    other = imported(benchmark, folder(tmp_path / "c", {**STATED, "attribution": "Nobody"}))
    assert other.status == "failed"
    assert messages(other) == [
        "licences.jsonl:1 The licence of the passages of biology is here already with another "
        "attribution. An admin can change it on the page Licences."
    ]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"layer": "pages"}, "One of queries, answers, passages, aspects, labels is needed here"),
        ({"licence": " "}, "The name of the licence is needed here."),
        ({"licence": None}, "This field is missing."),
        ({"domain": "chemistry"}, "has a domain 'chemistry'"),
        ({"url": "x" * 2001}, "Too long"),
    ],
)
def test_a_wrong_row_is_named_and_nothing_is_kept(benchmark, tmp_path, change, words) -> None:
    run = imported(benchmark, folder(tmp_path / "a", STATED, {**STATED, **change}))
    [message] = messages(run)
    assert message.startswith("licences.jsonl:2 ")
    assert words in message
    assert stored() == []
    assert not benchmark.domains.filter(name="biology").exists()


@pytest.mark.parametrize("format", ["bright", "beir", "bridge", "trec"])
def test_every_format_takes_licences_and_none_takes_them_for_data(
    benchmark, tmp_path, format
) -> None:
    root = tmp_path / "biology"
    if format == "bright":
        root = root.with_name("x")
        write_lines(root / "biology.jsonl", [bright_row(gold_ids=[], excluded_ids=[])])
    else:
        names = {"beir": ("_id", "text"), "bridge": ("_id", "text"), "trec": ("docno", "contents")}
        write_lines(root / "corpus.jsonl", [dict.fromkeys(names[format], "x")])
    write_lines(root / "licences.jsonl", [{"layer": "passages", "licence": "CC0"}])
    run = imported(benchmark, root, format)
    assert (run.problems, run.summary["oddities"]) == ([], [])
    assert stored() == [("biology", "passages", "CC0", "", "")]


def test_a_licence_is_stated_changed_and_shown(benchmark) -> None:
    admin = make_member(benchmark, "admin-1", "admin")
    client = Client()
    client.force_login(admin)
    [domain] = benchmark.domains.all()
    passage = make_passage(benchmark, "a/1", "robotics")
    for name in ("CC BY 4.0", "CC BY-SA 4.0"):
        said = {**STATED, "domain": domain.pk, "licence": name}
        assert client.post("/b/light/licences/", said).status_code == 302
    assert [row[2] for row in stored()] == ["CC BY-SA 4.0"]
    given = Event.objects.filter(verb="state licence").order_by("pk")
    assert [each.data["licence"] for each in given] == ["CC BY 4.0", "CC BY-SA 4.0"]
    for path in ("licences/", f"passages/{passage.pk}/"):
        shown = one_line(client.get(f"/b/light/{path}"))
        assert 'href="https://example.org/by-sa"' in shown
        assert "Authors of the pages" in shown
    [row] = client.get("/api/b/light/licences/").json()["results"]
    assert row == {**STATED, "domain": "robotics"}


def test_the_api_states_a_licence_of_every_domain(benchmark) -> None:
    benchmark.domains.create(name="biology", is_ready=True)
    client = Client()
    client.force_login(make_member(benchmark, "admin-1", "admin"))

    def put(**said: str) -> int:
        body = json.dumps({"layer": "labels", "licence": "CC0", **said})
        path = "/api/b/light/licences/"
        return client.put(path, body, content_type="application/json").status_code

    assert put() == 204
    assert [row[:3] for row in stored()] == [
        ("biology", "labels", "CC0"),
        ("robotics", "labels", "CC0"),
    ]
    assert (put(domain="nowhere"), put(layer="pages")) == (400, 400)
    # What is said again is no change.
    assert put() == 204
    assert Event.objects.filter(verb="state licence").count() == 2


def test_an_address_that_is_none_of_the_web_is_no_link(benchmark) -> None:
    state_licence(
        benchmark=benchmark, layer="labels", licence="X", url="javascript:alert(1)", actor=None
    )
    assert not Licence.objects.get().is_link
    with pytest.raises(Refused, match="Name the licence"):
        state_licence(benchmark=benchmark, layer="labels", licence=" ", actor=None)
