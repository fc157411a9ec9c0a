"""Training data as files, in the shapes that three trainers read, with a mixture report and a card.

- `diver`: `query`, `response`, `rejected_response` (a list); a line for each positive
- `sentence-transformers`: `anchor`, `positive`, `negative`; a line for each pair of the two
- `flagembedding`: `query`, `pos`, `neg` (lists); a line for each query

`sources.jsonl` beside it has a line for each line, and says of each text where it is from.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any, Final, TypeAlias

import orjson

from evaluation.exporters.files import write_jsonl, write_lines, write_sums

TRAIN, SOURCES, MIXTURE, CARD = "train.jsonl", "sources.jsonl", "mixture.json", "README.md"


@dataclass(frozen=True)
class Text:
    """A document with where it is from: `kind`, and `call`, `judgment`, `passage` as far as there
    are; `score` from 0 to 10."""

    text: str
    language: str
    source: Mapping[str, Any]


@dataclass(frozen=True)
class Sample:
    """One query with what is to be ranked above what; none of both is empty."""

    domain: str
    qid: str
    query: str
    positives: Sequence[Text]
    negatives: Sequence[Text]


# A line, and the texts that stand in it.
Line: TypeAlias = tuple[dict[str, Any], Sequence[Text], Sequence[Text]]


def _diver(sample: Sample) -> Iterator[Line]:
    rejected = [each.text for each in sample.negatives]
    for each in sample.positives:
        row = {"query": sample.query, "response": each.text, "rejected_response": rejected}
        yield row, [each], sample.negatives


def _triplets(sample: Sample) -> Iterator[Line]:
    for good in sample.positives:
        for bad in sample.negatives:
            row = {"anchor": sample.query, "positive": good.text, "negative": bad.text}
            yield row, [good], [bad]


def _flag(sample: Sample) -> Iterator[Line]:
    pos, neg = ([each.text for each in side] for side in (sample.positives, sample.negatives))
    yield {"query": sample.query, "pos": pos, "neg": neg}, sample.positives, sample.negatives


FORMATS: Final[dict[str, Callable[[Sample], Iterator[Line]]]] = {
    "diver": _diver,
    "sentence-transformers": _triplets,
    "flagembedding": _flag,
}


class Mixture:
    """Counts of the texts that are trained on, each once a query, however many lines hold it.

    `length` counts what lengths are told in, tokens of some tokenizer.
    """

    def __init__(self, length: Callable[[str], int] = len) -> None:
        self.length = length
        self.lengths: dict[str, list[int]] = {"query": [], "positive": [], "negative": []}
        self.queries: Counter[str] = Counter()
        self.texts: Counter[tuple[str, str, str, str, str]] = Counter()
        self.unjudged = 0

    def add(self, sample: Sample) -> None:
        """Count a query and its documents."""
        self.queries[sample.domain] += 1
        self.lengths["query"].append(self.length(sample.query))
        for use, side in (("positive", sample.positives), ("negative", sample.negatives)):
            for each in side:
                self.lengths[use].append(self.length(each.text))
                score = each.source.get("score")
                band = "" if score is None else f"{score:g}"
                kind = str(each.source["kind"])
                self.texts[use, sample.domain, kind, each.language or "unknown", band] += 1
                self.unjudged += bool(each.source.get("unjudged"))

    def by(self, *places: int) -> dict[tuple[str, ...], int]:
        """Counts by some of use, domain, source, language and score (0 to 4), in their order."""
        found: Counter[tuple[str, ...]] = Counter()
        for key, count in self.texts.items():
            found[tuple(key[place] for place in places)] += count
        return dict(sorted(found.items()))

    def as_data(self) -> dict[str, Any]:
        """The report: counts a domain, source, language and score."""
        names = {"domains": 1, "sources": 2, "languages": 3, "scores": 4}
        return {
            "queries": dict(sorted(self.queries.items())),
            "unjudged_negatives": self.unjudged,
            "lengths": {
                name: {"mean": round(fmean(found), 1), "median": median(found), "most": max(found)}
                for name, found in self.lengths.items()
                if found
            },
            **{
                name: [
                    {"use": use, "value": value, "texts": count}
                    for (use, value), count in self.by(0, place).items()
                    if value
                ]
                for name, place in names.items()
            },
        }


def write_training(
    folder: Path, format: str, samples: Iterable[Sample], about: Mapping[str, Any]
) -> dict[str, Any]:
    """Write the data in a format of FORMATS, streamed, and return its counts.

    `about` tells of the run: `title`, `lines` for the card, `left_out` (read when all samples are
    through: counts by reason), `facts` for the report, and `length`, by which texts are as long.
    """
    mixture, lines_of = Mixture(about["length"]), FORMATS[format]
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / SOURCES).open("wb") as sources:

        def rows() -> Iterator[dict[str, Any]]:
            for sample in samples:
                mixture.add(sample)
                for row, positives, negatives in lines_of(sample):
                    sources.write(_source(sample, positives, negatives))
                    yield row

        count = write_jsonl(folder / TRAIN, rows())
    report = {
        "format": format,
        "lines": count,
        **about["facts"],
        "left_out": dict(about["left_out"]),
        **mixture.as_data(),
    }
    write_jsonl(folder / MIXTURE, [report])
    write_lines(folder / CARD, _card(about, report))
    write_sums(folder)
    return report


def _source(sample: Sample, positives: Sequence[Text], negatives: Sequence[Text]) -> bytes:
    row = {
        "domain": sample.domain,
        "query_id": sample.qid,
        "positives": [dict(each.source) for each in positives],
        "negatives": [dict(each.source) for each in negatives],
    }
    return orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)


def _card(about: Mapping[str, Any], report: Mapping[str, Any]) -> Iterator[str]:
    yield f"# {about['title']}"
    yield ""
    yield from about["lines"]
    yield ""
    yield f"Queries: {sum(report['queries'].values()):,}. Lines of `{TRAIN}`: {report['lines']:,}."
    yield f"Negatives that nobody judged: {report['unjudged_negatives']:,}."
    for name in ("domains", "sources", "languages", "scores"):
        yield ""
        yield f"| {name} | used as | texts |"
        yield "| --- | --- | ---: |"
        for row in report[name]:
            yield f"| {row['value']} | {row['use']} | {row['texts']:,} |"
    yield ""
    yield f"| length in tokens ({report['tokenizer']}) | mean | median | most |"
    yield "| --- | ---: | ---: | ---: |"
    for name, found in report["lengths"].items():
        yield f"| {name} | {found['mean']:,} | {found['median']:,} | {found['most']:,} |"
    if report["left_out"]:
        yield ""
        yield "| left out | texts or queries |"
        yield "| --- | ---: |"
        for reason, count in report["left_out"].items():
            yield f"| {reason} | {count:,} |"
