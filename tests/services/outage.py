"""A way to a server that can be cut and opened again, without touching the server."""

import socket
import threading
from contextlib import suppress
from urllib.parse import urlsplit, urlunsplit


class Passage:
    """Forwards a loopback port to a server's port, until it is closed; may be opened again."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._target = (parts.hostname or "127.0.0.1", parts.port or 0)
        self._pairs: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._port = self._listener.getsockname()[1]
        user = f"{parts.username}:{parts.password}@" if parts.username else ""
        self.url = urlunsplit(parts._replace(netloc=f"{user}127.0.0.1:{self._port}"))
        self._listen()

    def open(self) -> None:
        """Take connections again, on the same port."""
        self._listener = socket.create_server(("127.0.0.1", self._port))
        self._listen()

    def close(self) -> None:
        """Break every connection and refuse new ones."""
        for end in (self._listener, *self._pairs):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
        self._pairs.clear()

    def _listen(self) -> None:
        threading.Thread(target=self._accept, args=[self._listener], daemon=True).start()

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):  # closed
            while True:
                here, _ = listener.accept()
                there = socket.create_connection(self._target)
                self._pairs += [here, there]
                for ends in ((here, there), (there, here)):
                    threading.Thread(target=_pump, args=ends, daemon=True).start()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
    for end in (source, sink):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
