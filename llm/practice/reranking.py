"""The practice model as a reranker (docs/protocol.md 8): by the telling words that query and
document share. Pure."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from llm.practice.words import tokens

_SHORTEST: Final = 4
_K: Final = re.compile(r"the numbers of the (\d+) most")


def shared(query: str, document: str) -> set[str]:
    """Words of four letters and more that stand in both."""
    return {word for word in tokens(query) & tokens(document) if len(word) >= _SHORTEST}


def overlap(query: str, document: str) -> float:
    """Shared words by those of the shorter text, from 0 to 1: a long document is no better."""
    sizes = [sum(len(word) >= _SHORTEST for word in tokens(text)) for text in (query, document)]
    return len(shared(query, document)) / min(sizes) if min(sizes) else 0.0


def reply(prompt: str, query: str, documents: Sequence[str]) -> str:
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


def rerank(body: Mapping[str, Any], model: str) -> dict[str, Any]:
    """A rerank server's answer in Jina's shape; raises ValueError for a body of another shape."""
    query: Any = body.get("query")
    documents: Any = body.get("documents")
    if not isinstance(query, str) or not isinstance(documents, list) or not documents:
        raise ValueError("query must be a text and documents a list of texts.")
    if not all(isinstance(each, str) for each in documents):
        raise ValueError("documents are texts.")
    scores = [round(overlap(query, each), 4) for each in documents]
    order = sorted(range(len(scores)), key=lambda n: -scores[n])[: body.get("top_n")]
    used = sum(len(each) for each in (query, *documents)) // 4
    return {
        "model": model,
        "object": "list",
        "usage": {"total_tokens": used, "prompt_tokens": used},
        "results": [{"index": n, "relevance_score": scores[n]} for n in order],
    }
