"""Citations of passages in a reference answer, and what is wrong with them. Pure.

A citation stands in brackets: a passage's id, with or without `doc` before it, or `[doc_3]`, which
counts the query's gold from 1 as a release lists it (docs/protocol.md 3.1 step 8, 3.2). Gold comes
and goes, so a number is only how one types: what is kept has the id. Brackets around other words
are no citation.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from annotate.workspace.wording import content_words
from corpus.chunking.sentences import sentences

_BRACKETS: Final = re.compile(r"\[([^\[\]]{1,500})\]")
_SPACED: Final = re.compile(rf"([ \t]*){_BRACKETS.pattern}")
_NUMBERED: Final = re.compile(r"doc_?([0-9]{1,6})")
# Bright-Pro's ids: {task}-{qid}/extraction_{k}.txt, and BRIGHT's folder/file.txt.
_LIKE_AN_ID: Final = re.compile(r"\S+/\S+\.txt")
_WORD: Final = re.compile(r"\w+")
# Of scripts without blanks (Thai to Khmer, Chinese, Japanese) each letter is a word.
_NO_BLANKS: Final = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
_WHOLE_WORD: Final = re.compile(rf"[{_NO_BLANKS}]|[^\W{_NO_BLANKS}]+")
# Fewer words support no sentence fully, unless the passage has no more.
SPAN_WORDS: Final = 3
# A sentence with fewer words that carry the meaning shows nothing.
_FEW: Final = 4
# Below this share of its words in the passages that it cites, a sentence is worth a look.
LOW_OVERLAP: Final = 0.25
# Shorter answers cover no set of aspects, longer ones nobody rates. Hints, in words.
USUAL_WORDS: Final = range(40, 1201)
_EXCERPT: Final = 90


def are_whole_words(passage: str, start: int, end: int) -> bool:
    """Whether [start, end) in code points is three whole words of a passage or more, or all that
    it has: a letter or a piece of a word supports nothing."""
    words = [found.span() for found in _WHOLE_WORD.finditer(passage)]
    inside = sum(start <= first and last <= end for first, last in words)
    is_cut = any(first < each < last for first, last in words for each in (start, end))
    return not is_cut and 0 < min(SPAN_WORDS, len(words)) <= inside


@dataclass(frozen=True)
class Evidence:
    """What an answer may cite: passage ids by aspect number, in the order they were assigned, and
    their texts where loaded.

    `accepted` are those of a query without aspects, in the order of their ids.
    """

    aspects: Mapping[int, Sequence[str]]
    texts: Mapping[str, str] = field(default_factory=dict)
    accepted: Sequence[str] = ()

    @property
    def gold(self) -> list[str]:
        """Every passage id once, as a release's `gold_ids`: the order that `[doc_3]` counts in.

        Aspect by aspect, as `QueryRecord.gold_ids` has them (a test holds both together).
        """
        if not self.aspects:
            return list(self.accepted)
        listed = (pid for _, pids in sorted(self.aspects.items()) for pid in pids)
        return list(dict.fromkeys(listed))


@dataclass(frozen=True)
class Finding:
    """Something to look at; `sentence` counts from 1, 0 where it is about the whole answer."""

    check: str
    message: str
    sentence: int = 0
    cited: str = ""

    @property
    def is_error(self) -> bool:
        """Whether the answer cannot be published so: it cites what is no gold of its query."""
        return self.check == "foreign"


@dataclass(frozen=True)
class Report:
    """What the checks say of an answer; `coverage` pairs aspect numbers with passages cited."""

    findings: tuple[Finding, ...]
    coverage: tuple[tuple[int, int], ...]
    words: int
    sentences: int
    cited: tuple[str, ...]

    @property
    def errors(self) -> list[Finding]:
        """Findings that keep a release from being final."""
        return [each for each in self.findings if each.is_error]

    @property
    def covered(self) -> int:
        """How many aspects have a passage that is cited."""
        return sum(count > 0 for _, count in self.coverage)

    @property
    def is_sound(self) -> bool:
        """Whether every citation is gold and every aspect is covered."""
        return not self.errors and bool(self.coverage) and self.covered == len(self.coverage)


def brackets(answer: str) -> list[str]:
    """What stands in brackets, each once, `doc` before an id taken off."""
    return list(dict.fromkeys(_cited(each[1]) for each in _BRACKETS.finditer(answer)))


def cited_sentences(answer: str) -> list[tuple[str, list[str]]]:
    """The sentences of an answer as they are written, each with what stands in its brackets.

    Citations behind a full stop belong to the sentence before them.
    """
    return [(each, brackets(each)) for each in _sentences(answer)]


def foreign_citations(answer: str, gold: Collection[str], known: Collection[str]) -> list[str]:
    """What an answer cites in brackets that is no gold of its query, each once.

    `known` are ids of passages, so that an id that looks like a word counts as a citation.
    """
    order, own = list(gold), frozenset(gold)
    return [cited for cited in brackets(answer) if _resolve(cited, order, own, known) == ""]


def numbered(cited: str, gold: Sequence[str]) -> str | None:
    """The id that `doc_3` means; None for other words and for a number that is too high."""
    number = _NUMBERED.fullmatch(cited)
    place = int(number[1]) if number else 0
    return gold[place - 1] if 1 <= place <= len(gold) else None


def numbers_gold(cited: str) -> bool:
    """Whether it is a number in the gold, as `doc_3`, whether there is such a passage or not."""
    return _NUMBERED.fullmatch(cited) is not None


def renamed(answer: str, names: Mapping[str, str]) -> str:
    """The answer with citations of `names` replaced by what they mean."""

    def put(match: re.Match[str]) -> str:
        cited = _cited(match[1])
        return f"[{names[cited]}]" if cited in names else match[0]

    return _BRACKETS.sub(put, answer)


def by_ids(answer: str, gold: Sequence[str]) -> str:
    """The answer with the id in the place of each number in the gold, which changes with it."""
    meant = {cited: numbered(cited, gold) for cited in brackets(answer)}
    return renamed(answer, {cited: pid for cited, pid in meant.items() if pid and _fits(pid)})


def _fits(pid: str) -> bool:
    return _BRACKETS.fullmatch(f"[{pid}]") is not None


def looks_like_an_id(inside: str) -> bool:
    """Whether words in brackets are meant as a citation, whatever they name."""
    return numbers_gold(inside) or _LIKE_AN_ID.fullmatch(inside) is not None


def without_citations(answer: str, known: Collection[str] = ()) -> str:
    """The answer without its citations and the blanks before them.

    Brackets that cite nothing stay; `known` are ids of passages, however they look.
    """

    def put(match: re.Match[str]) -> str:
        inside = _cited(match[2])
        return "" if inside in known or looks_like_an_id(inside) else match[0]

    return _SPACED.sub(put, answer)


def check_answer(answer: str, evidence: Evidence, *, known: Collection[str] = ()) -> Report:
    """Everything that the citations and words of an answer show by themselves.

    `known` are ids of passages of the domain among `brackets(answer)`.
    """
    gold = evidence.gold
    all_gold = frozenset(gold)
    words_of = {pid: content_words(text) for pid, text in evidence.texts.items()}
    findings: list[Finding] = []
    cited: dict[str, None] = {}
    parts = _sentences(answer)
    for number, sentence in enumerate(parts, start=1):
        own = []
        for each in brackets(sentence):
            found = _resolve(each, gold, all_gold, known)
            if found == "":
                findings.append(_foreign(each, number, known))
            elif found is not None:
                own.append(found)
        cited.update(dict.fromkeys(own))
        findings += _of_sentence(sentence, number, own, words_of)
    coverage = tuple(
        (k, sum(pid in cited for pid in set(pids))) for k, pids in sorted(evidence.aspects.items())
    )
    words = len(_WORD.findall(_BRACKETS.sub(" ", answer)))
    findings += _of_whole(cited, coverage, gold, words)
    return Report(tuple(findings), coverage, words, len(parts), tuple(cited))


def _cited(inside: str) -> str:
    return inside.strip().removeprefix("doc ").strip()


def _resolve(
    cited: str, gold: Sequence[str], own: Collection[str], known: Collection[str]
) -> str | None:
    """The gold passage that is meant; "" for a citation of anything else, None for no citation.

    `own` are those of `gold`, to be looked up.
    """
    if cited in own:
        return cited
    if _NUMBERED.fullmatch(cited):
        return numbered(cited, gold) or ""
    return "" if cited in known or _LIKE_AN_ID.fullmatch(cited) else None


def _sentences(answer: str) -> list[str]:
    """Its sentences; citations behind a full stop belong to the sentence before them."""
    # Ids hold stops of their own: while sentences are looked for, a plain name stands there.
    plain = _BRACKETS.sub(lambda match: f"[{'X' * len(match[1])}]", answer)
    found: list[list[str]] = []
    for start, end in sentences(plain):
        part = answer[start:end]
        lead = re.match(r"(?:\s*\[[^\[\]]{1,500}\][.,;]?)+", part) if found else None
        if lead:
            found[-1].append(lead[0])
            part = part[lead.end() :]
        if _WORD.search(_BRACKETS.sub("", part)):
            found.append([part])
    return ["".join(parts).strip() for parts in found]


def _foreign(cited: str, sentence: int, known: Collection[str]) -> Finding:
    if _NUMBERED.fullmatch(cited):
        why = "there is no gold passage of that number"
    elif cited in known:
        why = "this passage is no gold of this query"
    else:
        why = "there is no passage of that id here"
    return Finding("foreign", f"Sentence {sentence} cites [{cited}]: {why}.", sentence, cited)


def _of_sentence(
    sentence: str, number: int, cited: Sequence[str], words_of: Mapping[str, set[str]]
) -> Iterator[Finding]:
    words = content_words(_BRACKETS.sub(" ", sentence))
    if not cited:
        text = f"Sentence {number} cites nothing: “{_excerpt(sentence)}”"
        yield Finding("uncited", text, number)
        return
    if len(words) < _FEW or any(pid not in words_of for pid in cited):
        return
    there = {word for pid in cited for word in words & words_of[pid]}
    share = len(there) / len(words)
    if share < LOW_OVERLAP:
        text = (
            f"Sentence {number} shares {share:.0%} of its words with what it cites: "
            f"“{_excerpt(sentence)}”"
        )
        yield Finding("overlap", text, number, cited[0])


def _of_whole(
    cited: Collection[str], coverage: Sequence[tuple[int, int]], gold: Sequence[str], words: int
) -> Iterator[Finding]:
    for k, count in coverage:
        if not count:
            yield Finding("uncovered", f"No passage of a{k} is cited.")
    for pid in gold:
        if pid not in cited:
            yield Finding("never_cited", f"[{pid}] is gold and cited nowhere.", cited=pid)
    if words not in USUAL_WORDS:
        low, high = USUAL_WORDS[0], USUAL_WORDS[-1]
        yield Finding("length", f"{words:,} words; {low} to {high:,} are usual.")


def _excerpt(sentence: str) -> str:
    plain = " ".join(_BRACKETS.sub("", sentence).split())
    return plain if len(plain) <= _EXCERPT else f"{plain[: _EXCERPT - 1]}…"
