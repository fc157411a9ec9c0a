"""Page cost beside a bare Django page, and every other benchmark by its name.

Pages and anchor are asked in turn inside one run, so that a machine whose speed drifts changes
both; read the ratios, not the milliseconds.
"""

import argparse
import re
import statistics
import sys
import tempfile
from pathlib import Path

from tests.bench import (
    agents,
    browsing,
    calls,
    chain,
    cleaning,
    coverage,
    debates,
    dense,
    extraction,
    figures,
    following,
    leaderboard,
    loading,
    metrics,
    pooling,
    rag,
    release,
    retrieval,
    start,
    views,
    votes,
)
from tests.bench.client import Visitor
from tests.bench.server import Assay, running_assay, running_bare

ROUNDS = 150
WARM_UP = 20


def main() -> None:
    """Print the tables that docs/measurements.md quotes; names on the command line choose."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHES)}; or all")
    chosen = parser.parse_args().names or list(BENCHES)
    if unknown := set(chosen) - BENCHES.keys():
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}")
    sys.argv[1:] = []
    for name in chosen:
        print(f"== {name}")
        BENCHES[name]()


def day_pages() -> None:
    """The cost of the pages people spend their day on."""
    with (
        tempfile.TemporaryDirectory(prefix="assay-bench-") as folder,
        running_assay(Path(folder)) as assay,
        running_bare() as bare,
    ):
        pages(assay, bare)


def pages(assay: Assay, bare: str) -> None:
    """One client, no think time: medians, and ratios of medians to the anchor's."""
    anchor = Visitor(bare)
    visitors = {name: Visitor(assay.url) for name in ("admin", "annotator-1")}
    for name, visitor in visitors.items():
        visitor.sign_in(assay.link(name))
    paths = find_paths(visitors)
    times: dict[str, list[float]] = {"bare page": [], **{name: [] for name in paths}}
    for turn in range(WARM_UP + ROUNDS):
        for name, (visitor, path) in {"bare page": (anchor, "/"), **paths}.items():
            seconds = visitor.timed(path)
            if turn >= WARM_UP:
                times[name].append(seconds)
    report(times)


def find_paths(visitors: dict[str, Visitor]) -> dict[str, tuple[Visitor, str]]:
    """The pages people spend their day on."""
    admin, annotator = visitors["admin"], visitors["annotator-1"]
    base = "/b/garden-weather/"
    _, queries = annotator.get(f"{base}queries/")
    query = re.search(rf'href="({base}queries/\d+/)"', queries)
    _, runs = admin.get(f"{base}debates/")
    run = re.search(rf'href="({base}debates/\d+/)"', runs)
    assert query, "no query on the list"
    assert run, "no debate run on the list"
    return {
        "home": (annotator, "/"),
        "queries": (annotator, f"{base}queries/"),
        "query workspace": (annotator, query[1]),
        "passages": (annotator, f"{base}passages/"),
        "vote": (annotator, vote_path(annotator, base)),
        "debate run": (admin, run[1]),
    }


def vote_path(annotator: Visitor, base: str) -> str:
    """The next case; the page itself, not the redirect to it."""
    status, _ = annotator.get(f"{base}vote/")
    if status == 200:
        return f"{base}vote/"
    annotator.connection.request("GET", f"{base}vote/", headers=annotator.headers())
    response = annotator.connection.getresponse()
    response.read()
    return response.headers["Location"]


def report(times: dict[str, list[float]]) -> None:
    """One line a page."""
    bare = statistics.median(times["bare page"])
    print(f"{'page':18} {'median ms':>10} {'p95 ms':>8} {'ratio':>7}")
    for name, seconds in times.items():
        median = statistics.median(seconds)
        p95 = statistics.quantiles(seconds, n=20)[-1]
        print(f"{name:18} {1000 * median:10.2f} {1000 * p95:8.2f} {median / bare:7.1f}")


BENCHES = {
    "start": start.main,
    "pages": day_pages,
    "views": views.main,
    "loading": loading.main,
    "browsing": browsing.main,
    "extraction": extraction.main,
    "coverage": coverage.main,
    "figures": figures.main,
    "following": following.main,
    "agents": agents.main,
    "rag": rag.main,
    "calls": calls.main,
    "metrics": metrics.main,
    "chain": chain.main,
    "debates": debates.main,
    "pooling": pooling.main,
    "votes": votes.main,
    "retrieval": retrieval.main,
    "dense": dense.main,
    "release": release.main,
    "cleaning": cleaning.main,
    "leaderboard": leaderboard.main,
}

if __name__ == "__main__":
    main()
