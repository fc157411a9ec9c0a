"""The benchmark's current corpus version: taking up one that a cleaning made, and going back.

What was loaded stays, with every label where it was given; pools, runs, debates and releases are
of the current version unless they name another (docs/cleaning.md).
"""

from collections.abc import Callable
from typing import Any, Final

from django.contrib.auth.models import User
from django.db import connection, models, transaction

from corpus.lists import is_key
from corpus.models import Benchmark, CorpusVersion, Crosswalk, Document, Passage, VersionState
from kit import audit
from kit.errors import Refused
from kit.models import Event

_CHUNK: Final = 2000


def drop_version(
    version: CorpusVersion, *, before_each: Callable[[], object] = lambda: None
) -> None:
    """Remove a version that was never published, its rows in short transactions.

    `before_each` is called before each of them; what it raises ends the work.
    """
    for rows in (Crosswalk, Passage, Document):
        drop_rows(rows, before_each=before_each, version=version)
    CorpusVersion.objects.filter(pk=version.pk, state=VersionState.LOADING).delete()


def drop_rows(
    model: type[models.Model], *, before_each: Callable[[], object] = lambda: None, **owner: Any
) -> None:
    """Remove rows that were never published, in short transactions."""
    everything = getattr(model, "everything", model._default_manager)
    rows = everything.filter(**owner)
    while True:
        before_each()
        with transaction.atomic():
            keys = list(rows.order_by("pk").values_list("pk", flat=True)[:_CHUNK])
            if not keys:
                return
            # Nothing refers to rows that were never published, so nothing needs collecting.
            everything.filter(pk__in=keys)._raw_delete(connection.alias)


MAKE_CURRENT = "take up corpus version"


def chosen(benchmark: Benchmark, asked: object = None) -> CorpusVersion | None:
    """The version of this number, or without one the current; None where nothing was loaded.

    Raises Refused (`version`) for what is no choice.
    """
    if asked in (None, ""):
        return CorpusVersion.objects.current(benchmark)
    number = int(str(asked)) if is_key(str(asked)) else 0
    for each in CorpusVersion.objects.choices(benchmark):
        if each.pk == number:
            return each
    raise Refused(
        "Choose a corpus version of this benchmark: the texts as loaded, or one that a cleaning "
        "made and that is ready.",
        field="version",
    )


def called(benchmark: Benchmark, name: str) -> CorpusVersion | None:
    """The version of this name, without one the current; raises Refused (`version`)."""
    if not name:
        return CorpusVersion.objects.current(benchmark)
    choices = CorpusVersion.objects.choices(benchmark)
    found = [each for each in choices if each.name == name]
    if not found:
        known = ", ".join(each.name for each in choices) or "none"
        message = f"There is no corpus version {name!r}; there are {known}."
        raise Refused(message, field="version")
    return found[-1]


def stored(benchmark: Benchmark, key: int | None) -> CorpusVersion | None:
    """The version that a row names by its key: null stands for the loaded texts."""
    if key is None:
        return CorpusVersion.objects.loaded(benchmark)
    return CorpusVersion.objects.ready().filter(benchmark=benchmark, pk=key).first()


def names(benchmark: Benchmark) -> dict[int | None, str]:
    """The name of each choice by its key; empty where there is but one, which needs no name."""
    found = {each.key: each.name for each in CorpusVersion.objects.choices(benchmark)}
    return found if len(found) > 1 else {}


def make_current(*, version: CorpusVersion, seen: int | None, actor: User | None) -> None:
    """Make a choice the current version; the loaded one is a choice too.

    `seen` is the current version that the person decided on: raises Refused where it is another
    by now, where the version is no choice, and where it is current already.
    """
    with transaction.atomic():
        benchmark = Benchmark.objects.select_for_update().get(pk=version.benchmark_id)
        current = CorpusVersion.objects.current(benchmark)
        found = chosen(benchmark, version.pk)
        if current is None or found is None or found == current:
            raise Refused(f"“{version.name}” is the current version already.", field="version")
        if current.pk != seen:
            raise Refused(
                f"Meanwhile “{current.name}” became the current version. Look again, then decide.",
                field="version",
            )
        Benchmark.objects.filter(pk=benchmark.pk).update(taken_up=found.key)
        version.benchmark.taken_up_id = found.key
        data = {"before": current.pk, "after": found.pk}
        audit.record(actor=actor, verb=MAKE_CURRENT, target=found, scope=benchmark.slug, data=data)


def undo_make_current(
    *, benchmark: Benchmark, seen: int | None, actor: User | None
) -> CorpusVersion:
    """Go back to the version that was current before the last change; raises Refused.

    An event of its own: undone twice, the change is made again.
    """
    before = before_last(benchmark)
    if before is None:
        raise Refused("There is no earlier choice to go back to.")
    before.benchmark = benchmark
    make_current(version=before, seen=seen, actor=actor)
    return before


def before_last(benchmark: Benchmark) -> CorpusVersion | None:
    """The version that the last change replaced, if it can be made current again."""
    last = Event.objects.filter(scope=benchmark.slug, verb=MAKE_CURRENT).order_by("-pk").first()
    if last is None:
        return None
    known = {each.pk: each for each in CorpusVersion.objects.choices(benchmark)}
    # A load may have extended what was loaded then: the texts as they are loaded now, then.
    before = known.get(last.data["before"]) or CorpusVersion.objects.loaded(benchmark)
    return before if before != CorpusVersion.objects.current(benchmark) else None


def loaded_since(benchmark: Benchmark) -> int | None:
    """Passages loaded after the current version was derived; None where it holds every load."""
    current = CorpusVersion.objects.current(benchmark)
    loaded = CorpusVersion.objects.loaded(benchmark)
    if current is None or loaded is None or not current.is_derived:
        return None
    newer = set(loaded.layers) - set(current.root.layers)
    return Passage.objects.filter(version_id__in=newer).count() if newer else None
