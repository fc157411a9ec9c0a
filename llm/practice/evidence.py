"""Which sentences the practice model quotes, and the quotes that it gets slightly wrong."""

from hashlib import sha256

from llm.practice.words import sentences, tokens

_SWAPS = {
    "is": "seems",
    "are": "seem",
    "was": "had been",
    "were": "had been",
    "can": "may",
    "will": "would",
    "has": "holds",
    "have": "hold",
    "often": "usually",
    "most": "nearly all",
    "because": "since",
    "when": "once",
}
_ONE_IN = 8
_WORTH_ADDING = 2


def quotes(chunk: str, answer: str, *, supports: bool) -> list[str]:
    """The sentence of the chunk that shares most words with the answer, verbatim.

    A supporting turn adds a second one that brings at least two more words. About one chunk in
    eight has its opposing quote paraphrased, so that people meet a quote that is not in the
    passage and learn what its flag means.
    """
    wanted = tokens(answer)
    best = _richest(chunk, wanted)
    if not best:
        return []
    if not supports:
        return [_paraphrased(best, chunk) if misquotes(chunk) else best]
    rest = wanted - tokens(best)
    second = _richest(chunk, rest)
    return [best, second] if len(rest & tokens(second)) >= _WORTH_ADDING else [best]


def misquotes(chunk: str) -> bool:
    """Whether an opposing turn on this chunk gets its quote wrong."""
    return sha256(chunk.encode("utf-8", "replace")).digest()[0] % _ONE_IN == 0


def _richest(chunk: str, wanted: set[str]) -> str:
    """The first of the sentences with the most wanted words; "" where none has any."""
    scored = [(len(wanted & tokens(sentence)), sentence) for sentence in sentences(chunk)]
    score, sentence = max(scored, key=lambda pair: pair[0], default=(0, ""))
    return sentence if score else ""


def _paraphrased(sentence: str, chunk: str) -> str:
    words = sentence.split()
    swaps = [index for index, word in enumerate(words) if word in _SWAPS]
    if swaps:
        words[swaps[0]] = _SWAPS[words[swaps[0]]]
    else:
        words.insert(min(2, len(words)), "indeed")
    changed = " ".join(words)
    return changed if changed not in " ".join(chunk.split()) else f"In short, {changed}"
