"""Rerank servers that answer as their public documentation says, refusals included.

docs.vllm.ai (Online serving, Re-rank API) and jina.ai/reranker; docs.cohere.com/reference/rerank,
v1 and v2; the OpenAPI description of huggingface/text-embeddings-inference; docs.voyageai.com.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from aiohttp import web

from llm.practice.writing import overlap
from tests.llm.stub import looping

Score = Callable[[str, str], float]
KEY = "sk-rerank"
# A TEI server's limits, as /info tells them.
INFO = {
    "model_id": "BAAI/bge-reranker-large",
    "model_dtype": "float16",
    "model_type": {"reranker": {"id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}}},
    "max_concurrent_requests": 512,
    "max_input_length": 512,
    "max_client_batch_size": 3,
    "auto_truncate": False,
    "version": "1.7.0",
}


class RerankServer:
    """One server; `asked` holds the bodies that it took, `refuse` statuses that come first."""

    def __init__(self, wire: str, score: Score = overlap) -> None:
        self.wire, self.score = wire, score
        self.asked: list[dict[str, Any]] = []
        self.refuse: list[int] = []
        self.has_info = wire == "tei"
        self.base_url = ""

    async def start(self) -> None:
        app = web.Application()
        at = {"tei": "", "cohere-2": "/v2"}.get(self.wire, "/v1")
        app.router.add_post(f"{at}/rerank", self._rerank)
        app.router.add_get(f"{at}/info", self._info)
        self.runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self.runner.setup()
        await web.TCPSite(self.runner, "127.0.0.1", 0).start()
        self.base_url = f"http://127.0.0.1:{self.runner.addresses[0][1]}{at}"

    async def _info(self, request: web.Request) -> web.Response:
        return web.json_response(INFO) if self.has_info else web.Response(status=404)

    async def _rerank(self, request: web.Request) -> web.Response:
        body = json.loads(await request.text())
        if self.wire != "tei" and request.headers.get("Authorization") != f"Bearer {KEY}":
            return self._error(401, "invalid api token")
        if self.refuse:
            return self._error(self.refuse.pop(0), "not now")
        known = {
            "jina": {"model", "query", "documents", "top_n", "return_documents"},
            "cohere-1": {"model", "query", "documents", "top_n", "return_documents"},
            "cohere-2": {"model", "query", "documents", "top_n", "max_tokens_per_doc"},
            "voyage": {"model", "query", "documents", "top_k", "return_documents", "truncation"},
            "tei": {"query", "texts", "truncate", "raw_scores", "return_text"},
        }[self.wire]
        if unknown := body.keys() - known:
            return self._error(400, f"unknown parameter: {', '.join(sorted(unknown))}")
        texts = body["texts" if self.wire == "tei" else "documents"]
        if self.wire == "tei" and len(texts) > INFO["max_client_batch_size"]:  # type: ignore[operator]
            return self._error(
                413, f"batch size {len(texts)} > maximum allowed batch size "
                f"{INFO['max_client_batch_size']}"
            )  # fmt: skip
        if len(texts) > 1000:
            return self._error(400, "too many documents: at most 1000")
        if body.get("model") == "unknown":
            return self._error(404, "model 'unknown' not found")
        self.asked.append(body)
        scores = sorted(
            ((n, self.score(body["query"], text)) for n, text in enumerate(texts)),
            key=lambda pair: -pair[1],
        )
        return web.json_response(self._answer(scores))

    def _answer(self, scores: list[tuple[int, float]]) -> Any:
        if self.wire == "tei":
            return [{"index": n, "score": score} for n, score in scores]
        rows = [{"index": n, "relevance_score": score} for n, score in scores]
        if self.wire == "voyage":
            return {"object": "list", "data": rows, "model": "m", "usage": {"total_tokens": 26}}
        if self.wire == "jina":
            return {"model": "m", "object": "list", "usage": {"total_tokens": 26}, "results": rows}
        version = {"version": "2" if self.wire == "cohere-2" else "1"}
        meta = {"api_version": version, "billed_units": {"search_units": 1}}
        return {"id": "07734bd2", "results": rows, "meta": meta}

    def _error(self, status: int, message: str) -> web.Response:
        """Each in its own words."""
        body: dict[str, Any] = {
            "tei": {"error": message, "error_type": "Validation"},
            "jina": {"detail": message},
            "voyage": {"detail": message},
        }.get(self.wire, {"id": "x", "message": message})
        return web.json_response(body, status=status)


@contextmanager
def reranking(wire: str, score: Score = overlap) -> Iterator[RerankServer]:
    """Such a server in a thread."""
    server = RerankServer(wire, score)
    with looping() as run:
        run(server.start())
        try:
            yield server
        finally:
            run(server.runner.cleanup())
