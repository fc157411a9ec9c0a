"""A small HTTP client over one kept connection, with cookies."""

import http.client
import re
import time
import urllib.parse
from http.cookies import SimpleCookie

_TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')


class Visitor:
    """One browser-like visitor; every answer is read whole."""

    def __init__(self, url: str) -> None:
        parts = urllib.parse.urlsplit(url)
        self.connection = http.client.HTTPConnection(parts.hostname or "", parts.port)
        self.cookies: dict[str, str] = {}
        self.url = url

    def get(self, path: str) -> tuple[int, str]:
        """Status and body of a page."""
        return self._send("GET", path, None)

    def post(self, path: str, fields: dict[str, str]) -> tuple[int, str]:
        """Status and body of a posted form."""
        return self._send("POST", path, urllib.parse.urlencode(fields))

    def sign_in(self, link: str) -> None:
        """Use a one-time link."""
        path = urllib.parse.urlsplit(link).path
        _, page = self.get(path)
        found = _TOKEN.search(page)
        assert found, "the link does not work"
        status, _ = self.post(path, {"csrfmiddlewaretoken": found[1]})
        assert status == 302, status

    def timed(self, path: str) -> float:
        """Seconds that a page took."""
        started = time.perf_counter()
        status, _ = self.get(path)
        assert status == 200, (path, status)
        return time.perf_counter() - started

    def headers(self) -> dict[str, str]:
        """What every request carries."""
        return {"Cookie": "; ".join(f"{k}={v}" for k, v in self.cookies.items())}

    def _send(self, method: str, path: str, body: str | None) -> tuple[int, str]:
        headers = self.headers()
        if body is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
            headers["Referer"] = self.url
        try:
            self.connection.request(method, path, body, headers)
            response = self.connection.getresponse()
        except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError):
            self.connection.close()  # kept too long: the server let it go meanwhile
            self.connection.request(method, path, body, headers)
            response = self.connection.getresponse()
        for value in response.headers.get_all("Set-Cookie") or []:
            for name, morsel in SimpleCookie(value).items():
                self.cookies[name] = morsel.value
        return response.status, response.read().decode()
