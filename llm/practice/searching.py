"""The practice model as a search agent and its judge, and as who answers from passages and grades
that (docs/protocol.md 8). Pure."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from llm.practice.words import coverage, in_order, sentences, tokens

# Words of one search, searches at most, documents that an answer quotes.
WORDS: Final = 5
SEARCHES: Final = 4
_QUOTED: Final = 5
# What stands where nothing was found.
NOTHING: Final = "(no document was found)"
_LONGEST_QUOTE: Final = 300
_SHORTEST: Final = 4


def next_query(question: str, outputs: Sequence[str]) -> str | None:
    """The words of the next search: those of the question that nothing found so far holds.

    None where all are covered, the last search brought nothing new, or four were made.
    """
    rounds = [dict(read_hits(output)) for output in outputs]
    if len(rounds) >= SEARCHES:
        return None
    earlier: set[str] = set().union(*rounds[:-1])
    if rounds and not rounds[-1].keys() - earlier:
        return None
    telling = {word for word in tokens(question) if len(word) >= _SHORTEST}
    seen = set().union(*(tokens(text) for each in rounds for text in each.values()))
    left = in_order(question, telling - seen) or ([] if rounds else in_order(question, telling))
    return " ".join(left[:WORDS]) or (None if rounds else question.strip() or None)


def read_hits(output: str) -> Iterator[tuple[str, str]]:
    """Ids and snippets of what a search returned; nothing of an error."""
    try:
        found = json.loads(output)
    except ValueError:
        return
    for each in found if isinstance(found, list) else ():
        if isinstance(each, dict) and "docid" in each:
            yield str(each["docid"]), str(each.get("snippet") or "")


def quoted_answer(question: str, evidence: Mapping[str, str]) -> str:
    """The sentence of each of five documents that shares most words with the question, cited; how
    sure it is, is the share of the question's telling words among them."""
    asked = {word for word in tokens(question) if len(word) >= _SHORTEST}
    best: list[tuple[int, str, str]] = []
    for docid, text in evidence.items():
        shared = [(len(asked & tokens(each)), each) for each in sentences(text)]
        count, sentence = max(shared, key=lambda pair: pair[0], default=(0, ""))
        if sentence:
            best.append((count, docid, re.sub(r"[\[\]]", "", sentence)[:_LONGEST_QUOTE]))
    best = sorted(best, key=lambda each: -each[0])[:_QUOTED]
    said = " ".join(f"{text.rstrip('.!?')} [{docid}]." for _, docid, text in best)
    covered = coverage(" ".join(sorted(asked)), said)
    return f"Answer: {said or 'Nothing was found.'}\nConfidence: {round(100 * covered)} %"


def extracted(question: str, passages: Sequence[str]) -> str:
    """The sentence of all passages that shares most words with the question, the first of equals;
    that nothing was found where none shares any."""
    asked = {word for word in tokens(question) if len(word) >= _SHORTEST}
    found = [
        (len(asked & tokens(each)), each[:_LONGEST_QUOTE])
        for text in passages
        for each in sentences(text)
    ]
    shared, sentence = max(found, key=lambda pair: pair[0], default=(0, ""))
    return sentence if shared else "No relevant information found."


def graded(truths: Sequence[str], answer: str) -> str:
    """True where the answer holds .6 of the words of a true one."""
    return str(any(coverage(truth, answer) >= 0.6 for truth in truths))


def points_of_100(reference: str, answer: str) -> str:
    """The share of the reference's words that the answer holds, in tens."""
    share = coverage(reference, answer)
    return f"REASON: {share:.0%} of the words are there.\nSCORE: {10 * round(10 * share)}"


def scored(aspects: Mapping[str, str], answer: str) -> dict[str, float]:
    """Each aspect 1 where the answer holds .6 of its words, .5 from .3, else 0."""
    found = {}
    for name, content in aspects.items():
        share = coverage(content, answer)
        found[name] = 1.0 if share >= 0.6 else 0.5 if share >= 0.3 else 0.0
    return found


def points(scores: Mapping[str, float]) -> int:
    """1 + round(4 times the mean score): the judge is not told the weights."""
    return 1 + round(4 * sum(scores.values()) / len(scores)) if scores else 1


def rubric_verdict(aspects: Mapping[str, str], answer: str) -> dict[str, Any]:
    """What the judge says by the rubric."""
    scores = scored(aspects, answer)
    full = sum(score == 1 for score in scores.values())
    return {
        "aspect_scores": scores,
        "overall_quality": points(scores),
        "justification": f"The words of {full} of {len(scores)} aspects are there.",
    }


def likert_verdict(aspects: Mapping[str, str], answer: str) -> dict[str, Any]:
    """What the judge says in two points: both follow from the same words."""
    scores = scored(aspects, answer)
    return {
        "completeness": points(scores),
        "overall_quality": points(scores),
        "justification": "Counted by shared words.",
    }
