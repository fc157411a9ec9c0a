"""A benchmark goes into one file and comes out of it the same, or not at all."""

import re
import zipfile
from collections.abc import Iterator
from datetime import timedelta
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.core.files.uploadedfile import UploadedFile
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.utils import timezone

from annotate.models import EscalationCase, Vote
from annotate.voting.models import altered_cases
from corpus.access import enter
from corpus.models import Benchmark, Judgment
from evaluation.models import Release, Transfer
from evaluation.tasks import transfer
from evaluation.transfer import reading, references, services, writing
from evaluation.transfer.graph import LEFT_OUT, left_open, models_of, parts_of
from kit.backup import tables
from kit.backup.archive import Writer
from kit.errors import Refused
from kit.models import Event
from kit.runs.models import LostLease
from llm.models import Call
from tests.evaluation.transfer.world import Change, column, make_world, number_apart, rewrite


def test_every_model_travels_or_stays_with_a_reason() -> None:
    assert left_open() == set()
    assert not LEFT_OUT.keys() & models_of().keys()
    assert LEFT_OUT.keys() <= {m._meta.label for m in apps.get_models(include_auto_created=True)}
    assert all(LEFT_OUT.values())


def test_no_key_of_another_shape_gets_by() -> None:
    def key(target: str, value: Any) -> int:
        return 7 if value == 1 else 0

    def changed(value: Any) -> Any:
        return references.change("corpus.Pool", value, key=key, hashed=str)

    given = [1, "1", " 1", 2, 5.0, True, "5_0", None, "five"]
    assert list(map(changed, given)) == [7, "7", "7", 0, 0, 0, "0", None, "five"]
    works = [["debate.DebateRun", "5"], ["debate.DebateRun", 1], ["named", "debate:5"]]
    assert references.of_works(works, key=key) == [
        ["debate.DebateRun", "0"],
        ["debate.DebateRun", 7],
        ["named", 0],
    ]


@pytest.fixture
def world(transactional_db: None, tmp_path: Path, settings: Any) -> SimpleNamespace:
    settings.RELEASES = tmp_path / "releases"
    (tmp_path / "card").mkdir()
    return make_world(tmp_path / "card")


@pytest.fixture
def file(world: SimpleNamespace, tmp_path: Path) -> Path:
    services.write_file(benchmark=world.benchmark, path=tmp_path / "all.zip")
    return tmp_path / "all.zip"


def counts() -> dict[str, int]:
    kinds = (each for each in apps.get_models(include_auto_created=True) if each._meta.managed)
    return {each._meta.label: each._base_manager.count() for each in kinds}


def numbers_in(benchmark: Benchmark) -> Iterator[tuple[str, int]]:
    """Every number of seven digits in what is stored, with its table."""
    for part in parts_of(benchmark):
        for _, line in tables.rows_of(connection, part.numbered, part.rows):
            for found in re.findall(rb"(?<![\w.-])\d{7}(?![\w-])", line):
                yield part.label, int(found)


def test_a_copy_is_equal_and_leads_to_nothing_of_what_it_was_made_of(
    world: SimpleNamespace, file: Path
) -> None:
    before = world.benchmark
    number_apart(6_000_000)
    admin = User.objects.get(username="stranger")
    copy = services.import_file(path=file, slug="copy", admin=admin)
    run = copy.transfers.get()
    assert run.digest == services.open_file(file).manifest["digest"]
    assert (run.status, copy.archived_at) == ("done", None)
    own = {part.label: part.rows.count() for part in parts_of(before)}
    # One event more says that it was imported, one that it got an admin.
    made = {part.label: part.rows.count() for part in parts_of(copy)}
    assert made == own | {"kit.Event": own["kit.Event"] + 2}
    # No foreign key and no number in JSON or in a name leads back.
    keys = {int(pk) for part in parts_of(before) for pk in part.rows.values_list("pk", flat=True)}
    keys |= {each.pk for each in world.people.values()} - {admin.pk}
    assert [(label, number) for label, number in numbers_in(copy) if number in keys] == []
    assert sum(1 for _, number in numbers_in(copy) if number >= 6_000_000) > 300
    votes = Vote.objects.filter(case__query__domain__benchmark=copy).order_by("case", "pk")
    assert (len(votes), altered_cases(votes)) == (3, [])
    assert all(each.voter.username.startswith("erased-") for each in votes)
    assert not any(each.voter.is_active for each in votes)
    case = EscalationCase.objects.get(pk=votes[0].case_id)
    assert case.public_id != world.case.public_id
    call = Call.objects.latest("pk")
    debate = copy.debate_runs.get().debates.get()
    assert call.subject == f"debate:{debate.pk}:r1:A"
    assert call.owner == ""
    told = Event.objects.filter(scope="copy#votes", verb="vote").latest("pk")
    voter = User.objects.get(pk=told.data["person"])
    assert (told.data["case"], voter in {each.voter for each in votes}) == (case.pk, True)
    # What came with a file answers no request that is made here.
    assert call.key != "ab" * 32
    assert writing.own_hash(call.key, copy.pk) == "ab" * 32
    release = Release.objects.get(benchmark=copy)
    assert Path(release.folder, "README.md").read_text() == "card"
    assert enter(admin, "copy").is_admin
    # Its own file differs by these two events alone.
    again = file.with_name("again.zip")
    services.write_file(benchmark=copy, path=again)
    first, second = (
        {each["name"]: each for each in services.open_file(each).manifest["tables"]}
        for each in (file, again)
    )
    assert {name for name in first if first[name] != second[name]} == {"kit.Event"}


def test_the_file_names_nobody_and_holds_no_secret(world: SimpleNamespace, file: Path) -> None:
    with zipfile.ZipFile(file) as archive:
        content = b"\n".join(archive.read(name) for name in archive.namelist())
    # The others are called as their roles, which the record tells.
    for word in (
        b"outsider",
        b"spare",
        b"stranger",
        b"ann@garden.test",
        b"Owl",
        b"hook.test",
        b"host:7",
        str(file.parent).encode(),
    ):
        assert word not in content
    assert file.stat().st_mode & 0o077 == 0


def test_people_are_the_same_in_each_file_of_a_benchmark_and_in_no_other(
    world: SimpleNamespace,
) -> None:
    key = world.people["annotator"].pk
    name = writing.pseudonyms(world.benchmark)(key)
    assert name == writing.pseudonyms(Benchmark.objects.get(slug="demo"))(key)
    assert name != writing.pseudonyms(Benchmark.objects.get(slug="elsewhere"))(key)


@pytest.mark.slow
def test_an_altered_vote_is_still_known_as_altered(world: SimpleNamespace, tmp_path: Path) -> None:
    Vote.objects.filter(pk=world.vote.pk).update(label=0)
    services.write_file(benchmark=world.benchmark, path=tmp_path / "all.zip")
    copy = services.import_file(path=tmp_path / "all.zip", slug="copy")
    votes = Vote.objects.filter(case__query__domain__benchmark=copy).order_by("case", "pk")
    assert altered_cases(votes) == [votes[0].case_id]


def test_nothing_is_written_while_work_waits(world: SimpleNamespace, tmp_path: Path) -> None:
    type(world.run).objects.filter(pk=world.run.pk).update(status="queued")
    with pytest.raises(Refused, match="debate run waits or runs"):
        services.write_file(benchmark=world.benchmark, path=tmp_path / "all.zip")
    assert not list(tmp_path.glob("*.zip*"))


def value(label: str, name: str, given: Any) -> Change:
    """Another value in the last row of a table."""

    def change(rows: dict[str, list[list[Any]]], _: dict[str, Any]) -> None:
        rows[label][-1][column(label, name)] = given

    return change


def other_schema(_: Any, manifest: dict[str, Any]) -> None:
    manifest["version"] = "99.0"
    manifest["schema"]["corpus.Query"]["colour"] = "text"


def two_benchmarks(rows: dict[str, list[list[Any]]], _: Any) -> None:
    rows["corpus.Benchmark"] *= 2


def lost_row(rows: dict[str, list[list[Any]]], _: Any) -> None:
    del rows["annotate.Vote"][1]


def more_values(rows: dict[str, list[list[Any]]], _: Any) -> None:
    rows["corpus.Query"][0].append(1)


HOSTILE = {
    "another version's": (other_schema, r"written by Assay 99.0, whose tables are others"),
    "two benchmarks": (two_benchmarks, "holds 2 benchmarks"),
    "a row is gone": (lost_row, "is not what the file says|leads to"),
    "more values": (more_values, r"corpus.Query, row 1 has not the \d+ values"),
    "a changed label": (value("corpus.Judgment", "label", 0), "is not what the file says"),
    "no row": (value("corpus.Judgment", "passage", 99), r"passage leads to '99'"),
    "the zeroth row": (value("corpus.Judgment", "query", 0), "query leads to '0'"),
    "a person of here": (value("annotate.Vote", "voter", "admin"), "voter leads to 'admin'"),
    "too long": (value("corpus.Pool", "name", "x" * 500), "name is 500 signs long, of 120"),
    "a NUL": (value("corpus.Passage", "text", "a\x00b"), "holds a NUL"),
    "a text as number": (value("annotate.Vote", "label", "1"), "label holds '1', which is no int"),
    "a large number": (value("annotate.Vote", "label", 10**9), "too large or too small"),
    "no such state": (value("corpus.Judgment", "status", "best"), "'best' is none of its values"),
    "work that waits": (value("debate.DebateRun", "status", "queued"), "a run that waits or runs"),
    "a token": (value("evaluation.AgentItem", "token_hash", "0" * 64), "this never travels"),
    "another record": (value("kit.Event", "scope", "2"), "in the record of something else"),
    "a page elsewhere": (value("corpus.CollectedPage", "sha256", "../../key"), "is no SHA-256"),
    "a file elsewhere": (
        value("evaluation.Release", "files", '{"../../secret.key": "0"}'),
        "names a file outside its folder",
    ),
    "other bytes": (value("evaluation.Release", "files", '{"README.md": "0"}'), "is not what"),
    "broken JSON": (value("corpus.Judgment", "provenance", "{" * 20), "which is no json"),
    "a rule of the database": (
        value("annotate.Aspect", "weight", 9),
        "does not take annotate.Aspect",
    ),
    "half a sign": (value("corpus.Judgment", "provenance", '{"a": "\\ud800"}'), "does not take"),
    "no event": (value("kit.Event", "data", "3"), "is not what the file says"),
    "no steps": (value("evaluation.PipelineRun", "steps", "7"), "is not what the file says"),
    "deep JSON": (value("corpus.Judgment", "provenance", "[" * 50_000), "which is no json"),
}


@pytest.mark.slow
def test_what_is_not_as_it_was_written_is_refused_and_leaves_nothing(
    world: SimpleNamespace, file: Path
) -> None:
    before = counts()
    for change, words in HOSTILE.values():
        with pytest.raises(Refused, match=words):
            services.import_file(path=rewrite(file, change), slug="copy")
        assert counts() == before, words


def test_what_is_no_file_of_a_benchmark_is_refused(world: SimpleNamespace, file: Path) -> None:
    whole = file.read_bytes()
    with zipfile.ZipFile(file) as archive:
        at = archive.getinfo("tables/corpus.Benchmark/0000000001-0000000001.jsonl")
    at = at.header_offset + len(at.filename) + 40
    file.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    with pytest.raises(
        Refused, match=r"is damaged, or no file of a benchmark: corpus.Benchmark, rows 1 to 1"
    ):
        services.open_file(file)
    for member, words in (
        ("auth.User", "auth.User is no table of a benchmark"),
        ("corpus.Query", "rows are missing, or stand there twice"),
    ):
        other = file.with_name(f"{member}.zip")
        file.write_bytes(whole)
        writer = Writer(other)
        manifest = services.open_file(file).manifest
        writer.add_rows(member, 7, [b"[1]"])
        writer.close(manifest)
        with pytest.raises(Refused, match=words):
            services.open_file(other)
    bomb = file.with_name("bomb.zip")
    writer = Writer(bomb)
    for at in range(9):
        writer.add_rows("corpus.Passage", at + 1, [b" " * (64 << 20)])
    writer.close(services.open_file(file).manifest)
    with pytest.raises(Refused, match="would unpack to"):
        services.open_file(bomb)
    installation = file.with_name("backup.zip")
    writer = Writer(installation)
    writer.close({"format": 1, "tables": []})
    with pytest.raises(Refused, match="no file of a benchmark, but a backup"):
        services.open_file(installation)


@pytest.mark.slow
def test_an_import_whose_worker_died_is_swept_away(world: SimpleNamespace, file: Path) -> None:
    before = counts()
    run = reading.Copy(services.open_file(file), "copy").load()
    # Nobody sees it before it is over.
    assert (run.benchmark.memberships.count(), run.benchmark.archived_at is None) == (0, False)
    Transfer.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    services.sweep()
    assert counts() == before


@pytest.mark.slow
def test_commands_say_what_they_did(world: SimpleNamespace, tmp_path: Path) -> None:
    path, out = tmp_path / "all.zip", StringIO()
    call_command("export_benchmark", "demo", everything=path, stdout=out, stderr=StringIO())
    digest = services.open_file(path).manifest["digest"]
    assert digest in out.getvalue()
    out = StringIO()
    call_command("import_benchmark", path, slug="copy", admin="stranger", stdout=out)
    assert f"Imported copy. Digest {digest}, as in the file." in out.getvalue()
    assert Judgment.objects.filter(query__domain__benchmark__slug="copy").count() == (
        Judgment.objects.filter(query__domain__benchmark=world.benchmark).count()
    )
    with pytest.raises(Exception, match="There is a benchmark copy already"):
        call_command("import_benchmark", path, slug="copy", admin="stranger", stdout=out)
    with pytest.raises(Exception, match="Name who becomes its admin here"):
        call_command("import_benchmark", path, slug="more", stdout=out)


def test_staff_send_a_file_and_a_worker_makes_the_benchmark(
    world: SimpleNamespace, file: Path, settings: Any
) -> None:
    admin, client = world.people["admin"], Client()
    client.force_login(admin)
    page, api = "/b/demo/transfers/import/", "/api/b/demo/transfers/import/"

    def send(url: str, name: str, **fields: Any) -> Any:
        with file.open("rb") as given:
            return client.post(url, {name: given, **fields})

    assert "Make a new benchmark of a file" not in client.get("/b/demo/transfers/").content.decode()
    assert (send(page, "upload").status_code, send(api, "file").status_code) == (403, 403)
    User.objects.filter(pk=admin.pk).update(is_staff=True)
    assert "Make a new benchmark of a file" in client.get("/b/demo/transfers/").content.decode()
    refused = send(page, "upload", slug="elsewhere")
    assert refused.status_code == 422
    assert "There is a benchmark elsewhere already." in refused.content.decode()
    assert send(api, "file").status_code == 202  # named as in the file: told by the worker
    settings.ASSAY_UPLOAD_LIMIT, limit = 100, settings.ASSAY_UPLOAD_LIMIT
    assert send(page, "upload", slug="copy").status_code in (413, 422)
    settings.ASSAY_UPLOAD_LIMIT = limit
    assert send(page, "upload", slug="copy").status_code == 302
    named, run = Transfer.objects.filter(kind="create").order_by("pk")
    for each in (named, run):
        transfer(each.pk)
        each.refresh_from_db()
        assert not services.place_of(each).exists()
    assert (named.status, "There is a benchmark demo already" in named.error) == ("failed", True)
    assert (run.status, run.error, run.report) == ("done", "", {"benchmark": "copy"})
    assert run.digest == services.open_file(file).manifest["digest"]
    copy = Benchmark.objects.get(slug="copy")
    assert enter(admin, "copy").is_admin
    assert (copy.archived_at, copy.transfers.get().status) == (None, "done")
    words = client.get(f"/b/demo/transfers/{run.pk}/").content.decode()
    assert '<a href="/b/copy/">copy</a>' in words
    # A damaged file names its place, and nothing is kept.
    before = counts() | {"evaluation.Transfer": 0, "kit.Event": 0}
    file.write_bytes(rewrite(file, value("annotate.Vote", "label", "1")).read_bytes())
    bad = Transfer.objects.get(pk=send(api, "file", slug="more").json()["id"])
    transfer(bad.pk)
    bad.refresh_from_db()
    assert (bad.status, "row 3, label holds '1'" in bad.error) == ("failed", True)
    assert counts() | {"evaluation.Transfer": 0, "kit.Event": 0} == before


@pytest.mark.slow
def test_what_a_worker_that_died_had_made_is_made_anew_and_what_was_cancelled_is_not(
    world: SimpleNamespace, file: Path
) -> None:
    admin = world.people["admin"]

    def started(slug: str) -> Transfer:
        with file.open("rb") as given:
            upload = UploadedFile(given, "all.zip", size=file.stat().st_size)
            about = {"benchmark": world.benchmark, "actor": admin}
            return services.start_import(upload=upload, slug=slug, **about)

    run = started("copy")
    half = reading.Copy(services.open_file(file), "copy", of=run.pk).load()
    transfer(run.pk)
    run.refresh_from_db()
    assert (run.status, run.error) == ("done", "")
    assert not Transfer.objects.filter(pk=half.pk).exists()
    before = counts() | {"kit.Event": 0, "evaluation.Transfer": 0}
    cancelled = started("other")
    assert cancelled.claim()
    services.cancel_transfer(run=Transfer.objects.get(pk=cancelled.pk), actor=admin)
    with pytest.raises(LostLease):
        services.import_file(path=file, slug="other", admin=admin, of=cancelled)
    assert counts() | {"kit.Event": 0, "evaluation.Transfer": 0} == before
