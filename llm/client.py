"""One HTTP attempt per call. Retries, ledger and limits belong to the gateway."""

import asyncio
import logging
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Self

from llm.completions import decode, encode, read_completion, request_body
from llm.embeddings import PATH as EMBEDDINGS
from llm.embeddings import EmbeddingRequest, embedding_body, read_embeddings
from llm.endpoints import Endpoint
from llm.errors import ErrorClass, LLMError, Permanent, Transient
from llm.profiles import Profile, known, mended
from llm.requests import RawReply, Request
from llm.retry import retry_after

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession

logger = logging.getLogger(__name__)
_TRANSIENT_STATUS: Final = frozenset({408, 409, 425, 429})
_MAX_MESSAGE: Final = 500
# An answer with log-probabilities for some thousand tokens is about a megabyte.
MAX_ANSWER_BYTES: Final = 16 * 1024 * 1024
_MAX_REFUSAL_BYTES: Final = 64 * 1024
_CONNECT_S: Final = 20.0
# Where the openai client leads when no address is given.
_CHAT: Final = "/chat/completions"
_OPENAI_URL: Final = "https://api.openai.com/v1"
# How each model at each address was asked so far in this process, the present way last.
_learnt: dict[tuple[str, str], list[Profile]] = {}


class Client:
    """An open connection to an endpoint: `async with Client(endpoint) as client`.

    `deadline_s` bounds one attempt as a whole, from connecting to the last byte. It speaks plain
    HTTP through aiohttp: beside the openai client that costs a tenth of the processor time, and
    of that client nothing else is needed here.
    """

    def __init__(self, endpoint: Endpoint, *, deadline_s: float = 120.0) -> None:
        self._endpoint = endpoint
        self._deadline_s = deadline_s
        self._url = (endpoint.base_url or _OPENAI_URL).rstrip("/")

    async def __aenter__(self) -> Self:
        self._session = _open_session(self._endpoint)
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self._session.close()

    async def send(self, request: Request, profile: Profile | None = None) -> RawReply:
        """Send the request exactly once, as this profile or the model's present one has it.

        Raises Transient or Permanent, never anything else.
        """
        begun, profile = time.perf_counter(), profile or self.profile(request.model)
        try:
            async with asyncio.timeout(self._deadline_s):
                if isinstance(request, EmbeddingRequest):
                    vectors = await self._post(EMBEDDINGS, embedding_body(request))
                    elapsed_s = time.perf_counter() - begun
                    return read_embeddings(vectors, request, elapsed_s=elapsed_s)
                completion = await self._post(_CHAT, request_body(request, profile))
            return read_completion(completion, elapsed_s=time.perf_counter() - begun)
        except LLMError as error:
            is_chat = not isinstance(request, EmbeddingRequest)
            if is_chat and error.error_class is ErrorClass.REFUSED:
                error.is_mended = self._is_mended(request.model, profile, error.refusal)
            raise
        except Exception as error:  # what an endpoint may do to us has no bounds
            raise _classified(error, self._deadline_s) from error

    def profile(self, model: str) -> Profile:
        """How that model is asked here, by what is known of it and was learnt."""
        learnt = _learnt.get((self._url, model))
        return learnt[-1] if learnt else known(model)

    def _is_mended(self, model: str, asked: Profile, refusal: str) -> bool:
        """Whether the model is asked in another way because of this refusal, or already since."""
        learnt = _learnt.setdefault((self._url, model), [known(model)])
        if learnt[-1] != asked:
            return True  # by the refusal of another call
        changed = mended(asked, refusal)
        if changed is None or changed in learnt:
            return False
        logger.info("%s: %s is now asked as %s", self._endpoint.name, model, changed)
        learnt.append(changed)
        return True

    async def _post(self, path: str, body: Mapping[str, Any]) -> Any:
        # Redirects stay off: a key and a paid request go to the configured address or nowhere.
        async with self._session.post(
            self._url + path,
            data=encode(body),
            allow_redirects=False,
            proxy=self._endpoint.proxy or None,
        ) as response:
            if response.status == 200:
                return decode(await _read(response, MAX_ANSWER_BYTES))
            refusal = await _read(response, _MAX_REFUSAL_BYTES, cut=True)
            raise self._refused(response.status, response.headers, refusal)

    def _refused(self, status: int, headers: Mapping[str, str], body: bytes) -> LLMError:
        message = f"HTTP {status}: {_brief(_said(body), hide=self._endpoint.api_key)}"
        if status < 500 and status not in _TRANSIENT_STATUS:
            error = Permanent(message, status=status)
            error.refusal = _named(body)
            return error
        return Transient(
            message,
            retry_after=retry_after(headers, now=datetime.now(UTC)),
            # A gateway that gives up waiting does not take back what the model was asked.
            maybe_paid=status >= 500 and status != 503,
            status=status,
        )


def _open_session(endpoint: Endpoint) -> "ClientSession":
    from aiohttp import ClientSession, ClientTimeout, DummyCookieJar, TCPConnector

    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    if endpoint.api_key:
        headers["Authorization"] = f"Bearer {endpoint.api_key}"
    return ClientSession(
        # The gateway limits the calls in flight. Certificates are checked, as is the default.
        connector=TCPConnector(limit=0),
        timeout=ClientTimeout(total=None, sock_connect=_CONNECT_S),
        headers=headers,
        cookie_jar=DummyCookieJar(),
        # Proxies and .netrc of the environment stay out: where a paid request goes is said in
        # the settings (Endpoint.proxy) and nowhere else.
        trust_env=False,
    )


async def _read(response: "ClientResponse", limit: int, *, cut: bool = False) -> bytes:
    """The body up to so many bytes, unpacked; more of it is cut, or raises Transient."""
    parts, size = [], 0
    async for part in response.content.iter_any():
        parts.append(part)
        size += len(part)
        if size > limit:
            response.close()
            if cut:
                break
            raise Transient(
                f"The answer is longer than {limit} bytes.",
                maybe_paid=True,
                error_class=ErrorClass.BAD_ANSWER,
            )
    return b"".join(parts)[:limit]


def _classified(error: Exception, deadline_s: float) -> LLMError:
    import aiohttp

    match error:
        # A connection that never stood carried nothing; one that broke may have been paid for.
        case aiohttp.ClientConnectorError() | aiohttp.ConnectionTimeoutError():
            message = f"The endpoint cannot be reached: {_brief(str(error))}"
            return Transient(message, error_class=ErrorClass.CONNECTION)
        case TimeoutError():
            message = f"No answer within {deadline_s:g} seconds."
            return Transient(message, maybe_paid=True, error_class=ErrorClass.TIMEOUT)
        case aiohttp.ClientError() | OSError():
            message = "The connection broke before the answer was complete."
            return Transient(message, maybe_paid=True, error_class=ErrorClass.CONNECTION)
    # A 200 whose body is no JSON. Our own mistakes look the same from here; the log tells them
    # apart, and the retries are few.
    if not isinstance(error, ValueError):
        logger.error("an answer could not be read", exc_info=error)
    message = f"Unusable answer: {_brief(str(error)) or type(error).__name__}"
    return Transient(message, maybe_paid=True, error_class=ErrorClass.BAD_ANSWER)


def _said(body: bytes) -> str:
    """What an error's body says: its message where it has one, else all of it."""
    try:
        error = decode(body)["error"]
        return str(error["message"] if isinstance(error, dict) else error)
    except (ValueError, LookupError, TypeError):
        return body.decode("utf-8", "replace")


def _named(body: bytes) -> str:
    """What a refusal may name: the parameter, its message, and what a router passes on."""
    try:
        error = decode(body)["error"]
        passed_on = (error.get("metadata") or {}).get("raw") or ""
        return f"{error.get('param') or ''} {error.get('message') or ''} {passed_on}"
    except (ValueError, LookupError, TypeError, AttributeError):
        return _said(body)


def _brief(text: str, *, hide: str = "") -> str:
    text = " ".join(text.split())
    text = text.replace(hide, "[key]") if hide else text
    return text[:_MAX_MESSAGE]
