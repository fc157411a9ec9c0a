"""README.md of a release, front matter for `datasets` and a page for people; and LICENCE.md."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from evaluation.exporters.faults import Fault, Place
from evaluation.exporters.names import one_line
from evaluation.exporters.statistics import Statistics
from kit.stats.results import Estimate

# Ids named under each fault; the release page names more.
MOST_NAMED = 5
NO_LICENCE = "No licence was stated. Ask before you pass this on."
CONFIGURATIONS = ("examples", "aspects", "documents")

SOURCES: dict[str, str] = {
    "original": "the gold as it was loaded",
    "filter": "three models that agreed the passage does not answer",
    "debate": "two agents that agreed in a debate",
    "human": "the majority of people's votes on a disputed pair",
    "llm_adjudicator": "a model that decided a disputed pair",
    "expert": "an expert of the field",
    "llmjudge": "a single model",
    "lara": "a model with labels calibrated by people",
}


@dataclass(frozen=True)
class Card:
    """What the page tells; `splits` in release order, `configurations` -> splits with a file."""

    name: str
    version: str
    is_draft: bool
    description: str
    licence: str
    configurations: Mapping[str, Sequence[str]]
    splits: Mapping[str, Statistics]
    total: Statistics
    faults: Sequence[Fault]
    # How a corpus version that cleanings made came about; empty for the texts as loaded.
    corpus: str = ""
    # Standing votes with a label, their Fleiss' kappa, and the bar that was set.
    votes: int = 0
    kappa: Estimate | None = None
    bar: float | None = None
    # Queries with an accepted second review, the weights scored blind in these, and their
    # quadratic kappa beside the authors'.
    reviewed: int = 0
    weights: int = 0
    weight_kappa: Estimate | None = None


def render(card: Card) -> str:
    """The whole file; the same card gives the same text."""
    parts = (
        front_matter(card.name, card.licence, card.configurations),
        _heading(card),
        _faults_section(card),
        _statistics_section(card),
        _labels_section(card),
        *((_agreement_section(card),) if card.votes else ()),
        *((_reviews_section(card),) if card.reviewed else ()),
        _files_section(card),
        _loading_section(card),
        *(() if card.is_draft else (_citing_section(card),)),
        _licence_section(card),
    )
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def _heading(card: Card) -> Iterator[str]:
    yield f"# {one_line(card.name)} {card.version}"
    if card.is_draft:
        yield from ("", "**This is a draft.** Its faults are listed below; do not cite it.")
    if card.description.strip():
        yield from ("", card.description.strip())
    if card.corpus:
        yield from (
            "",
            f"**Corpus version.** {one_line(card.corpus)} Labels and aspects are read through from "
            "the passages they were given for, which `carried/` and `provenance/` name.",
        )


def _faults_section(card: Card) -> Iterator[str]:
    yield from ("## Known faults", "")
    if not card.faults:
        yield "The checks of this release found none."
    for each in card.faults:
        yield f"- {each.message} {named(each)}"


def _statistics_section(card: Card) -> Iterator[str]:
    yield from ("## Splits and statistics", "")
    yield "| split | queries | aspects | gold | original gold | holes | dropped | documents |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|"
    for split, statistics in card.splits.items():
        yield _statistics_row(split, statistics)
    yield _statistics_row("**total**", card.total)
    yield from ("", "“Gold” counts the published `gold_ids`; a hole is a relevant passage that the")
    yield "original gold lacks; “dropped” counts original gold that an expert found not relevant."
    if card.total.growth is not None:
        yield f"The holes are {card.total.growth:+.1%} of the original gold."


def _statistics_row(split: str, each: Statistics) -> str:
    numbers = (
        each.queries,
        each.aspects,
        each.gold,
        each.base,
        each.holes,
        each.dropped,
        each.documents,
    )
    return " | ".join([f"| {split}", *(f"{number:,}" for number in numbers)]) + " |"


def _labels_section(card: Card) -> Iterator[str]:
    yield from ("## How the labels were made", "")
    yield f"{card.total.judged:,} pairs of query and passage are labelled. In the expert view, the"
    yield "label that counts was given by:"
    yield from ("", "| source | who | relevant | not relevant |")
    yield "|---|---|---:|---:|"
    for source, (yes, no) in card.total.sources.items():
        yield f"| {source} | {SOURCES.get(source, source)} | {yes:,} | {no:,} |"
    if card.total.contested:
        yield from ("", *_contested(card.total))
    if any(each.check == "practice_labels" for each in card.faults):
        yield from ("", "**Some of these labels were made by the practice model**, which follows")
        yield "fixed rules and judges nothing. The column `practice` of the provenance files marks"
        yield "them. Use them to try the tools, never to measure a system."


def _agreement_section(card: Card) -> Iterator[str]:
    yield from ("## How far the voters agree", "")
    if card.kappa is None or card.kappa.value is None:
        yield f"{card.votes:,} votes were given; Fleiss' kappa is undefined for them."
    else:
        yield f"Fleiss' kappa over {card.votes:,} votes is {_with_interval(card.kappa)}."
    if card.bar is not None:
        yield f"The bar that was set for this release is {card.bar:g}."


def _reviews_section(card: Card) -> Iterator[str]:
    yield from ("## Second reviews", "")
    one = card.reviewed == 1
    yield f"{card.reviewed:,} {'query was' if one else 'queries were'} looked at by a second expert"
    yield "of the field: weights blind first, then aspects, weights and passages point by point."
    if card.weight_kappa is not None and card.weight_kappa.value is not None:
        yield f"Quadratic kappa of {card.weights:,} weights with those of the authors is"
        yield f"{_with_interval(card.weight_kappa)}."


def _with_interval(found: Estimate) -> str:
    if found.interval is None:
        return f"{found.value:.3f}"
    return f"{found.value:.3f} (95 % interval {found.low:.3f} to {found.high:.3f})"


def _contested(each: Statistics) -> Iterator[str]:
    count = sum(each.contested.values())
    by = ", ".join(f"{source} {number:,}" for source, number in each.contested.items())
    yield f"Contested: labels given since call {count:,} of the {each.base:,} passages in the"
    yield f"original gold not relevant ({by}). All of them stay in the refined view; the expert"
    yield "view leaves out those that an expert refused."


def _files_section(card: Card) -> Iterator[str]:
    yield from ("## Files", "")
    texts = {
        "examples": "one row per query: `id`, `query`, `gold_ids`, `reference_answer`"
        " (and `answers` where there are some)",
        "aspects": "one row per reasoning aspect: `id`, `content`, raw `weight`,"
        " `supporting_docs`, and the `scale` of the weight",
        "documents": "one row per passage: `id`, `content`",
    }
    for name in CONFIGURATIONS:
        state = "" if name in _present(card) else " (absent: there is nothing to put in it)"
        yield f"- `{name}/{{split}}.parquet`: {texts[name]}{state}"
    yield "- `bridge/{split}.jsonl`: `q_id`, `query`, `answers`, `doc_id`: the refined positives"
    yield "- `qrels/{split}.base.txt`, `.refined.txt`, `.expert.txt`: TREC qrels of the original"
    yield "  gold, of the same plus holes, and of that with experts' verdicts put over it; 0 is"
    yield "  judged not relevant"
    yield "- `qrels/{split}.aspects.txt`: subtopic qrels, the aspect's number in the second column,"
    yield "  for ndeval and ir_measures (where a split has aspects)"
    yield "- `beir/{split}/`: the split as BEIR has it: corpus, queries, `qrels/test.tsv` (the"
    yield "  expert view)"
    if card.corpus:
        yield "- `carried/{split}.jsonl`: of each pair that labels were carried to, the passages of"
        yield "  the earlier corpus version in it, their labels, and what those were made from"
    yield "- `evidence/{split}.jsonl`: what each label that stands was made from: answers, votes,"
    yield "  verdicts; people are pseudonyms that hold in this release alone"
    yield "- `evidence/answers/{split}.jsonl`: where each reference answer comes from: model,"
    yield "  prompt and parameters, a person, or the import (where a split has answers)"
    yield "- `evidence/reviews/{split}.jsonl`: of each accepted second review the people as"
    yield "  pseudonyms, weights scored blind, what came of every point (where there are some)"
    yield "- `croissant.json`: Croissant metadata of the tables; `LICENCE.md`: the licence"
    yield "- `provenance/{split}.jsonl`: where each label comes from, superseded ones included"
    yield "- `SHA256SUMS`: checksums, for `sha256sum -c SHA256SUMS`"
    yield from ("", "Query ids are unique inside their split only.")


def _loading_section(card: Card) -> Iterator[str]:
    name = "aspects" if "aspects" in _present(card) else "examples"
    split = next(iter(card.configurations.get(name, ())), "SPLIT")
    yield from ("## How to load it", "", "```python", "from datasets import load_dataset", "")
    yield f'{name} = load_dataset("path/to/this/folder", "{name}", split="{split}")'
    yield from ("```", "", "`datasets` remembers a folder by its path: after the files changed,")
    yield "give it a fresh `cache_dir`, or it answers with the old rows. Without it:"
    yield from ("", "```python", "import pandas as pd", "")
    yield f'{name} = pd.read_parquet("{name}/{split}.parquet")'
    yield from (
        "```",
        "",
        "A weight becomes a share when it is divided by the sum of the weights of",
    )
    yield "its query: the stem of an aspect's id is `{split}-{query id}`."


def _citing_section(card: Card) -> Iterator[str]:
    yield from ("## How to cite", "")
    yield f"Name the benchmark with this version: {one_line(card.name)}, version {card.version};"
    yield "and what it was made from. A version is one content: whoever has these files can tell"
    yield "with `sha256sum -c SHA256SUMS` that they are these, and name the view (base, refined or"
    yield "expert) whose gold a figure was computed with."


def _licence_section(card: Card) -> Iterator[str]:
    yield from ("## Licence", "")
    yield one_line(card.licence) or NO_LICENCE


def _present(card: Card) -> list[str]:
    """Configurations that have a file in any split."""
    return [name for name in CONFIGURATIONS if card.configurations.get(name)]


def front_matter(
    name: str, licence: str, configurations: Mapping[str, Sequence[str]]
) -> Iterator[str]:
    """The YAML that tells `datasets` which file is which split."""
    yield "---"
    if licence:
        yield f"license: {quoted(licence)}"
    yield f"pretty_name: {quoted(one_line(name))}"
    yield from ("task_categories:", "- text-retrieval", "configs:")
    for configuration, splits in configurations.items():
        if not splits:
            continue
        yield f"- config_name: {configuration}"
        if configuration == "examples":
            yield "  default: true"
        yield "  data_files:"
        for split in splits:
            yield f"  - split: {quoted(split)}"
            yield f"    path: {quoted(f'{configuration}/{split}.parquet')}"
    yield "---"


def named(fault: Fault) -> str:
    """The first places of a fault in a bracket, and how many more there are."""
    names = [place_name(row) for row in fault.rows[:MOST_NAMED]]
    rest = fault.count - len(names)
    more = [f"and {rest:,} more"] if rest and names else []
    return f"({', '.join(names + more)})" if names else ""


def place_name(place: Place) -> str:
    """The published ids of one place; the finest one says enough beside its query."""
    query = f"{place['split']}-{place['query']}" if "query" in place else place["split"]
    finest = place.get("aspect") or place.get("passage")
    if "aspect" in place:
        return code(str(finest))
    return f"{code(query)}: {code(str(finest))}" if finest is not None else code(query)


def code(text: str) -> str:
    """The text as inline code on one line."""
    return f"`{json.dumps(text, ensure_ascii=False)[1:-1].replace('`', ' ')}`"


def quoted(text: str) -> str:
    """A string as YAML takes it: "no" and "1" would be something else without quotes."""
    return json.dumps(text, ensure_ascii=False)


def render_licence(licence: str) -> str:
    """LICENCE.md: what was stated, layer by layer."""
    stated = one_line(licence) or NO_LICENCE
    return "\n".join(
        (
            "# Licence",
            "",
            stated,
            "",
            "It was stated for the benchmark as a whole. Layers that came from elsewhere keep what "
            "their source says:",
            "",
            "- texts (`documents`, `beir/*/corpus.jsonl`) and queries: their authors, as imported "
            "or collected;",
            "- the original gold (`qrels/*.base.txt`): whoever published it;",
            "- labels given since, aspects, weights, evidence: this release.",
            "",
        )
    )
