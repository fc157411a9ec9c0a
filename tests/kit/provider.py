"""An identity provider on loopback, as OpenID Connect describes one: discovery, code, tokens."""

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

CLIENT, SECRET = "assay", "a-secret-of-the-client"
_KEY = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)


class Provider(ThreadingHTTPServer):
    """Knows one person (`claims`); `changed` replaces claims of the token that it signs."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.claims: dict[str, Any] = {"sub": "248289761001"}
        self.changed: dict[str, Any] = {}
        self.codes: dict[str, dict[str, str]] = {}

    def published(self) -> dict[str, str]:
        places = {"authorization_endpoint": "go", "token_endpoint": "token"}
        places |= {"userinfo_endpoint": "me", "jwks_uri": "keys"}
        return {"issuer": self.url, **{name: f"{self.url}/{at}" for name, at in places.items()}}

    def let_in(self, asked: dict[str, str]) -> str:
        """Where a browser is sent once the person agreed; the code is good for what it asked."""
        code = f"code-{len(self.codes)}"
        self.codes[code] = asked
        return f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}"

    def token_for(self, given: dict[str, str]) -> dict[str, str]:
        """Tokens for a code, once, to the client that shows its secret and the verifier."""
        asked = self.codes.pop(given["code"])
        assert (given["client_id"], given["client_secret"]) == (CLIENT, SECRET)
        assert given["code_verifier"]
        said = {"iss": self.url, "aud": CLIENT, "sub": self.claims["sub"], "nonce": asked["nonce"]}
        said |= self.changed
        signed = jwt.encode(said, _KEY, algorithm="RS256", headers={"kid": "one"})
        return {"access_token": "let me see", "id_token": signed, "token_type": "Bearer"}


def _keys() -> dict[str, Any]:
    numbers = _KEY.public_key().public_numbers()
    as_text = {
        name: base64.urlsafe_b64encode(number.to_bytes((number.bit_length() + 7) // 8)).decode()
        for name, number in (("n", numbers.n), ("e", numbers.e))
    }
    return {"keys": [{"kty": "RSA", "kid": "one", "alg": "RS256", **as_text}]}


class _Handler(BaseHTTPRequestHandler):
    server: Provider

    def log_message(self, *_: object) -> None:
        """Quiet."""

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        if path == "/me" and self.headers["Authorization"] != "Bearer let me see":
            self.send_error(401)
            return
        pages = {
            "/.well-known/openid-configuration": self.server.published,
            "/keys": _keys,
            "/me": lambda: self.server.claims,
        }
        self._answer(pages[path]())

    def do_POST(self) -> None:
        sent = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self._answer(self.server.token_for({k: v[0] for k, v in parse_qs(sent).items()}))

    def _answer(self, body: Any) -> None:
        said = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)


@contextmanager
def provider_on_loopback() -> Iterator[Provider]:
    provider = Provider()
    threading.Thread(target=provider.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield provider
    finally:
        provider.shutdown()
        provider.server_close()
