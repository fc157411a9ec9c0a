"""What a computation may be asked for: checked, completed and frozen as JSON."""

from collections.abc import Callable
from math import isfinite
from typing import Any

from corpus.computing.models import Method
from corpus.models import Benchmark, CleaningPreset, CorpusVersion, RankedList, RetrievalRun
from corpus.retrieval import DIMENSIONS, K1, B
from kit.errors import Refused
from llm import endpoints
from llm.endpoints import EndpointError, UnknownEndpoint

MAX_DEPTH = 1000
# Documents are ranked by their best chunk, instead of the chunks (docs/protocol.md 5.1, step 7).
BY_DOCUMENT = "by_document"
_MOST_DIMENSIONS = 1024
_MOST_PREFIX = 2000


def freeze(benchmark: Benchmark, method: str, given: dict[str, Any]) -> dict[str, Any]:
    """The whole configuration; names that the method does not know are refused, too."""
    if method not in Method.values:
        raise Refused(f"There is no method {method!r}: {', '.join(Method.values)}.", field="method")
    known = _READERS[Method(method)]
    shared = ("depth",) if method == Method.HYBRID else ("depth", BY_DOCUMENT)
    for name in given:
        if name not in known and name not in shared:
            raise Refused(f"{Method(method).label} has no setting {name!r}.", field=name)
    found = {name: read(given.get(name)) for name, read in known.items()}
    if method == Method.HYBRID:
        found["runs"] = _runs(benchmark, found["runs"])
        if len(found["weights"]) != len(found["runs"]):
            raise Refused("Give one weight for each of the runs.", field="weights")
    if method == Method.EMBEDDINGS:
        found |= _seat(found)
    depth = _whole("depth", 1, MAX_DEPTH, MAX_DEPTH)(given.get("depth"))
    if _yes(BY_DOCUMENT, given.get(BY_DOCUMENT)):
        found[BY_DOCUMENT] = True
    return {"method": method, "depth": depth, **found}


def is_in_chunks(version: CorpusVersion) -> bool:
    """Whether a version holds documents in chunks, each chunk of one document."""
    return version.is_derived and version.recipe.get("preset") == CleaningPreset.DCHUNK


def check_cut(config: dict[str, Any], version: CorpusVersion | None) -> None:
    """Raises Refused for documents by their best chunk in a version that is not cut in chunks."""
    if config.get(BY_DOCUMENT) and (version is None or not is_in_chunks(version)):
        raise Refused(
            "Only a version in semantic chunks has documents to rank by their best chunk.",
            field=BY_DOCUMENT,
        )


def key_of_run(config: dict[str, Any], ranked: CorpusVersion | None) -> int | None:
    """The key of the corpus version whose ids a run will hold.

    That of the version that is ranked, or of the one that it was cut from where documents are
    ranked by their best chunk.
    """
    if config.get(BY_DOCUMENT) and ranked is not None and ranked.parent is not None:
        return ranked.parent.key
    return ranked.key if ranked else None


def title(config: dict[str, Any], names: dict[int, str], version: CorpusVersion | None) -> str:
    """A name for the run where nobody gave one."""
    if config.get(BY_DOCUMENT) and version is not None:
        plain = title({**config, BY_DOCUMENT: False}, names, version)
        return f"{plain}, best chunk of {version.name}"
    method = Method(config["method"])
    if method == Method.EMBEDDINGS:
        return str(config["model"])
    if method == Method.HYBRID:
        return " + ".join(names[pk] for pk in config["runs"])
    return f"LSA {config['dimensions']}" if method == Method.LSA else str(method.label)


def _seat(found: dict[str, Any]) -> dict[str, Any]:
    try:
        available = endpoints.available("embedder")
        endpoint = endpoints.get(found["endpoint"]) if found["endpoint"] else None
    except (UnknownEndpoint, EndpointError) as error:
        raise Refused(str(error), field="endpoint") from None
    if endpoint is None:
        if not available:
            raise Refused(
                "No endpoint is set up. Set OPENAI_BASE_URL and OPENAI_API_KEY.", field="endpoint"
            )
        endpoint = available[0]
    endpoint = endpoints.in_role(endpoint, "embedder")
    return {"endpoint": endpoint.name, "model": found["model"] or endpoint.default_model}


def _runs(benchmark: Benchmark, wanted: list[int]) -> list[int]:
    if len(wanted) != 2 or len(set(wanted)) != 2:
        raise Refused("A hybrid is made of two different runs.", field="runs")
    found = RetrievalRun.objects.filter(benchmark=benchmark, pk__in=wanted)
    if len(found) != 2:
        raise Refused("One of these runs is not here.", field="runs")
    for run in found:
        if RankedList.objects.filter(run=run, scores__isnull=True).exists():
            raise Refused(
                f"The run {run.name} has no scores, so there is nothing to add up.", field="runs"
            )
    return wanted


def _number(name: str, low: float, high: float, default: float) -> Callable[[Any], float]:
    def read(value: Any) -> float:
        value = default if value is None else value
        if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
            raise Refused(f"{name} is a number from {low:g} to {high:g}.", field=name)
        if not low <= value <= high:
            raise Refused(f"{name} is a number from {low:g} to {high:g}.", field=name)
        return float(value)

    return read


def _whole(name: str, low: int, high: int, default: int | None) -> Callable[[Any], int | None]:
    def read(value: Any) -> int | None:
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise Refused(f"{name} is a whole number from {low} to {high:,}.", field=name)
        return value

    return read


def _yes(name: str, value: Any) -> bool:
    if value is not None and not isinstance(value, bool):
        raise Refused(f"{name} is true or false.", field=name)
    return bool(value)


def _text(name: str, most: int) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        if value is not None and (not isinstance(value, str) or len(value) > most):
            raise Refused(f"{name} is a text of at most {most:,} characters.", field=name)
        return value or ""

    return read


def _pks(value: Any) -> list[int]:
    if not isinstance(value, list) or any(type(pk) is not int for pk in value):
        raise Refused("Name the runs by their numbers.", field="runs")
    return value


def _weights(value: Any) -> list[float]:
    value = [0.5, 0.5] if value is None else value
    if not isinstance(value, list):
        raise Refused("Weights are two numbers from 0 to 1.", field="weights")
    found = [_number("weights", 0, 1, 0.5)(each) for each in value]
    if not any(found):
        raise Refused("One of the weights must be above 0.", field="weights")
    return found


_READERS: dict[Method, dict[str, Callable[[Any], Any]]] = {
    Method.BM25: {"k1": _number("k1", 0, 10, K1), "b": _number("b", 0, 1, B)},
    Method.TFIDF: {},
    Method.LSA: {"dimensions": _whole("dimensions", 1, _MOST_DIMENSIONS, DIMENSIONS)},
    Method.EMBEDDINGS: {
        "endpoint": _text("endpoint", 60),
        "model": _text("model", 200),
        "dimensions": _whole("dimensions", 1, 65_536, None),
        "query_prefix": _text("query_prefix", _MOST_PREFIX),
        "document_prefix": _text("document_prefix", _MOST_PREFIX),
    },
    Method.HYBRID: {"runs": _pks, "weights": _weights},
}
