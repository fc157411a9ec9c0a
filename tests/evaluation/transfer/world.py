"""A benchmark with something in every table, and files of it that somebody changed."""

import hashlib
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.migrations.loader import MigrationLoader

from annotate.models import SentenceItem, Vote
from corpus.benchmarks.archive import rows_of
from corpus.models import CleanedPage, ImportRun
from evaluation.models import PipelineRun
from kit import audit
from kit.backup import tables
from kit.backup.archive import Writer
from kit.runs.models import RunStatus, TrackedRun
from llm.models import Call
from tests.routes.world import make_everything

# Keys of one table lie this far from those of the next, so that each tells its table.
APART = 10_000


def number_apart(first: int) -> None:
    """Let every table give keys of its own range, from `first` on."""
    places = tables.tables_of(connection, MigrationLoader(connection))
    for at, table in enumerate(places):
        if table.columns[table.key] == "int" and not table.name.startswith("django_"):
            tables.set_last_key(table, first + at * APART)


def make_world(folder: Path) -> SimpleNamespace:
    """One of everything, at rest, with votes, an event and a release whose files are there."""
    number_apart(3_000_000)
    world = make_everything(folder)
    world.benchmark = world.query.domain.benchmark
    for rows in rows_of(world.benchmark):
        if issubclass(rows.model, TrackedRun):
            busy = rows.filter(status__in=(RunStatus.QUEUED, RunStatus.RUNNING))
            busy.update(status=RunStatus.PAUSED)
    Call.objects.update(key="ab" * 32, subject=f"debate:{world.debate.pk}:r1:A", owner="host:7")
    # Runs that other runs began, and what an import and a cleaning hold by key.
    step = world.pipeline.steps[0] | {"child": world.expansion.pk, "dropped": [world.expansion.pk]}
    rerank = {"name": "r", "kind": "rerank_point", "of": [], "child": world.reranking.pk}
    PipelineRun.objects.filter(pk=world.pipeline.pk).update(steps=[step, rerank])
    verdicts = [{"run": world.support_run.pk, "verdict": 1}]
    SentenceItem.objects.update(machines=verdicts)
    CleanedPage.objects.update(passages=[world.passage.pk])
    pools = list(world.benchmark.pools.values_list("pk", flat=True))
    ImportRun.objects.update(staged={"fence": 1, "pools": pools})
    digest = hashlib.sha256((folder / "README.md").read_bytes()).hexdigest()
    world.release.files = {"README.md": digest}
    world.release.save()
    for name in ("annotator", "outsider"):
        Vote.objects.create(case=world.case, voter=world.people[name], label=0)
    User.objects.filter(username="annotator").update(email="ann@garden.test", last_name="Owl")
    with transaction.atomic():
        audit.record(
            actor=world.people["admin"],
            verb="vote",
            target=world.vote,
            scope=f"{world.benchmark.slug}#votes",
            data={"case": world.case.pk, "person": world.people["annotator"].pk},
        )
    return world


Change = Callable[[dict[str, list[list[Any]]], dict[str, Any]], None]


def rewrite(path: Path, change: Change) -> Path:
    """Another file beside it, sealed as well: with its rows and manifest as `change` leaves them.

    Counts in the manifest follow the rows, checksums do not.
    """
    rows: dict[str, list[list[Any]]] = {}
    with zipfile.ZipFile(path) as archive:
        manifest = json.loads(archive.read("manifest.json"))
        rows = {each["name"]: [] for each in manifest["tables"]}
        for name in archive.namelist():
            if name.startswith("tables/"):
                lines = archive.read(name).split(b"\n")
                rows[name.split("/")[1]] += [json.loads(line) for line in lines]
        change(rows, manifest)
        made = path.with_name("changed.zip")
        writer = Writer(made)
        for label, found in rows.items():
            if found:
                writer.add_rows(label, 1, [json.dumps(row).encode() for row in found])
        for name in archive.namelist():
            if name.startswith("files/"):
                (path.parent / "member").write_bytes(archive.read(name))
                writer.add_file(name.removeprefix("files/"), path.parent / "member")
    for each in manifest["tables"]:
        each["rows"] = len(rows[each["name"]])
    writer.close(manifest)
    return made


def column(label: str, name: str) -> int:
    """The place of a column in the rows of a file."""
    from evaluation.transfer.graph import Part, models_of

    kind = models_of()[label]
    return [each.name for each in Part(kind, kind._base_manager.none()).fields].index(name)
