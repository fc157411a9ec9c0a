"""Scores of documents for a query, from a rerank server: the request, and the bodies of the wires
that people run. Pure.

One request holds a query and documents. It travels as any other: with a key, a row in the ledger,
a price, a limit. All wires are one POST to `/rerank` behind the endpoint's address:

- `jina`: docs of Jina's API and of vLLM's `/v1/rerank`; counted in tokens
- `cohere-1`, `cohere-2`: Cohere's API v1 and v2; counted in search units
- `tei`: Hugging Face text-embeddings-inference; counts nothing, tells its limits at `/info`
- `voyage`: Voyage's API; counted in tokens
"""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from llm.requests import Reply, TextsRequest, Usage, count

PATH: Final = "/rerank"
JINA, COHERE_1, COHERE_2, TEI, VOYAGE = WIRES = ("jina", "cohere-1", "cohere-2", "tei", "voyage")
_COHERE: Final = (COHERE_1, COHERE_2)
# Documents of one request: as many as every wire takes, and one of Cohere's search units.
BATCH: Final = 100
# A TEI server's own, where it does not say otherwise.
TEI_BATCH: Final = 32
# Cohere counts a document of more than 500 tokens, the query's among them, as several.
_BYTES_PER_CHUNK: Final = 200


class RerankRequest(TextsRequest):
    """A request for scores; the first text is the query, each other one a document."""

    @property
    def wire(self) -> str:
        """How it is written."""
        return str(self.schema["wire"])

    @property
    def most_counted(self) -> int | None:
        """Search units at most, of wires that count in those."""
        if self.wire not in _COHERE:
            return None
        sizes = (len(each.encode("utf-8", "surrogatepass")) for each in self.texts[1:])
        return math.ceil(sum(1 + size // _BYTES_PER_CHUNK for size in sizes) / BATCH)


def rerank_request(
    *, endpoint: str, model: str, wire: str, query: str, documents: Sequence[str]
) -> RerankRequest:
    """Ask how well each of these documents fits the query."""
    return RerankRequest.of("rerank", endpoint, model, (query, *documents), wire=wire)


def body(request: RerankRequest) -> dict[str, Any]:
    """What is sent."""
    query, *documents = request.texts
    if request.wire == TEI:
        return {"query": query, "texts": documents, "truncate": True, "raw_scores": False}
    sent: dict[str, Any] = {"model": request.model, "query": query, "documents": documents}
    if request.wire == VOYAGE:
        return sent | {"top_k": len(documents), "return_documents": False, "truncation": True}
    sent["top_n"] = len(documents)
    return sent if request.wire == COHERE_2 else sent | {"return_documents": False}


def read(answer: Any, request: RerankRequest, elapsed_s: float) -> Reply:
    """The scores in the order of the documents, as `unpack` reads them, and what was counted.

    Raises ValueError, or what a wrong shape raises, for scores of other documents than were sent.
    """
    rows = answer if request.wire == TEI else answer.get("results") or answer["data"]
    scores = {row["index"]: row["score" if request.wire == TEI else "relevance_score"]
              for row in rows}  # fmt: skip
    if len(rows) != len(scores) or sorted(scores) != list(range(len(request.messages) - 1)):
        raise ValueError("Scores of other documents than those that were sent.")
    found = [float(scores[index]) for index in range(len(scores))]
    if not all(map(math.isfinite, found)):
        raise ValueError("Those are no scores.")
    counted = None if request.wire == TEI else _counted(answer, request.wire)
    return Reply(json.dumps(found), counted, elapsed_s)


def unpack(text: str) -> list[float]:
    """The scores of a reply."""
    return [float(each) for each in json.loads(text)]


def _counted(answer: Mapping[str, Any], wire: str) -> Usage | None:
    """Units of the price: search units of Cohere, else tokens; None where there is no count."""
    try:
        if wire in _COHERE:
            return Usage(count(answer["meta"]["billed_units"]["search_units"]))
        usage = answer["usage"]
        return Usage(count(usage.get("total_tokens", usage.get("prompt_tokens"))))
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError):
        return None
