"""`python -m tests.bench.correcting`: how often corrected figures hold the truth, on real judges.

The 11 LLMJudge submissions beside the labels of TREC DL 2023's people (../shared/data/llmjudge):
first the share of pairs that are graded 2 or more, 300 labels, 20,000 draws a judge; then nDCG@10
of three made-up systems from labels that 300 of people's correct, and from whole queries.
"""

from pathlib import Path
from typing import Any

import numpy as np

from kit.stats.predicted import Stratum, corrected_mean
from kit.stats.proportions import wilson
from kit.stats.sampling import allot
from tests.conftest import SHARED
from tests.kit.test_stats_predicted import LABELS, read_labels, simulated

DRAWS, TIMES, IMPUTED, WHOLE = 20_000, 60, 100, 10
NOISE = {"good": 0.8, "middle": 2.0, "poor": 6.0}


def shares(people: dict[Any, int], files: list[Path]) -> None:
    """Coverage, and how much narrower than as many labels without a judge."""
    truth = np.array([label >= 2 for label in people.values()], dtype=float)
    n, hits, left = len(truth), int(truth.sum()), 1 - LABELS / len(truth)
    drawn = np.random.default_rng(1).hypergeometric(hits, n - hits, LABELS, size=DRAWS)
    alone = np.mean([wilson(k / left, LABELS / left).width for k in drawn.tolist()])
    print(f"share of 2 or more: {truth.mean():.3f}; people alone: width {alone:.4f}")
    for file in files:
        judge = read_labels(file)
        grade = np.array([judge[pair] for pair in people])
        coverage, width = simulated(grade, truth, seed=99, draws=DRAWS)
        raw = (grade >= 2).mean()
        print(
            f"{file.stem}: raw {raw:.3f}, inside {coverage:.1%}, narrower {1 - width / alone:.1%}"
        )


def ndcg_of(labels: Any, orders: list[Any], pairs: list[Any]) -> Any:
    """nDCG@10 of each query."""
    discount = 1 / np.log2(np.arange(2, 12))
    found = []
    for order, own in zip(orders, pairs, strict=True):
        ideal = np.sort(labels[own])[::-1][:10] @ discount
        found.append(labels[order[:10]] @ discount / ideal if ideal else 0.0)
    return np.array(found)


def ndcg(people: dict[Any, int], files: list[Path]) -> None:
    """Label by label each unseen label is drawn from what people said of its grade, in resamples of
    their sample; over queries the mean of ten that people labelled wholly is moved as in PPI++."""
    truth = np.array(list(people.values()), dtype=float)
    query = np.unique([pair[0] for pair in people], return_inverse=True)[1]
    pairs = [np.flatnonzero(query == number) for number in range(query.max() + 1)]
    rng = np.random.default_rng(5)
    for name, noise in NOISE.items():
        score = truth + rng.normal(0, noise, len(truth))
        orders = [own[np.argsort(-score[own])] for own in pairs]
        true = ndcg_of(truth, orders, pairs)
        for file in files:
            judge = read_labels(file)
            grade = np.array([judge[pair] for pair in people], dtype=float)
            by_machine = ndcg_of(grade, orders, pairs)
            cells = {g: np.flatnonzero(grade == g) for g in np.unique(grade)}
            sizes = allot({g: len(cell) for g, cell in cells.items()}, LABELS)
            inside = whole = 0
            for _ in range(TIMES):
                drawn = {g: rng.choice(cells[g], sizes[g], replace=False) for g in cells}
                means = []
                for _ in range(IMPUTED):
                    labels = grade.copy()
                    for g, cell in cells.items():
                        if sizes[g]:
                            known = truth[rng.choice(drawn[g], sizes[g])]
                            labels[cell] = rng.choice(known, len(cell))
                            labels[drawn[g]] = truth[drawn[g]]
                    means.append(ndcg_of(labels, orders, pairs).mean())
                low, high = np.quantile(means, [0.025, 0.975])
                inside += low <= true.mean() <= high
                chosen = rng.choice(len(pairs), WHOLE, replace=False)
                both = list(zip(by_machine[chosen], true[chosen], strict=True))
                found = corrected_mean([Stratum(len(pairs), by_machine.mean(), both)])
                whole += (found.low or 0) <= true.mean() <= (found.high or 0)
            print(
                f"{name}, {file.stem}: nDCG@10 {true.mean():.3f}, raw {by_machine.mean():.3f}, "
                f"inside {inside / TIMES:.0%} label by label, {whole / TIMES:.0%} over queries"
            )


def main() -> None:
    """Print both."""
    folder = SHARED / "llmjudge"
    people = read_labels(folder / "human_test_qrels.txt")
    files = sorted(folder.glob("submissions/*.txt"))
    shares(people, files)
    ndcg(people, [files[0], files[3], files[7], files[9]])


if __name__ == "__main__":
    main()
