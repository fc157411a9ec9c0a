"""A benchmark made of a file, under keys of this installation; all of it, or nothing.

While its rows are written it is archived and has no member: nobody sees it, no worker takes
anything of it. What was written is read again, and its digest has to be that of the file.
"""

import contextlib
import gzip
import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import orjson
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection, models, transaction
from django.db.models import ProtectedError
from django.utils import timezone

from annotate.voting.models import Vote
from corpus.benchmarks.archive import delete_rows, rows_of
from corpus.models import Benchmark
from corpus.texts.indexing import Pace
from evaluation.transfer import references, writing
from evaluation.transfer.checking import checked
from evaluation.transfer.graph import Part, is_person, parts_of
from evaluation.transfer.models import Transfer, TransferKind
from evaluation.transfer.references import PERSON
from kit import storage
from kit.account.people import is_pseudonym, stand_in
from kit.backup import tables
from kit.backup.archive import Reader
from kit.database.bulk import bulk_loading, one_writer_at_a_time, reserve_block
from kit.errors import Refused
from kit.models import Event
from kit.runs.heartbeat import Heartbeat
from llm.models import Account, Call

_VOTES: Final = 500
# Rows that are deleted at once where everybody else waits meanwhile.
_PIECE: Final = 500
Say = Callable[[str], object]


class Copy:
    """A benchmark that is being written from a file, and the run that says so."""

    def __init__(
        self,
        reader: Reader,
        slug: str,
        say: Say = lambda _: None,
        *,
        step: Callable[[int, int], object] = lambda *_: None,
        of: int = 0,
    ) -> None:
        self._reader, self._slug, self._say = reader, slug, say
        # The run that a person sees of it, where there is one: it has to go on as well.
        self._step_of, self._of = step, of
        self._rows = {each["name"]: each["rows"] for each in reader.manifest["tables"]}
        self._first: dict[str, int] = {}
        self._people: dict[str, int] = {}
        self._made: list[int] = []
        self._done, self._pace = 0, Pace(1)

    def load(self) -> Transfer:
        """Write everything; the run of the hidden benchmark. Raises Refused, and leaves nothing."""
        parts = parts_of(Benchmark(pk=0, slug=""))
        with transaction.atomic():
            for part in parts:
                if self._rows[part.label] and not part.kind._meta.pk.remote_field:  # type: ignore[union-attr]
                    self._first[part.label] = reserve_block(part.kind, self._rows[part.label])
            self._write(parts[0])
            self.benchmark = Benchmark.objects.get(pk=self._first["corpus.Benchmark"])
            self.run = Transfer.objects.create(
                benchmark=self.benchmark, kind=TransferKind.IMPORT, made=self._made_so_far
            )
            self.run.claim()
        try:
            with (
                connection.constraint_checks_disabled(),
                bulk_loading(),
                Heartbeat(self.run) as self._heartbeat,
            ):
                for part in parts[1:]:
                    self._load(part)
                self._finish()
        except BaseException:
            forget(self.run)
            raise
        return self.run

    @property
    def _made_so_far(self) -> dict[str, Any]:
        return {
            "first": self._first,
            "rows": self._rows,
            "people": self._made,
            "of": self._of,
        }

    def digest(self) -> str:
        """Of what the database holds now."""
        lines = writing.Lines(self.benchmark, connection)
        return writing.digest_of(writing.listed(lines, lambda *_: None))

    # A table after the other.

    def _load(self, part: Part) -> None:
        # Rows that lead to later ones come in one transaction; on SQLite others would wait for it,
        # and nothing looks at foreign keys here: each leads to a row that is counted.
        if part.leads_to_itself and not one_writer_at_a_time():
            with transaction.atomic():
                self._write(part)
        else:
            self._write(part)
        if count := self._rows[part.label]:
            self._say(f"{part.label}: {count:,} rows")

    def _write(self, part: Part) -> None:
        number = 0
        for place, lines in self._reader.pieces(part.label):
            rows = [self._row(part, number + at, line) for at, line in enumerate(lines, 1)]
            with self._pace.writing():
                tables.load_rows(part.numbered, place, rows)
            number += len(lines)
            if part.kind is not Benchmark:  # its own row is that which the run stands on
                self._step(len(lines))
        if number != self._rows[part.label]:
            raise Refused(
                f"{part.label}: {self._rows[part.label]:,} rows are listed, {number:,} there."
            )

    def _step(self, rows: int) -> None:
        """So many more rows are in. Raises LostLease where the import was stopped."""
        self._done += rows
        for step in (self._heartbeat.step, self._step_of):
            step(self._done, sum(self._rows.values()))

    def _row(self, part: Part, number: int, line: bytes) -> list[Any]:
        where = f"{part.label}, row {number:,}"
        values = checked(part, line, where, self._rows)
        for at, target in part.targets.items():
            values[at] = self._led(part, at, target, values[at])
        try:
            for at, field in enumerate(part.fields):
                rule = references.RULES.get((part.label, field.name))
                if rule is not None and values[at] is not None:
                    values[at] = self._changed(rule, field, values[at])
            if own := _OWN.get(part.label):
                own(self, part, values)
        except (TypeError, ValueError, AttributeError) as error:
            raise Refused(f"{where} has not the shape that it should have.") from error
        found = dict(zip(part.table.columns, values, strict=True))
        if part.label in self._first:
            found[part.key] = self._first[part.label] + number - 1
        return [found[column] for column in part.numbered.columns]

    def _led(self, part: Part, at: int, target: str, value: Any) -> int | None:
        if value is None or (part.kind is Benchmark and part.fields[at].name == "taken_up"):
            return None
        if is_person(target):
            return self._person(value)
        return self._first[target] + int(value) - 1

    def _person(self, name: str) -> int:
        if name not in self._people:
            with transaction.atomic():
                known = User.objects.filter(username=name).exists()
                self._people[name] = pk = stand_in(name).pk
                if not known:
                    self._made.append(pk)
                    Transfer.objects.filter(pk=self.run.pk).update(made=self._made_so_far)
        return self._people[name]

    def _changed(self, rule: references.Rule, field: Any, value: Any) -> Any:
        is_json = field.get_internal_type() == "JSONField"
        change = references.changed_json if is_json else references.change
        return change(rule, value, key=self._soft, hashed=self._hash)

    def _soft(self, target: str, value: Any) -> int:
        if target == PERSON:
            return self._person(value) if is_pseudonym(str(value)) else 0
        fits = type(value) is int and 1 <= value <= self._rows.get(target, 0)
        return self._first[target] + value - 1 if fits else 0

    def _hash(self, text: str) -> str:
        return writing.foreign_hash(text, self.benchmark.pk)

    # What single tables need besides.

    def of_benchmark(self, part: Part, values: list[Any]) -> None:
        """It gets its name, and nobody sees it yet."""
        columns = list(part.table.columns)
        values[columns.index("slug")] = self._slug
        values[columns.index("archived_at")] = timezone.now().isoformat()

    def of_event(self, part: Part, values: list[Any]) -> None:
        """As `writing.Lines.event` wrote it."""
        columns = list(part.table.columns)
        at = {name: columns.index(name) for name in ("scope", "target_type", "target_id", "data")}
        values[at["scope"]] = f"{self._slug}{values[at['scope']]}"
        target = writing.names_of_models().get(values[at["target_type"]], "")
        number = values[at["target_id"]]
        values[at["target_id"]] = str(self._soft(target, int(number) if number.isdigit() else 0))
        rule = references.of_verb(values[columns.index("verb")])
        values[at["data"]] = references.changed_json(
            rule, values[at["data"]], key=self._soft, hashed=self._hash
        )

    def of_release(self, part: Part, values: list[Any]) -> None:
        """Its files lie where this installation keeps releases."""
        columns = list(part.table.columns)
        version = values[columns.index("version")]
        values[columns.index("folder")] = str(Path(settings.RELEASES) / self._slug / version)

    # Once all rows are there.

    def _finish(self) -> None:
        if current := self._taken_up():
            key = self._first["corpus.CorpusVersion"] + current - 1
            Benchmark.objects.filter(pk=self.benchmark.pk).update(taken_up=key)
        seal_votes(Vote.objects.filter(case__query__domain__benchmark=self.benchmark))
        self._put_files()
        self._say("Reading it again.")
        if (found := self.digest()) != self._reader.manifest["digest"]:
            raise Refused(
                f"What the database holds ({found[:12]}) is not what the file says "
                f"({str(self._reader.manifest['digest'])[:12]}); nothing was kept."
            )

    def _taken_up(self) -> int:
        (part,) = (each for each in parts_of(self.benchmark) if each.kind is Benchmark)
        at = [field.name for field in part.fields].index("taken_up")
        ((_, lines),) = self._reader.pieces(part.label)
        return int(orjson.loads(lines[0])[at] or 0)

    def _put_files(self) -> None:
        wanted = dict(writing.files_of(self.benchmark))
        hashes = {
            f"releases/{release.version}/{name}": digest
            for release in self.benchmark.releases.all()
            for name, digest in release.files.items()
        }
        for name, source in self._reader.files():
            if name not in wanted:
                raise Refused(f"files/{name} is named by no row; nothing was kept.")
            path = wanted[name]
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            part = path.with_name(f"{path.name}.part")
            with part.open("wb") as sink:
                shutil.copyfileobj(source, sink)
            expected = hashes.get(name) or name.removeprefix("pages/").removesuffix(".gz")
            if _sha256(part, is_packed=name.startswith("pages/")) != expected:
                part.unlink()
                raise Refused(f"files/{name} is not what its row says; nothing was kept.")
            storage.put(part, path)


_OWN: Final = {
    "corpus.Benchmark": Copy.of_benchmark,
    "evaluation.Release": Copy.of_release,
    "kit.Event": Copy.of_event,
}


def forget(run: Transfer) -> None:
    """Take away everything that an import wrote which is not published."""
    run.refresh_from_db(fields=["made"])
    benchmark, made = run.benchmark, run.made
    if one_writer_at_a_time():
        _thin_out(benchmark)
    with transaction.atomic():
        delete_rows(benchmark)
        for kind in (Event, Call, Account):
            first = made["first"].get(kind._meta.label, 0)
            own = kind._base_manager.filter(
                pk__gte=first, pk__lt=first + made["rows"][kind._meta.label]
            )
            if first:
                own._raw_delete(connection.alias)  # type: ignore[attr-defined]
        for person in User.objects.filter(pk__in=made["people"], is_active=False):
            with contextlib.suppress(ProtectedError), transaction.atomic():
                person.delete()  # unless another benchmark brought them meanwhile
    storage.drop(Path(settings.RELEASES) / benchmark.slug)


def _thin_out(benchmark: Benchmark) -> None:
    """Delete most of it a piece at a time, so that others can save in between."""
    pace = Pace(_PIECE)
    with connection.constraint_checks_disabled():
        for rows in rows_of(benchmark):
            if rows.model in (Benchmark, Transfer):  # by these what is left is found again
                continue
            while keys := list(rows.values_list("pk", flat=True)[: pace.size]):
                with pace.writing():
                    rows.model._base_manager.filter(pk__in=keys)._raw_delete(connection.alias)


def _sha256(path: Path, *, is_packed: bool) -> str:
    digest = hashlib.sha256()
    try:
        with gzip.open(path) if is_packed else path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    except (OSError, EOFError):
        return ""
    return digest.hexdigest()


def seal_votes(rows: models.QuerySet[Vote]) -> None:
    """Chain the votes of whole cases under the key of this server; altered ones stay so."""
    rows = rows.order_by("case", "pk")
    keys = list(rows.values_list("pk", flat=True))
    earlier: tuple[int, str] = 0, ""
    for start in range(0, len(keys), _VOTES):
        sealed: list[Vote] = []
        for vote in rows.filter(pk__in=keys[start : start + _VOTES]):
            if vote.link != writing.ALTERED:
                vote.link = vote.link_after(earlier[1] if earlier[0] == vote.case_id else None)
                sealed.append(vote)
            earlier = vote.case_id, vote.link
        Vote.objects.bulk_update(sealed, ["link"])
