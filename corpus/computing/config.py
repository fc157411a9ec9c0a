"""What a computation may be asked for: checked, completed and frozen as JSON."""

import json
from typing import Any

from corpus.computing import retrievers
from corpus.computing.models import Method
from corpus.models import (
    Benchmark,
    CleaningPreset,
    CorpusVersion,
    QuerySource,
    RankedList,
    RetrievalRun,
)
from corpus.options import Setting, frozen
from corpus.texts import tokens
from kit.errors import Refused
from llm import endpoints

# Documents are ranked by their best chunk, instead of the chunks (docs/protocol.md 5.1, step 7).
BY_DOCUMENT = "by_document"
# The key of the source whose wordings are searched for in place of the queries' own.
QUERIES = "queries"


DEPTH = Setting(int, 1000, 1, 1000)
WEIGHT = Setting(float, 0.5, 0, 1)
# About the 8,192 tokens that most models read, in tokens of four characters.
TOKENS = 6_000
_TOKENS = Setting(int, TOKENS, 16, 1_000_000)
_PREFIX = Setting(str, "", high=2000)
# What each domain's queries are asked with, and where that goes in their prefix.
INSTRUCTIONS = "instructions"
INSTRUCTION = "{instruction}"
_SETTINGS: dict[str, dict[str, Setting]] = {
    Method.EMBEDDINGS: {
        "endpoint": Setting(str, "", high=60),
        "model": Setting(str, "", high=200),
        "dimensions": Setting(int, None, 1, 65_536),
        "query_prefix": _PREFIX,
        "document_prefix": _PREFIX,
        INSTRUCTIONS: Setting(str, "", high=100_000),
        "query_tokens": _TOKENS,
        "document_tokens": _TOKENS,
        "tokenizer": Setting(str, tokens.CHARACTERS, high=tokens.LONGEST_NAME),
    },
    # With `runs` and `weights`, which are lists.
    Method.HYBRID: {},
}


def settings_of(method: str) -> dict[str, Setting]:
    """What a method may be set to. Raises Refused where there is no such method, or one that
    cannot be used."""
    if method in _SETTINGS:
        return _SETTINGS[method]
    found = retrievers.known(method)
    if found is None:
        named = ", ".join(retrievers.names())
        raise Refused(f"There is no method {method!r}: {named}.", field="method")
    if found.fault:
        raise Refused(found.fault, field="method")
    return {name: Setting.of(default) for name, default in found.settings.items()}


def freeze(benchmark: Benchmark, method: str, given: dict[str, Any]) -> dict[str, Any]:
    """The whole configuration; names that the method does not know are refused, too."""
    known = settings_of(method)
    shared = ("runs", "weights") if method == Method.HYBRID else (BY_DOCUMENT, QUERIES)
    own = {name: value for name, value in given.items() if name not in ("depth", *shared)}
    if isinstance(own.get(INSTRUCTIONS), dict):
        own[INSTRUCTIONS] = json.dumps(own[INSTRUCTIONS])
    found = frozen(known, own, {}, whose=retrievers.label_of(method))
    if method == Method.HYBRID:
        found["runs"] = _runs(benchmark, given.get("runs"))
        found["weights"] = _weights(given.get("weights"))
        if len(found["weights"]) != len(found["runs"]):
            raise Refused("Give one weight for each of the runs.", field="weights")
    if method == Method.EMBEDDINGS:
        name = found["endpoint"]
        placed = endpoints.get(name) if name else endpoints.for_role("embedder")
        endpoint = endpoints.in_role(placed, "embedder")
        found |= {"endpoint": endpoint.name, "model": found["model"] or endpoint.default_model}
        found |= _instructed(benchmark, found["query_prefix"], found.pop(INSTRUCTIONS))
        tokens.check(found["tokenizer"])
    plugged = retrievers.known(method)
    if plugged and plugged.stamp:
        found["retriever"] = plugged.stamp
    depth = DEPTH.read("depth", given.get("depth"))
    if Setting(bool, False).read(BY_DOCUMENT, given.get(BY_DOCUMENT)):
        found[BY_DOCUMENT] = True
    if given.get(QUERIES) is not None:
        found[QUERIES] = _source(benchmark, given[QUERIES]).pk
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
    """A name for the run where nobody gave one: its method, and what is set otherwise than by
    default."""
    if config.get(BY_DOCUMENT) and version is not None:
        plain = title({**config, BY_DOCUMENT: False}, names, version)
        return f"{plain}, best chunk of {version.name}"
    if config.get(QUERIES):
        plain = title({**config, QUERIES: None}, names, version)
        return f"{plain}, {QuerySource.objects.get(pk=config[QUERIES]).name}"
    method = config["method"]
    settings = {"depth": DEPTH, **settings_of(method)}
    if method == Method.EMBEDDINGS:
        name = str(config["model"])
    elif method == Method.HYBRID:
        name = " + ".join(names[pk] for pk in config["runs"])
        if config["weights"] != _weights(None):
            name += " at {:g} and {:g}".format(*config["weights"])
    elif method == Method.LSA:
        name = f"LSA {config['dimensions']}"
        del settings["dimensions"]
    else:
        name = retrievers.label_of(method)
    changed = [
        f"{each} {config[each]:g}"
        for each, setting in settings.items()
        if setting.kind is not str and config[each] != setting.default
    ]
    return ", ".join([name, *changed])


def _instructed(benchmark: Benchmark, prefix: str, text: str) -> dict[str, Any]:
    """The instruction of each domain and the prefix that it goes into; nothing where none is given.
    Raises Refused for a domain without one, and for one that is not here."""
    if not text.strip():
        return {}
    own = _by_domain(text)
    here = set(benchmark.domains.ready().values_list("name", flat=True))
    for what, names in (
        ("No instruction for", here - own.keys()),
        ("No domain", own.keys() - here),
    ):
        if names:
            raise Refused(f"{what} {', '.join(sorted(names))}.", field=INSTRUCTIONS)
    if prefix and INSTRUCTION not in prefix:
        raise Refused(
            f"The prefix needs {INSTRUCTION} where a domain’s instruction goes.",
            field="query_prefix",
        )
    return {INSTRUCTIONS: own, "query_prefix": prefix or f"{INSTRUCTION} "}


def _by_domain(text: str) -> dict[str, str]:
    """An instruction by domain, from a JSON object or lines `domain: instruction`."""
    if text.lstrip().startswith("{"):
        try:
            found = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise Refused(f"This is no JSON: {error}.", field=INSTRUCTIONS) from None
    else:
        lines = [each.partition(":") for each in text.splitlines() if each.strip()]
        found = {name.strip(): said.strip() for name, _, said in lines if said.strip()}
        if len(found) < len(lines):
            raise Refused("Each line is domain: instruction, each domain once.", field=INSTRUCTIONS)
    if not all(isinstance(each, str) and each.strip() for each in found.values()):
        raise Refused("An instruction is a text.", field=INSTRUCTIONS)
    return found


def _source(benchmark: Benchmark, key: Any) -> QuerySource:
    known = type(key) is int and 0 < key < 2**63
    found = QuerySource.objects.filter(benchmark=benchmark, pk=key).first() if known else None
    if found is None:
        raise Refused("There is no such query source.", field=QUERIES)
    return found


def _runs(benchmark: Benchmark, requested: Any) -> list[int]:
    if not isinstance(requested, list) or any(type(pk) is not int for pk in requested):
        raise Refused("Name the runs by their numbers.", field="runs")
    if len(requested) != 2 or len(set(requested)) != 2:
        raise Refused("A hybrid is made of two different runs.", field="runs")
    found = RetrievalRun.objects.filter(benchmark=benchmark, pk__in=requested)
    if len(found) != 2:
        raise Refused("One of these runs is not here.", field="runs")
    for run in found:
        if RankedList.objects.filter(run=run, scores__isnull=True).exists():
            raise Refused(
                f"The run {run.name} has no scores, so there is nothing to add up.", field="runs"
            )
    return requested


def _weights(value: Any) -> list[float]:
    value = [0.5, 0.5] if value is None else value
    if not isinstance(value, list):
        raise Refused("Weights are two numbers from 0 to 1.", field="weights")
    found: list[float] = [WEIGHT.read("weights", each) for each in value]
    if not any(found):
        raise Refused("One of the weights must be above 0.", field="weights")
    return found
