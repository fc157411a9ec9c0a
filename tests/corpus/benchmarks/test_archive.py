"""An archived benchmark is read only, and a deleted one leaves all others as they were."""

from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db.models import Model
from django.test import Client

from annotate.home import waiting_work
from annotate.models import Draft
from corpus.benchmarks.archive import archive, delete, rows_of, unarchive
from corpus.benchmarks.services import create_benchmark, state_licence
from corpus.models import Benchmark, CorpusVersion, Judgment
from corpus.texts import index
from corpus.texts.indexing import request_index
from kit.backup.archive import Reader
from kit.errors import Refused
from kit.health.logs import run_now
from kit.models import Event
from kit.runs.models import RunStatus, TrackedRun
from tests.factories import (
    make_benchmark,
    make_gold,
    make_member,
    make_passage,
    make_pool,
    make_query,
)
from tests.routes.world import make_everything


@pytest.fixture
def benchmark(db: None) -> Benchmark:
    run_now.set("")  # an earlier test claimed a run in this process
    return make_benchmark()


def client_of(user: Any) -> Client:
    client = Client()
    client.force_login(user)
    return client


def end_work(benchmark: Benchmark) -> None:
    for rows in rows_of(benchmark):
        if issubclass(rows.model, TrackedRun):
            rows.update(status=RunStatus.DONE)


def test_an_archived_benchmark_is_read_and_not_changed(benchmark: Benchmark) -> None:
    end_work(benchmark)
    client = client_of(make_member(benchmark, "ann", "admin", "annotator"))
    here, there = "/b/demo/licences/", "/api/b/demo/licences/"
    assert client.post("/b/demo/archive/", {"verb": "archive"}, follow=True).status_code == 200
    assert client.get(here).status_code == client.get(there).status_code == 200
    refused = client.post(here, {"layer": "labels", "licence": "CC0"})
    assert refused.status_code == 409
    assert "is archived: it can be read, not changed." in refused.content.decode()
    stated = {"layer": "labels", "licence": "CC0"}
    answer = client.put(there, stated, content_type="application/json")
    assert (answer.status_code, "is archived" in answer.json()["detail"]) == (409, True)
    asked = {"HX-Request": "true", "HX-Current-URL": f"http://testserver{here}"}
    assert client.post(here, headers=asked)["HX-Redirect"] == here
    assert "is archived" in client.get(here).content.decode()
    # By command as well, and a stranger learns nothing.
    with pytest.raises(Refused, match="is archived"):
        held = Benchmark.objects.get()
        state_licence(benchmark=held, layer="labels", licence="CC0", actor=None)
    stranger = client_of(make_member(make_benchmark("other"), "x", "admin"))
    assert stranger.post(here).status_code == 404
    assert client.delete("/api/b/demo/?typed=demo").status_code == 403  # for superusers
    assert client.delete("/api/b/demo/archive/").status_code == 204
    assert client.post(here, {"layer": "labels", "licence": "CC0"}).status_code == 302
    verbs = list(Event.objects.filter(scope="demo").order_by("pk").values_list("verb", flat=True))
    assert verbs == ["archive benchmark", "unarchive benchmark", "state licence"]


def test_lists_and_queues_leave_it_out(benchmark: Benchmark) -> None:
    ann = make_member(benchmark, "ann", "admin", "annotator")
    make_query(benchmark, "q1")
    client = client_of(ann)
    assert "Demo" in client.get("/home/corpus/").content.decode()
    end_work(benchmark)
    had = waiting_work(ann)
    archive(benchmark=benchmark, actor=ann)
    assert not waiting_work(ann)
    page = client.get("/home/corpus/").content.decode()
    assert "Show archived" in page
    assert "/b/demo/" not in page
    assert "/b/demo/" in client.get("/home/corpus/?archived=1").content.decode()
    for query, count in (("", 0), ("?archived=true", 1)):
        assert client.get(f"/api/benchmarks/{query}").json()["count"] == count
    unarchive(benchmark=benchmark, actor=ann)
    assert waiting_work(ann) == had


def test_work_is_not_archived_under_way(benchmark: Benchmark) -> None:
    version = CorpusVersion.objects.get()
    run = request_index(version)
    with pytest.raises(Refused, match="1 × passage index run"):
        archive(benchmark=benchmark, actor=None)
    type(run).objects.update(status=RunStatus.DONE)
    archive(benchmark=benchmark, actor=None)
    with pytest.raises(Refused, match="archived already"):
        archive(benchmark=benchmark, actor=None)


def test_every_kind_that_leads_to_a_benchmark_belongs_to_it(benchmark: Benchmark) -> None:
    """A foreign key that may be null says nothing of whose a row is."""
    own = {rows.model for rows in rows_of(benchmark)}
    for kind in apps.get_models(include_auto_created=True):
        leads = {field.related_model for field in kind._meta.concrete_fields} & own
        assert kind in own or not leads, kind


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_deleting_one_leaves_every_row_of_others(tmp_path: Path) -> None:
    people = make_everything(tmp_path).people
    gone = Benchmark.objects.get(slug="demo")
    other = make_benchmark("other", ("biology", "law"))
    make_member(other, "keeper", "admin", "annotator", domains=("law",))
    pairs = [(make_query(other, f"q{n}"), make_passage(other, f"p{n}")) for n in range(3)]
    make_pool(other, *pairs)
    for query, passage in pairs:
        make_gold(query, passage)
    owner = people["admin"]
    owner.is_superuser = True
    owner.save()
    end_work(gone)
    refusals = [(gone.slug, owner, "Archive the benchmark first"), ("x", owner, "Type ")]
    for typed, actor, why in [*refusals, (gone.slug, people["annotator"], "superuser")]:
        with pytest.raises(Refused, match=why):
            delete(benchmark=gone, typed=typed, actor=actor)
    archive(benchmark=gone, actor=owner)
    own = {rows.model: set(rows.values_list("pk", flat=True)) for rows in rows_of(gone)}
    assert sum(map(bool, own.values())) > 40, "kinds of rows that go"
    before = every_row(without=own)
    events = list(Event.objects.order_by("pk").values_list())
    path = delete(benchmark=gone, typed=gone.slug, actor=owner)
    assert path.parent == settings.ASSAY_DATA / "backups"
    listed = {each["name"]: each["rows"] for each in Reader(path).manifest["tables"]}
    assert (listed["corpus_benchmark"], listed["corpus_judgment"]) == (3, len(own[Judgment]) + 3)
    path.unlink()
    assert every_row(without={}) == before
    assert not any(rows.exists() for rows in rows_of(gone))
    assert not Draft.objects.exists()
    assert list(Event.objects.order_by("pk").values_list())[:-1] == events
    assert Event.objects.latest("pk").verb == "delete benchmark"
    with pytest.raises(Refused, match="choose another"):
        create_benchmark(name="Again", slug=gone.slug, actor=owner)


def every_row(without: dict[type[Model], set[Any]]) -> dict[str, list[Any]]:
    """Whatever stands in any table, but events, drafts and these rows."""
    kinds = set(apps.get_models(include_auto_created=True)) - {Event, Draft}
    return {
        kind._meta.label: list(
            kind._base_manager.exclude(pk__in=without.get(kind, ())).order_by("pk").values_list()
        )
        for kind in kinds
    }


@pytest.mark.django_db(transaction=True)
def test_its_words_are_found_no_more(benchmark: Benchmark) -> None:
    version = CorpusVersion.objects.get()
    kept = make_passage(make_benchmark("other"), "p", text="an owl in an oak")
    make_passage(benchmark, "p", text="an owl in an oak")
    call_command("index_passages")
    versions = list(CorpusVersion.objects.values_list("pk", flat=True))
    assert len(index.matching("owl", versions=versions, most=9)) == 2
    end_work(benchmark)
    call_command("benchmark", "archive", "demo")
    with pytest.raises(CommandError, match="Type demo"):
        call_command("benchmark", "delete", "demo")
    call_command("benchmark", "delete", "demo", confirm="demo")
    assert index.matching("owl", versions=versions, most=9) == [kept.pk]
    assert not CorpusVersion.objects.filter(pk=version.pk).exists()
    for path in (settings.ASSAY_DATA / "backups").glob("before-deleting-demo-*"):
        path.unlink()
