"""The practice model where no schema binds it: as search agent, grader, reranker, and as who words
queries anew and writes training data (docs/protocol.md 8). Pure."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle
from typing import Any, Final

from llm.practice.blocks import numbered, read_blocks
from llm.practice.words import LONGEST_QUOTE, coverage, in_order, richest, telling, tokens

# Words of one search, searches at most, documents that an answer quotes.
_WORDS, _SEARCHES, _QUOTED = 5, 4, 5
# Words that an expansion adds, words that a rewriting says twice.
_ADDED, _TWICE = 12, 3
_K: Final = re.compile(r"the numbers of the (\d+) most")
# What training data is asked for by: schemas, the key of a negative, the form of a positive.
GRADE, NEGATIVE = SCHEMAS = ("train_grade", "train_negative")
_KEY: Final = "hard negative document"
_FORM: Final = 'Document 1: {"title"'
# How long it is to be, and how long it is where the prompt names no length.
_LEAST_WORDS, _USUAL_WORDS = re.compile(r"from (\d+) to \d+ words"), 400
_LEAST_CHARS, _USUAL_CHARS = re.compile(r"at least (\d+) characters"), 300
_PAGE: Final = (
    "When people speak of {a}, they soon come to {b} as well.",
    "What {a} does depends on {b}, and it pays to look at both.",
    "Take {a} first: with {b} in mind most of it falls into place.",
    "Those who work with {a} every day keep an eye on {b}.",
    "It helps to know where {a} ends and where {b} begins.",
)
_ASIDE: Final = (
    "The word {a} has a long history in the names of streets and shops.",
    "Collectors pay well for old postcards that show {a}.",
    "A museum in the north keeps a room for {a} and for songs about it.",
    "Its visitors vote for the picture they like best each spring.",
    "Tickets are cheaper on Mondays, and the cafe is open until six.",
)


def next_query(question: str, outputs: Sequence[str]) -> str | None:
    """The words of the next search: those of the question that nothing found so far holds.

    None where all are covered, the last search brought nothing new, or four were made.
    """
    rounds = [dict(read_hits(output)) for output in outputs]
    if len(rounds) >= _SEARCHES:
        return None
    earlier: set[str] = set().union(*rounds[:-1])
    if rounds and not rounds[-1].keys() - earlier:
        return None
    asked = telling(question)
    seen = set().union(*(tokens(text) for each in rounds for text in each.values()))
    left = in_order(question, asked - seen) or ([] if rounds else in_order(question, asked))
    return " ".join(left[:_WORDS]) or (None if rounds else question.strip() or None)


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
    asked = telling(question)
    found = ((docid, *richest(text, asked)) for docid, text in evidence.items())
    best = sorted((each for each in found if each[2]), key=lambda each: -each[1])[:_QUOTED]
    plain = ((docid, re.sub(r"[\[\]]", "", text)[:LONGEST_QUOTE]) for docid, _, text in best)
    said = " ".join(f"{text.rstrip('.!?')} [{docid}]." for docid, text in plain)
    covered = coverage(" ".join(asked), said)
    return f"Answer: {said or 'Nothing was found.'}\nConfidence: {round(100 * covered)} %"


def free_grade(text: str) -> str | None:
    """What the grader of an answer says to this message; None where it asks for no grade."""
    blocks = read_blocks(text)
    if not {"query", "reference", "answer"} <= blocks.keys():
        return None
    reference, answer = blocks["reference"], blocks["answer"]
    if "SCORE" not in text[text.rfind("\n</") :]:
        return str(any(coverage(truth, answer) >= 0.6 for truth in numbered(reference)))
    share = coverage(reference, answer)
    return f"REASON: {share:.0%} of the words are there.\nSCORE: {10 * round(10 * share)}"


def shared(query: str, document: str) -> set[str]:
    """Telling words that stand in both."""
    return telling(query) & telling(document)


def overlap(query: str, document: str) -> float:
    """Shared words by those of the shorter text, from 0 to 1: a long document is no better."""
    shorter = min(len(telling(query)), len(telling(document)))
    return len(shared(query, document)) / shorter if shorter else 0.0


def reranking(prompt: str, query: str, documents: Sequence[str]) -> str:
    """What is asked for in the prompt: a score, scores of a group, or a list.

    One by one round(10 overlap); beside one another by the best of the group; in a list by how
    many words are shared, however long the document is.
    """
    if "<answer>" in prompt:
        shares = [overlap(query, each) for each in documents]
        best = max(shares, default=0) or 1.0
        scores = {f"[{n}]": round(10 * each / best) for n, each in enumerate(shares, start=1)}
        return f"<reason>By shared words.</reason>\n<answer>{json.dumps(scores)}</answer>"
    if "```json" in prompt:
        counts = [len(shared(query, each)) for each in documents]
        order = sorted(range(len(documents)), key=lambda n: -counts[n])
        asked = _K.search(prompt)
        listed = [n + 1 for n in order][: int(asked[1]) if asked else None]
        return f"Shared words decide.\n```json\n{json.dumps(listed)}\n```"
    return f"Relevance score: {round(10 * overlap(query, documents[0]))}."


def expansion(query: str, documents: Sequence[str], answer: str) -> str:
    """Telling words of the query, then the words that fewest of the passages hold, of those that
    stand in the passage nearest to the query; what was answered before stays in front."""
    asked = telling(query)
    near = max(documents, key=lambda text: len(asked & telling(text)), default="")
    held = Counter(word for each in documents for word in telling(each))
    new = sorted(telling(near) - asked - telling(answer), key=lambda word: (held[word], word))
    words = in_order(near, set(new[:_ADDED]))
    return " ".join([answer.strip() or " ".join(in_order(query, asked)), *words]).strip() or query


def rewriting(query: str) -> str:
    """The telling words of the query alone, the longest twice: as who names a problem does."""
    words = in_order(query, telling(query))
    longest = sorted(words, key=lambda word: (-len(word), word))[:_TWICE]
    return " ".join([*words, *longest]) or query


def training(name: str, prompt: str, query: str, documents: Sequence[str]) -> Any:
    """What is asked for under the schema `name`, or in the prompt; None where it is nothing of it.

    A grade is round(10 * overlap), as the pointwise reranker's. A positive is a page about the
    query's telling words, as long as it has to be; a hard negative tells of one of them where it
    matters to nobody.
    """
    if name == GRADE and documents:
        said = in_order(query, shared(query, documents[0]))[:5]
        reason = f"Shared words: {', '.join(said) or 'none'}."
        return {"score": round(10 * overlap(query, documents[0])), "reason": reason}
    words = in_order(query, telling(query)) or ["this"]
    if name == NEGATIVE and documents:
        least = _asked(_LEAST_CHARS, prompt, _USUAL_CHARS)
        return {_KEY: _until(_ASIDE, words[:1], len, least)}
    if not name and _FORM in prompt:
        least = _asked(_LEAST_WORDS, prompt, _USUAL_WORDS)
        text = _until(_PAGE, words, lambda said: len(said.split()), least)
        page = {"title": f"About {words[0]}", "content": text}
        return f"Document 1: {json.dumps(page, ensure_ascii=False)}"
    return None


def _asked(pattern: re.Pattern[str], prompt: str, usual: int) -> int:
    found = pattern.search(prompt)
    return int(found[1]) if found else usual


def _until(sentences: Sequence[str], words: Sequence[str], size: Any, least: int) -> str:
    """Sentences about the words, one after the other, until the text is large enough."""
    said = ""
    for number, sentence in enumerate(cycle(sentences)):
        if size(said) >= least:
            break
        a, b = words[number % len(words)], words[(number // len(words) + number + 1) % len(words)]
        said = f"{said} {sentence.format(a=a, b=b)}".strip()
    return said
