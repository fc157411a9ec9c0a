"""A web site on loopback with good and bad pages, for tests of what fetches them."""

import gzip
import http.server
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

PAGE = "<html><body>Moths roll their backs toward the lamp. Größe 7 µm</body></html>".encode()


class Site(http.server.BaseHTTPRequestHandler):
    """A local web site with good and bad pages."""

    seen: list[tuple[str, dict[str, str]]] = []

    def do_GET(self) -> None:
        type(self).seen.append((self.path, dict(self.headers)))
        name, _, rest = self.path.lstrip("/").partition("?")
        getattr(self, f"page_{name}", self.page_missing)(rest)

    def answer(self, body: bytes, kind: str = "text/html; charset=utf-8", **headers: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        for key, value in headers.items():
            self.send_header(key.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def page_good(self, _: str) -> None:
        self.answer(PAGE, Set_Cookie="who=you")

    def page_packed(self, _: str) -> None:
        self.answer(gzip.compress(PAGE), Content_Encoding="gzip")

    def page_cut(self, _: str) -> None:
        self.answer(gzip.compress(PAGE)[:-12], Content_Encoding="gzip")

    def page_garbage(self, _: str) -> None:
        self.answer(b"no gzip at all", Content_Encoding="gzip")

    def page_brotli(self, _: str) -> None:
        self.answer(PAGE, Content_Encoding="br")

    def page_bomb(self, _: str) -> None:
        packer = zlib.compressobj(9, wbits=31)
        parts = [packer.compress(bytes(1024 * 1024)) for _ in range(200)]
        self.answer(b"".join([*parts, packer.flush()]), Content_Encoding="gzip")

    def page_image(self, _: str) -> None:
        self.answer(b"GIF89a", "image/gif")

    def page_huge(self, _: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        for _chunk in range(64):
            self.wfile.write(b"x" * 65536)

    def page_drip(self, _: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        for _byte in range(200):
            self.wfile.write(b"x")
            self.wfile.flush()
            time.sleep(0.05)

    def page_to(self, address: str) -> None:
        self.send_response(302)
        self.send_header("Location", address)
        self.end_headers()

    def page_loop(self, _: str) -> None:
        self.page_to("/loop")

    def page_nowhere(self, _: str) -> None:
        self.send_response(301)
        self.end_headers()

    def page_missing(self, _: str) -> None:
        self.send_error(404)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serving(handler: type[http.server.BaseHTTPRequestHandler] = Site) -> Iterator[int]:
    """The site on a free port of loopback, which is told."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # a reader that left early is what some tests want
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield server.server_address[1]
    server.shutdown()
