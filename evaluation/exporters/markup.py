"""Small pieces of the card: YAML front matter, ids as code, places in brackets."""

import json
from collections.abc import Iterator, Mapping, Sequence

from evaluation.exporters.faults import Fault, Place

# Ids named under each fault; the release page names more.
MOST_NAMED = 5


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


def one_line(text: str) -> str:
    """The text without line breaks."""
    return " ".join(text.split())
