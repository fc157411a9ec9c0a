"""README.md of a release, front matter for `datasets` and a page for people; and LICENCE.md."""

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from django.template.loader import render_to_string

from corpus.importers.rows import LicenceRow
from evaluation.content.view import View
from evaluation.exporters import licences
from evaluation.exporters.faults import Fault, named
from evaluation.exporters.names import one_line
from evaluation.exporters.records import Statistics, total
from kit.stats.results import Estimate

NO_LICENCE = "No licence was stated. Ask before you pass this on."
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


def render_card(
    view: View,
    *,
    version: str,
    is_draft: bool,
    configurations: Mapping[str, Sequence[str]],
    splits: Mapping[str, Statistics],
    machine: Mapping[tuple[str, tuple[str, ...]], int] = MappingProxyType({}),
    faults: Sequence[Fault],
    votes: tuple[int, Estimate | None] = (0, None),
    end_of_votes: str = "",
    first_stage: str = "",
    bar: float | None = None,
    chain: Sequence[Mapping[str, Any]] = (),
    reviews: tuple[int, int, Estimate | None] = (0, 0, None),
    checks: Sequence[str] = (),
    rows: Sequence[LicenceRow] = (),
) -> str:
    """The whole README.md; the same release gives the same text.

    `configurations` names the splits that have a file of each; `machine` counts machine gold by
    source and models; `votes` are the standing votes with
    a label and their Fleiss' kappa, `end_of_votes` the last link of their chain, `first_stage` the
    run whose passages are to be reranked, `bar` the minimum kappa, `chain` the steps that led
    here; `reviews` the queries with an accepted second review, the weights scored blind in these,
    and their quadratic kappa with the authors'; `checks` which checks gate people's labels; `rows`
    the licences of layers.
    """
    benchmark, whole = view.benchmark, total(splits.values())
    shown = "aspects" if configurations.get("aspects") else "examples"
    absent = " (absent: there is nothing to put in it)"
    context = {
        "title": one_line(benchmark.name),
        "pretty_name": _quoted(one_line(benchmark.name)),
        "licence": benchmark.licence and _quoted(benchmark.licence),
        "stated": one_line(benchmark.licence) or NO_LICENCE,
        "licences": licences.stated(rows, list(splits)),
        "version": version,
        "is_draft": is_draft,
        "description": benchmark.description.strip(),
        "corpus": one_line(_corpus_words(view)),
        "configurations": configurations,
        "absent": {name: "" if found else absent for name, found in configurations.items()},
        "faults": [f"{each.message} {named(each)}" for each in faults],
        "practice": any(each.check == "practice_labels" for each in faults),
        "tables": [*splits.items(), ("**total**", whole)],
        "total": whole,
        "growth": "" if whole.growth is None else f"{whole.growth:+.1%}",
        "contested": sum(whole.contested.values()),
        "sources": SOURCES,
        "machine": [
            (source, SOURCES[source], ", ".join(models) or "–", count)
            for (source, models), count in sorted(machine.items())
        ],
        "machine_total": sum(machine.values()),
        "votes": votes[0],
        "kappa": _with_interval(votes[1]),
        "end_of_votes": end_of_votes,
        "first_stage": one_line(first_stage),
        "bar": bar,
        # 0 is what it began with, and the last without an output what makes the release.
        "chain": [each for each in chain if each["step"] and each["output_sha256"]],
        "reviewed": reviews[0],
        "weights": reviews[1],
        "checks": checks,
        "weight_kappa": _with_interval(reviews[2]),
        # What the examples of loading load.
        "shown": shown,
        "split": next(iter(configurations.get(shown, ())), "SPLIT"),
    }
    return render_to_string("evaluation/releases/card.md", context)


def render_licence(licence: str, rows: Sequence[LicenceRow], splits: Sequence[str]) -> str:
    """LICENCE.md: the benchmark's licence, then that of each layer with its whole text."""
    context = {
        "stated": one_line(licence) or NO_LICENCE,
        "link": licences.link_of(licence),
        "licences": licences.stated(rows, splits),
        "unstated": licences.unstated(rows, splits),
    }
    return render_to_string("evaluation/releases/licence.md", context).rstrip("\n") + "\n"


def _corpus_words(view: View) -> str:
    """How a derived version came from what was loaded; nothing of the loaded texts themselves."""
    if view.corpus is None or not view.corpus.is_derived:
        return ""
    steps, at = [], view.corpus
    while at.is_derived and at.parent is not None:
        preset = str(at.recipe.get("preset", "")).replace("_", " ")
        steps.append(
            f"“{at.name}” was made from “{at.parent.name}” by cleaning run "
            f"{at.recipe.get('cleaning')} ({preset})"
        )
        at = at.parent
    return "; ".join(steps) + "."


def _with_interval(found: Estimate | None) -> str:
    if found is None or found.value is None:
        return ""
    if found.interval is None:
        return f"{found.value:.3f}"
    return f"{found.value:.3f} (95 % interval {found.low:.3f} to {found.high:.3f})"


def _quoted(text: str) -> str:
    """A string as YAML takes it: "no" and "1" would be something else without quotes."""
    return json.dumps(text, ensure_ascii=False)
