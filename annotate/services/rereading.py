"""Which sections of the guidelines a voter should read again. Reads only."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import F

from annotate.models import Guideline
from annotate.services.feedback import decided_votes
from corpus.models import Benchmark


@dataclass(frozen=True)
class Section:
    """A section of the guidelines and why to read it again."""

    title: str
    text: str
    why: str


def to_reread(person_id: int, benchmark: Benchmark) -> list[Section]:
    """Sections of the current guidelines that speak of what this person's votes differ in."""
    rows = decided_votes(person_id, benchmark)
    wrong = rows.exclude(label=None).exclude(label=F("case__label"))
    reasons = {
        "relevant": (wrong.filter(label=1).count(), "you said “relevant” where it was not, {n}"),
        "fully": (wrong.filter(label=0).count(), "you said “not relevant” where it was, {n}"),
        "cannot be judged": (
            rows.filter(label=None).count(),
            "you said “cannot be judged” where others could, {n}",
        ),
    }
    found: dict[str, Section] = {}
    sections = split_sections(Guideline.objects.current(benchmark).text)
    for words, (count, why) in reasons.items():
        match = _section_about(sections, words if words != "fully" else "relevant")
        if count and match:
            said = why.format(n="once" if count == 1 else f"{count} times")
            before = found.get(match[0])
            both = f"{before.why}; {said}" if before else said
            found[match[0]] = Section(match[0], match[1], both)
    return list(found.values())


def split_sections(guidelines: str) -> list[tuple[str, str]]:
    """(heading, text) of every section of a Markdown text; "" heads what has no heading."""
    found: list[tuple[str, list[str]]] = [("", [])]
    for line in guidelines.splitlines():
        if line.startswith("#"):
            found.append((line.lstrip("#").strip(), []))
        else:
            found[-1][1].append(line)
    return [(title, "\n".join(lines).strip()) for title, lines in found if "".join(lines).strip()]


def _section_about(sections: Sequence[tuple[str, str]], words: str) -> tuple[str, str] | None:
    """The section whose heading names the words, else the one that says them most often."""
    named = [each for each in sections if words in each[0].lower()]
    if named:
        return named[0]
    counted = [(each[1].lower().count(words), -place) for place, each in enumerate(sections)]
    most = max(counted, default=(0, 0))
    return sections[-most[1]] if most[0] else None
