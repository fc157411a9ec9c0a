"""Citations of published answers as they stand in a corpus version that a cleaning made.

Answers cite passages as they were loaded, and stay as they were written: read for a derived
version, each citation becomes those of the passages that take over what it cites, as judgments,
gold passages and aspects do (docs/cleaning.md).
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from annotate.citing import brackets, numbered, renamed
from annotate.services.answer_evidence import Published, materials, published_answers
from corpus.models import CorpusVersion, Domain, Passage, VersionState
from corpus.services.crosswalk import targets

# Ids asked for at a time.
_AT_ONCE = 500
# What renamed() puts between brackets that follow each other.
_NEXT = "]["


@dataclass(frozen=True)
class PublishedIn(Published):
    """An answer as a version has it; `uncarried` are citations that no passage there takes over."""

    text: str = ""
    uncarried: tuple[str, ...] = ()


def answers_in(
    version: CorpusVersion | None, domain: Domain, *, only: int | None = None
) -> dict[int, PublishedIn]:
    """Published answers of the domain's queries (or `only` that), cited by ids of the version.

    `[doc_3]` counts the gold of the query's aspects as it was loaded, and becomes ids. What cannot
    be carried stays as it was written, and is listed.
    """
    published = published_answers(domain, only=only)
    if version is None or not version.is_derived:
        return {pk: PublishedIn(**vars(answer)) for pk, answer in published.items()}
    cited = {pk: brackets(answer.text) for pk, answer in published.items() if answer.text}
    meant = _meant(domain, cited)
    names = _names_in(version, domain, {pid for own in meant.values() for pid in own.values()})
    return {pk: _carried(answer, meant.get(pk, {}), names) for pk, answer in published.items()}


def _carried(
    answer: Published, meant: Mapping[str, str], names: Mapping[str, tuple[str, ...]]
) -> PublishedIn:
    """`meant` gives the id behind each bracket, `names` those of the version for each id."""
    there = {words: names[pid] for words, pid in meant.items() if names.get(pid)}
    lost = tuple(words for words, pid in meant.items() if pid in names and not names[pid])
    text = renamed(answer.text, {words: _NEXT.join(pids) for words, pids in there.items()})
    known = frozenset(pid for pids in there.values() for pid in pids)
    return PublishedIn(_once(text), answer.practice, known | answer.cited, lost)


def _once(text: str) -> str:
    """Neighbouring citations of one passage, because two of the older ones are in it, as one."""
    return re.sub(r"(\[[^\[\]]{1,500}\])(?:\1)+", r"\1", text)


def _meant(domain: Domain, cited: Mapping[int, list[str]]) -> dict[int, dict[str, str]]:
    """The passage id behind each bracket; numbers count the gold of the query's aspects."""
    queries = domain.queries.filter(pk__in=[pk for pk, own in cited.items() if own])
    found: dict[int, dict[str, str]] = {}
    for pk, material in materials(queries).items():
        gold = material.evidence.gold
        own = {words: numbered(words, gold) or words for words in cited[pk]}
        found[pk] = own
    return found


def _names_in(
    version: CorpusVersion, domain: Domain, pids: Iterable[str]
) -> dict[str, tuple[str, ...]]:
    """For each id of a loaded or collected passage those of the version; ids unknown are left out.

    What experts collected is in no version that was cleaned, and keeps its name.
    """
    root = version
    while root.is_derived and root.parent is not None:
        root = root.parent
    loaded: dict[str, int] = {}
    found: dict[str, tuple[str, ...]] = {}
    wanted = sorted(pids)
    for start in range(0, len(wanted), _AT_ONCE):
        rows = Passage.objects.filter(domain=domain, pid__in=wanted[start : start + _AT_ONCE])
        columns = ("pk", "pid", "version_id", "version__state")
        for pk, pid, layer, state in rows.order_by("pk").values_list(*columns):
            if state == VersionState.GROWING:
                found[pid] = (pid,)
            elif layer in root.layers:
                loaded[pid] = pk
            elif layer in version.layers and pid not in found:
                found[pid] = (pid,)
    reached = targets(version, set(loaded.values()))
    after = sorted({pk for pks in reached.values() for pk in pks})
    names: dict[int, str] = {}
    for start in range(0, len(after), _AT_ONCE):
        rows = Passage.objects.filter(pk__in=after[start : start + _AT_ONCE]).order_by()
        names.update(rows.values_list("pk", "pid"))
    return found | {pid: tuple(names[each] for each in reached[pk]) for pid, pk in loaded.items()}
