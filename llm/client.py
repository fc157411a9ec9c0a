"""One HTTP attempt per call, made by the openai package. Retries, ledger and limits belong to the
gateway."""

import asyncio
import logging
import re
import ssl
import time
from functools import cache
from math import inf
from typing import TYPE_CHECKING, Any, Final, Self

from llm.endpoints import Endpoint
from llm.errors import ErrorClass, LLMError, Permanent, Transient, WrongSetup
from llm.profiles import Profile, known
from llm.requests import Reply, Request, Usage
from llm.wire import decode, encode, read, written

if TYPE_CHECKING:
    import httpx2
    from openai import AsyncOpenAI
    from openai._types import RequestOptions

logger = logging.getLogger(__name__)
_TRANSIENT_STATUS: Final = frozenset({408, 409, 425, 429})
# A wrong key, an empty account, an unknown model or address.
_SETUP_STATUS: Final = frozenset({401, 402, 403, 404})
# Codes of errors that no later try helps, whatever their status.
_LASTING: Final = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
# What a 400 says where others answer 404 (OpenRouter, DeepSeek, LiteLLM).
_NO_MODEL: Final = re.compile(
    r"model_not_found|not a valid model|(unknown|no such|invalid) model"
    r"|\bmodel\b.{0,100}\b(not exist|not found)",
    re.IGNORECASE,
)
_MAX_MESSAGE: Final = 500
# An answer with log-probabilities for some thousand tokens is about a megabyte.
MAX_ANSWER_BYTES: Final = 16 * 1024 * 1024
_MAX_REFUSAL_BYTES: Final = 64 * 1024
_CONNECT_S: Final = 20.0


class Client:
    """An open connection to an endpoint: `async with Client(endpoint) as client`.

    `deadline_s` bounds one attempt as a whole, from connecting to the last byte.
    """

    def __init__(self, endpoint: Endpoint, *, deadline_s: float = 120.0) -> None:
        self._endpoint, self._deadline_s = endpoint, deadline_s

    async def __aenter__(self) -> Self:
        self._openai, self._options = _open(self._endpoint), _options()
        self._base = str(self._openai.base_url).rstrip("/")
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self._openai.close()

    async def send(self, request: Request, profile: Profile | None = None) -> Reply:
        """Send the request exactly once, as this profile or what is known of the model has it.

        Raises Transient or Permanent, never anything else.
        """
        import httpx2
        from openai import APIStatusError

        begun = time.perf_counter()
        profile = profile or known(request.model, api=self._endpoint.api)
        try:
            try:
                async with asyncio.timeout(self._deadline_s):
                    path, body = written(request, profile)
                    if self._endpoint.api_version and path != "/responses":
                        path = f"/deployments/{request.model}{path}"
                    # The whole address is quicker read than put together, and the answer is taken
                    # as it came: the package's typed ones cost more than all else of a call.
                    answer = await self._openai.post(
                        self._base + path,
                        content=encode(body),
                        cast_to=httpx2.Response,
                        options=self._options,
                    )
                elapsed_s = time.perf_counter() - begun
                return read(decode(answer.content), request, profile, elapsed_s=elapsed_s)
            except APIStatusError as error:
                words = self._refusal(error.response)
                elapsed_s = time.perf_counter() - begun
                return Reply(words, Usage(0), elapsed_s, finish_reason="content_filter")
        except LLMError:
            raise
        except Exception as error:  # what an endpoint may do to us has no bounds
            raise _classified(error, self._deadline_s) from error

    async def look(self, path: str) -> Any:
        """What the endpoint tells of itself at this path, behind its address; None where it does
        not: such looks are free, and nothing hangs on them."""
        import httpx2

        try:
            async with asyncio.timeout(_CONNECT_S):
                url, options = self._base + path, self._options
                answer = await self._openai.get(url, cast_to=httpx2.Response, options=options)
            return decode(answer.content)
        except Exception as error:  # what an endpoint may do to us has no bounds
            logger.info("%s%s: %s", self._endpoint.name, path, type(error).__name__)
            return None

    def _refusal(self, response: Any) -> str:
        """What Azure's filter of prompts says, which keeps them from the model; raises what any
        other refusal means."""
        message_text, code, named = _error(response.content)
        words, status = _brief(message_text, hide=self._endpoint.api_key), response.status_code
        if code == "content_filter":
            return words
        message = f"HTTP {status}: {words}"
        is_no_model = status == 400 and _NO_MODEL.search(f"{code} {words}")
        if code in _LASTING or status in _SETUP_STATUS or is_no_model:
            raise WrongSetup(message, status=status, named=named)
        if status < 500 and status not in _TRANSIENT_STATUS:
            raise Permanent(message, status=status, named=named)
        wait_s = self._openai._parse_retry_after_header(response.headers)
        raise Transient(
            message,
            retry_after=wait_s if wait_s is not None and 0 <= wait_s < inf else None,
            # A gateway that gives up waiting does not take back what the model was asked.
            maybe_paid=status >= 500 and status != 503,
            status=status,
        )


def _options() -> "RequestOptions":
    """Options of every request. What is named here is not copied anew for each of them, and of its
    own system and package nothing is sent: both together are a fifth of a call's processor time.
    """
    import httpx2
    from openai import omit

    names = "Lang Package-Version OS Arch Runtime Runtime-Version Async Retry-Count Read-Timeout"
    hidden = [f"X-Stainless-{name}" for name in names.split()]
    return {
        "headers": dict.fromkeys(hidden, omit),
        "timeout": httpx2.Timeout(None, connect=_CONNECT_S),
        "max_retries": 0,
        "params": {},
    }


@cache
def _certificates() -> ssl.SSLContext:
    """Whom to believe. Read once: that takes longer than ten calls."""
    import httpx2

    return httpx2.create_ssl_context(trust_env=False)


def _open(endpoint: Endpoint) -> "AsyncOpenAI":
    """The package's client on its aiohttp transport, with no retries of its own."""
    import httpx2
    from openai import AsyncAzureOpenAI, AsyncOpenAI, DefaultAioHttpClient

    http = DefaultAioHttpClient(
        # The gateway limits the calls in flight; 0 is no limit to aiohttp.
        limits=httpx2.Limits(max_connections=0, keepalive_expiry=15),
        timeout=httpx2.Timeout(None, connect=_CONNECT_S),
        # A key and a paid request go to the configured address or nowhere: no redirects, and no
        # proxies or .netrc of the environment.
        follow_redirects=False,
        trust_env=False,
        verify=_certificates(),
        proxy=endpoint.proxy or None,
        event_hooks={"response": [_bound]},
    )
    # The package asks for a key; servers that need none do not look at it.
    key = endpoint.api_key or "none"
    if endpoint.api_version:
        url, version = endpoint.base_url, endpoint.api_version
        return AsyncAzureOpenAI(
            azure_endpoint=url, api_version=version, api_key=key, http_client=http
        )
    url = endpoint.base_url or "https://api.openai.com/v1"
    return AsyncOpenAI(base_url=url, api_key=key, http_client=http)


async def _bound(response: "httpx2.Response") -> None:
    """Read the body up to so many bytes, unpacked; a longer refusal is cut.

    Raises Transient for a longer answer. The package would read either without end.
    """
    limit = MAX_ANSWER_BYTES if response.status_code == 200 else _MAX_REFUSAL_BYTES
    body = bytearray()
    async for part in response.aiter_bytes():
        body += part
        if len(body) > limit:
            await response.aclose()
            if limit == _MAX_REFUSAL_BYTES:
                break
            message, kind = f"The answer is longer than {limit} bytes.", ErrorClass.BAD_ANSWER
            raise Transient(message, maybe_paid=True, error_class=kind)
    response._content = bytes(body[:limit])  # what aread() would have put there


def _classified(error: Exception, deadline_s: float) -> LLMError:
    import aiohttp
    from openai import APIConnectionError

    kind, maybe_paid = ErrorClass.CONNECTION, True
    if isinstance(error, TimeoutError):
        kind, message = ErrorClass.TIMEOUT, f"No answer within {deadline_s:g} seconds."
    elif isinstance(error, APIConnectionError):
        # A connection that never stood carried nothing; one that broke may have been paid for. The
        # transport's own error tells the two apart: the package calls both a time-out.
        message = "The connection broke before the answer was complete."
        cause: BaseException = error
        while cause.__cause__:
            cause = cause.__cause__
            if isinstance(cause, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError):
                message, maybe_paid = f"The endpoint cannot be reached: {_brief(str(cause))}", False
    else:
        # A 200 whose body is no JSON. Our own mistakes look the same from here; the log tells them
        # apart, and the retries are few.
        if not isinstance(error, ValueError):
            logger.error("an answer could not be read", exc_info=error)
        kind = ErrorClass.BAD_ANSWER
        message = f"Unusable answer: {_brief(str(error)) or type(error).__name__}"
    return Transient(message, maybe_paid=maybe_paid, error_class=kind)


def _error(body: bytes) -> tuple[str, str, str]:
    """What an error's body says, its code, and all that may name a parameter: the message, the
    parameter, and what a router passes on. Of a body without an error its text.
    """
    try:
        said = decode(body)
        # Cohere says `message`; Jina and Voyage `detail`.
        error = next(said[name] for name in ("error", "message", "detail") if name in said)
    except (ValueError, LookupError, TypeError, StopIteration):
        error = body.decode("utf-8", "replace")
    if not isinstance(error, dict):
        return str(error), "", str(error)
    metadata = error.get("metadata")
    passed_on = metadata.get("raw") if isinstance(metadata, dict) else None
    named = f"{error.get('param') or ''} {error.get('message') or ''} {passed_on or ''}"
    code = str(error.get("code") or error.get("type") or "")
    return str(error.get("message") or error), code, named


def _brief(text: str, *, hide: str = "") -> str:
    text = " ".join(text.split())
    text = text.replace(hide, "[key]") if hide else text
    return text[:_MAX_MESSAGE]
