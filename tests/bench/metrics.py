"""All measures at five cut-offs beside pytrec_eval's nDCG and recall, in turn in one run.

python -m tests.bench.metrics [--rounds 7]; 739 queries x 1,000 passages. Read the ratios: the
anchor does the same work on the same dicts a moment before. From the file the anchor is
what Bright-Pro's own scripts do, in four passes (metrics_scripts.py), or these scripts themselves
where BRIGHT_PRO_SCRIPTS names a checkout of their repository.
"""

import argparse
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pyndeval
import pytrec_eval

from evaluation.metrics.gold import Aspect, Gold
from evaluation.metrics.names import MEASURES
from evaluation.metrics.profiles import PROFILES, Profile
from evaluation.metrics.reading.runs import read_run
from evaluation.metrics.run import Run
from evaluation.metrics.scoring import Scores, score
from tests.bench.metrics_scripts import passes, their_passes

QUERIES, PASSAGES = 739, 1000
TOPICS, LENGTHS = 198, (5, 20, 100, 1000)
CUTS = (5, 10, 25, 50, 100)
# The passage task of TREC DL 2019: what was submitted, and what was judged of each query.
RUNS, JUDGED, LISTS = 37, 215, (43, 1000)
# Measures of a track as score_run and as trec_eval call them.
TRACK = {
    "nDCG@10": "ndcg_cut_10",
    "nDCG@100": "ndcg_cut_100",
    "recall@100": "recall_100",
    "recall@1000": "recall_1000",
    "precision@10": "P_10",
    "hit@10": "success_10",
    "MAP": "map",
    "MRR": "recip_rank",
}
BY_PYTREC_EVAL = f"""
import json, pathlib, sys
import pytrec_eval
with open(sys.argv[2]) as file:
    qrels = pytrec_eval.parse_qrel(file)
evaluator = pytrec_eval.RelevanceEvaluator(qrels, {set(TRACK.values())})
means = {{}}
for path in sorted(pathlib.Path(sys.argv[1]).iterdir()):
    with path.open() as file:
        found = evaluator.evaluate(pytrec_eval.parse_run(file)).values()
    names = {[*TRACK.values()]}
    means[path.stem] = {{name: sum(q[name] for q in found) / len(found) for name in names}}
print(json.dumps(means))
"""
ANCHOR = {f"{name}.{','.join(map(str, CUTS))}" for name in ("ndcg_cut", "recall")}
# Those that may take a cut-off.
OWN = [name for name, each in MEASURES.items() if each.cuts is None and not each.level]
ALL = ",".join(f"{name}@{k}" for name in OWN for k in CUTS)


def main() -> None:
    """Print the figures that docs/measurements.md quotes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    wanted, _ = parser.parse_known_args()
    run, gold = made()
    print(f"{QUERIES} queries x {PASSAGES:,} passages, {len(OWN)} measures at {len(CUTS)} cuts")
    for profile in PROFILES.values():
        from_dicts(run, gold, profile, wanted.rounds)
    for length in LENGTHS:
        beside_ndeval(length, wanted.rounds)
    of_a_track(wanted.rounds)
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        path = Path(folder, "score.json")
        path.write_bytes(orjson.dumps(run))
        # Nobody who reads a run from its file holds it in memory already.
        run.clear()
        from_file(path, gold, wanted.rounds)


def made() -> tuple[dict[str, dict[str, float]], dict[str, Any]]:
    """A run in no order of its scores, seven gold passages a query, four aspects, some holes."""
    rng = random.Random(739)
    run: dict[str, dict[str, float]] = {}
    labels, aspects, base = {}, {}, {}
    for number in range(QUERIES):
        qid = str(number)
        ids = [
            f"topic_{rng.randrange(50)}/Page_{n}_{rng.randrange(99)}.txt" for n in range(PASSAGES)
        ]
        run[qid] = {pid: rng.random() for pid in ids}
        gold = [*rng.sample(ids, 5), f"{qid}/extraction_1.txt", f"{qid}/extraction_2.txt"]
        labels[qid] = dict.fromkeys(gold, 1)
        aspects[qid] = {f"a{k}": Aspect(rng.randint(1, 5), gold[k::4]) for k in range(4)}
        base[qid] = dict.fromkeys(gold[:3], 1)
    return run, {"labels": labels, "aspects": aspects, "base": base}


def ours(run: Run, gold: dict[str, Any], profile: Profile) -> Scores:
    """Everything, from plain dicts of labels."""
    return score(run, Gold.of(complete=profile.complete, **gold), ALL, profile)


def from_dicts(
    run: dict[str, dict[str, float]], gold: dict[str, Any], profile: Profile, rounds: int
) -> None:
    """Both build what they need from the same dicts; their common values must agree."""
    theirs = pytrec_eval.RelevanceEvaluator(gold["labels"], ANCHOR).evaluate(run)
    found = ours(Run.of(run), gold, profile)
    for measure, name in (("recall", "recall"), ("nDCG", "ndcg_cut")):
        values = found[f"{measure}@{CUTS[-1]}"].as_dict()
        assert all(abs(values[qid] - theirs[qid][f"{name}_{CUTS[-1]}"]) < 1e-9 for qid in run)
    anchor, all_ours = in_turn(
        rounds,
        lambda: pytrec_eval.RelevanceEvaluator(gold["labels"], ANCHOR).evaluate(run),
        lambda: ours(Run.of(run), gold, profile),
    )
    for kind, ours_, theirs_ in zip(("wall", "processor"), all_ours, anchor, strict=True):
        ratios = sorted(one / other for one, other in zip(ours_, theirs_, strict=True))
        print(
            f"from dicts, {profile.name}, {kind} time: {statistics.median(ratios):.2f} of "
            f"pytrec_eval's nDCG and recall ({ratios[0]:.2f} to {ratios[-1]:.2f}); "
            f"{statistics.median(ours_):.3f} s against {statistics.median(theirs_):.3f} s"
        )


def beside_ndeval(length: int, rounds: int) -> None:
    """alpha-nDCG@20 of short lists, from dicts, beside pyndeval from its own rows."""
    rng = random.Random(length)
    run: dict[str, dict[str, float]] = {}
    labels: dict[str, dict[str, int]] = {}
    aspects: dict[str, dict[str, Aspect]] = {}
    for qid in map(str, range(TOPICS)):
        ids = [f"clueweb09-en{rng.randrange(9999):04}-{n:05}" for n in range(2 * max(length, 60))]
        run[qid] = {pid: float(-n) for n, pid in enumerate(rng.sample(ids, length))}
        named: dict[str, list[str]] = {}
        for pid in rng.sample(ids, 60):
            for k in rng.sample("12345", rng.randint(1, 3)):
                named.setdefault(k, []).append(pid)
        aspects[qid] = {k: Aspect(1.0, pids) for k, pids in named.items()}
        labels[qid] = {pid: 1 for pids in named.values() for pid in pids}
    rows = [
        (q, k, pid, 1) for q, of in aspects.items() for k, a in of.items() for pid in a.passages
    ]
    qrels = [pyndeval.SubtopicQrel(*row) for row in rows]
    docs = [pyndeval.ScoredDoc(q, *each) for q, ranked in run.items() for each in ranked.items()]
    theirs, all_ours = in_turn(
        rounds,
        lambda: pyndeval.ndeval(qrels, docs, measures=["alpha-nDCG@20"]),
        lambda: score(Run.of(run), Gold.of(labels, aspects=aspects), "alpha_nDCG@20"),
    )
    ratio = min(all_ours[1]) / min(theirs[1])
    print(
        f"alpha-nDCG@20, {TOPICS} lists of {length:,}, processor time: {ratio:.2f} of pyndeval's; "
        f"{min(all_ours[1]):.4f} s against {min(theirs[1]):.4f} s"
    )


def of_a_track(rounds: int) -> None:
    """All runs of a track by eight measures, from files to means, each in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as name:
        folder, qrels = Path(name, "runs"), Path(name, "qrels.txt")
        write_track(folder, qrels)
        given = [str(folder), "--qrels", str(qrels)]
        given += ["--metrics", ",".join(TRACK), "--profile", "trec_eval", "--json"]
        commands = (
            [sys.executable, "-c", BY_PYTREC_EVAL, str(folder), str(qrels)],
            [sys.executable, "manage.py", "score_run", *given],
        )
        times: list[list[float]] = [[], []]
        for _ in range(rounds):
            said = []
            for busy, command in zip(times, commands, strict=True):
                before = resource.getrusage(resource.RUSAGE_CHILDREN)
                said.append(subprocess.run(command, check=True, capture_output=True).stdout)
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                spent = (after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime)
                busy.append(sum(spent))
    same_means(*map(orjson.loads, said))
    ratios = sorted(ours / theirs for theirs, ours in zip(*times, strict=True))
    print(
        f"{RUNS} runs of {LISTS[0]} x {LISTS[1]:,} by {len(TRACK)} measures, processor time: "
        f"{statistics.median(ratios):.2f} of pytrec_eval's ({ratios[0]:.2f} to {ratios[-1]:.2f}); "
        f"{statistics.median(times[1]):.2f} s against {statistics.median(times[0]):.2f} s"
    )


def write_track(folder: Path, qrels: Path) -> None:
    """Runs that find the judged passages more or less early, and graded judgments."""
    rng = random.Random(2019)
    queries, depth = LISTS
    folder.mkdir()
    ids = {str(q): rng.sample(range(8_841_823), 3 * depth) for q in range(queries)}
    lines = [f"{q} 0 {pid} {rng.choice((0, 0, 1, 2, 3))}\n" for q in ids for pid in ids[q][:JUDGED]]
    qrels.write_text("".join(lines))
    for number in range(RUNS):
        rows = []
        for qid, pids in ids.items():
            ranked = sorted(rng.sample(pids, depth), key=lambda pid: rng.random())
            places = enumerate(ranked, 1)
            rows += [f"{qid} Q0 {pid} {n} {depth - n} run-{number}\n" for n, pid in places]
        (folder / f"run-{number}.txt").write_text("".join(rows))


def same_means(theirs: dict[str, dict[str, float]], ours_: dict[str, Any]) -> None:
    """Both say the same of every run."""
    found = {each["run"]: each["means"] for each in ours_["golds"][0]["runs"]}
    for run, means in theirs.items():
        for name, other in TRACK.items():
            assert abs(found[run][name] - means[other]) < 1e-9, (run, name)


def from_file(path: Path, gold: dict[str, Any], rounds: int) -> None:
    """From the bytes on disk to all values; their means must agree with the scripts' means."""
    anchors = {"what Bright-Pro's scripts do": passes(path, gold)}
    if scripts := os.environ.get("BRIGHT_PRO_SCRIPTS"):
        theirs = their_passes(Path(scripts), path, gold, path.parent / "gold")
        anchors["Bright-Pro's scripts"] = theirs
    means = ours(read_run(path).run, gold, PROFILES["strict"]).means
    for name, acts in anchors.items():
        for measure, act in acts.items():
            assert abs(act() - (means[measure] or 0)) < 1e-4, (name, measure)
        together, all_ours = in_turn(
            rounds,
            lambda each=acts: [act() for act in each.values()],
            lambda: ours(read_run(path).run, gold, PROFILES["strict"]),
        )
        for kind, ours_, theirs_ in zip(("wall", "processor"), all_ours, together, strict=True):
            ratios = sorted(other / one for one, other in zip(ours_, theirs_, strict=True))
            print(
                f"from score.json ({path.stat().st_size / 1e6:.0f} MB), {kind} time: "
                f"{statistics.median(ratios):.1f} times as fast as {name} in {len(acts)} passes "
                f"({ratios[0]:.1f} to {ratios[-1]:.1f}); {statistics.median(ours_):.3f} s against "
                f"{statistics.median(theirs_):.3f} s"
            )


def in_turn(rounds: int, *acts: Callable[[], object]) -> list[tuple[list[float], list[float]]]:
    """Wall and processor seconds of each act in each round, one act after the other."""
    times: list[tuple[list[float], list[float]]] = [([], []) for _ in acts]
    for _ in range(rounds):
        for (wall, processor), act in zip(times, acts, strict=True):
            start, busy = time.perf_counter(), time.process_time()
            act()
            wall.append(time.perf_counter() - start)
            processor.append(time.process_time() - busy)
    return times


if __name__ == "__main__":
    main()
