"""An endpoint over real HTTP whose cleaner does what a test wants with the practice's answers."""

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from llm.endpoints import Endpoint
from llm.practice.completion import MODEL, chat_completion, embeddings

Change = Callable[[str, str], str]


class Server(ThreadingHTTPServer):
    """Counts what it is asked, by the request's body."""

    daemon_threads = True
    change: Change
    asked: Counter[str]
    endpoint: Endpoint


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        body: dict[str, Any] = json.loads(raw)
        self.server.asked[raw.decode()] += 1
        sent = json.dumps(self._answer(body)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def _answer(self, body: dict[str, Any]) -> dict[str, Any]:
        if "input" in body:
            self.server.change("embedding", str(body["input"]))
            return embeddings({**body, "model": MODEL})
        answer = chat_completion({**body, "model": MODEL})
        message = answer["choices"][0]["message"]
        role = body["response_format"]["json_schema"]["name"]
        said = json.loads(message["content"])
        if "text" in said:  # not of a debate, which the demo begins with
            message["content"] = json.dumps({"text": self.server.change(role, said["text"])})
        return answer

    def log_message(self, *args: Any) -> None:
        """Nothing to the terminal."""


@contextmanager
def cleaner(settings: Any, change: Change) -> Iterator[Server]:
    """The practice model's answers, each changed by (role, text) -> text, as default endpoint.

    Vectors are not changed; who asks for some is told to `change` as the role "embedding".
    """
    server = Server(("127.0.0.1", 0), _Handler)
    server.change, server.asked = change, Counter()
    url = f"http://127.0.0.1:{server.server_port}/v1"
    settings.OPENAI_BASE_URL, settings.OPENAI_API_KEY = url, "sk-test"
    settings.ASSAY_MODEL = "scripted"
    server.endpoint = Endpoint("default", url, "sk-test", False, "scripted")
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
