"""Labels of a crowd: by majority and by Dawid and Skene's model, and how right they are."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from kit.stats.classes import ClassReport, class_report
from kit.stats.dawid_skene import DawidSkene, dawid_skene
from kit.stats.proportions import proportion
from kit.stats.ratings import Ratings
from kit.stats.reading import RatingFile

# What becomes of items on which the most frequent labels are equally frequent; never chance.
TIES = {
    "none": "a tie has no label",
    "lowest": "a tie gets the lowest of its labels on the scale",
    "highest": "a tie gets the highest of its labels on the scale",
}
DAWID_SKENE_RULE = "likeliest label of the model; equally likely ones: the first on the scale"


def majority(ratings: Ratings, ties: str = "none") -> tuple[list[Hashable | None], list[bool]]:
    """The most frequent label of each item, and whether it was a tie, settled as TIES says."""
    is_top = ratings.counts == ratings.counts.max(axis=1, keepdims=True)
    tied = is_top.sum(axis=1) > 1
    size = len(ratings.categories)
    codes = is_top.argmax(axis=1)
    if ties == "highest":
        codes = size - 1 - is_top[:, ::-1].argmax(axis=1)
    labels = [
        None if is_tie and ties == "none" else ratings.categories[code]
        for code, is_tie in zip(codes, tied, strict=True)
    ]
    return labels, tied.tolist()


def aggregate(found: RatingFile, ties: str = "none") -> dict[str, Any]:
    """Both labels of every item, the rules behind them, raters' accuracy, scores where truth is.

    `probability` is that of the model's label. Raises ValueError where there is no label at all.
    """
    ratings = found.ratings
    fit = dawid_skene(ratings)
    plain, tied = majority(ratings, ties)
    votes = ratings.counts.sum(axis=1).astype(int)
    rows = [
        {
            "item": list(item) if isinstance(item, tuple) else item,
            "votes": int(votes[row]),
            "majority": plain[row],
            "tied": tied[row],
            "dawid_skene": fit.labels[row],
            "probability": float(fit.posterior[row].max()),
            **({"truth": found.truth.get(item)} if found.truth else {}),
        }
        for row, item in enumerate(ratings.items)
    ]
    return {
        "items": len(ratings.items),
        "raters": len(ratings.raters),
        "labels": ratings.n_labels,
        "missing_labels": found.n_missing,
        "categories": list(ratings.categories),
        "rules": {"majority": f"most votes; {TIES[ties]}", "dawid_skene": DAWID_SKENE_RULE},
        "ties": sum(tied),
        "model": {"converged": fit.converged, "iterations": fit.iterations},
        "by_rater": _raters(fit),
        "scores": _scores(found, {"majority": plain, "dawid_skene": fit.labels}),
        "rows": rows,
    }


def _raters(fit: DawidSkene) -> list[dict[str, Any]]:
    """How many labels each rater gave, and how often the model thinks that they are right."""
    given = (fit.ratings.codes >= 0).sum(axis=0)
    columns = zip(fit.ratings.raters, given.tolist(), fit.accuracy.tolist(), strict=True)
    return [{"rater": rater, "labels": n, "accuracy": share} for rater, n, share in columns]


def _scores(
    found: RatingFile, labels: Mapping[str, Sequence[Hashable | None]]
) -> dict[str, dict[str, Any]]:
    known = [row for row, item in enumerate(found.ratings.items) if item in found.truth]
    if not known:
        return {}
    truth = [found.truth[found.ratings.items[row]] for row in known]
    classes = found.ratings.categories
    return {
        name: _score(truth, [given[row] for row in known], classes)
        for name, given in labels.items()
    }


def _score(
    truth: Sequence[Hashable], given: Sequence[Hashable | None], classes: Sequence[Hashable]
) -> dict[str, Any]:
    """Accuracy over all items with a truth, those without a label counted as wrong; F1 by class.

    F1 is 2 tp / (2 tp + fp + fn), None where a class is neither true nor given; `macro_f1` is the
    mean over the classes that are.
    """
    right = sum(label == true for true, label in zip(truth, given, strict=True))
    accuracy = proportion(right, len(truth))
    report = class_report(truth, given, classes=classes)
    by_class = [_of_class(report, at, each, truth) for at, each in enumerate(classes)]
    defined = [each["f1"] for each in by_class if each["f1"] is not None]
    return {
        "items": len(truth),
        "right": right,
        "without_label": sum(label is None for label in given),
        "accuracy": accuracy.value,
        "low": accuracy.low,
        "high": accuracy.high,
        "macro_f1": float(np.mean(defined)),
        "classes": by_class,
    }


def _of_class(
    report: ClassReport, at: int, label: Hashable, truth: Sequence[Hashable]
) -> dict[str, Any]:
    hits, true = report.table[at][at], sum(each == label for each in truth)
    given = sum(row[at] for row in report.table)
    return {
        "label": label,
        "true": true,
        "given": given,
        "precision": hits / given if given else None,
        "recall": hits / true if true else None,
        "f1": 2 * hits / (true + given) if true + given else None,
    }


def as_text(report: dict[str, Any]) -> str:
    """Everything but the rows, for people."""
    model = report["model"]
    state = "converged" if model["converged"] else "not converged, so not to be trusted,"
    lines = [
        f"{report['items']} items, {report['raters']} raters, {report['labels']} labels,"
        f" {report['missing_labels']} missing",
        f"majority: {report['rules']['majority']}; {report['ties']} ties",
        f"Dawid-Skene: {report['rules']['dawid_skene']};"
        f" {state} after {model['iterations']} iterations",
    ]
    for name, each in report["scores"].items():
        lines.append(
            f"{name.replace('_', '-'):12} accuracy {each['accuracy']:.4f}"
            f" [{each['low']:.4f}, {each['high']:.4f}], macro F1 {each['macro_f1']:.4f}"
            f"  ({each['right']} of {each['items']} items, {each['without_label']} without a label)"
        )
        for one in each["classes"]:
            shares = [f"{name} {_share(one[name])}" for name in ("precision", "recall", "f1")]
            lines.append(f"{'':12} {one['label']}: {', '.join(shares)} ({one['true']} items)")
    return "\n".join(lines)


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"
