"""Several runs and golds at once: which file is what, means over domains, tables, tau."""

import csv
import gzip
import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from evaluation.metrics.faults import MetricFault
from evaluation.metrics.reading import runs as reading
from evaluation.metrics.reading.runs import read_run
from tests.evaluation.metrics.score_files import QRELS, RUN, called, file

# By their first passage, a run gets 1, 1/2 or 0 of each query.
GOOD, FAIR, BAD = "1 Q0 b 1 9 s\n", "1 Q0 a 1 9 s\n1 Q0 b 2 8 s\n", "1 Q0 x 1 9 s\n"


def scored(*arguments) -> str:
    out = StringIO()
    call_command("score_run", *map(str, arguments), stdout=out)
    return out.getvalue()


def rows(*arguments) -> list[dict[str, str]]:
    return list(csv.DictReader(StringIO(scored(*arguments, "--csv", "--metrics", "MRR"))))


def refused(*arguments) -> str:
    with pytest.raises(CommandError) as refusal:
        scored(*arguments)
    return str(refusal.value)


def folder(path, **files):
    path.mkdir()
    for name, content in files.items():
        file(path, name, content)
    return path


@pytest.fixture
def systems(tmp_path):
    """Three runs of one domain."""
    made = folder(tmp_path / "runs")
    for name, content in (("bad", BAD), ("fair", FAIR), ("good", GOOD)):
        file(made, f"{name}.run", content)
    return made


@pytest.fixture
def gold(tmp_path):
    return file(tmp_path, "gold.txt", "1 0 b 1\n")


@pytest.fixture
def domains(tmp_path):
    """A gold of two domains, and two runs of them: one by folder, one by its file's form."""
    made = folder(tmp_path / "golds")
    file(made, "pony.txt", "1 0 b 1\n")
    file(made, "moon.txt", "1 0 b 1\n")
    for run, pony, moon in (("one", GOOD, FAIR), ("two", FAIR, BAD)):
        folder(tmp_path / run)
        file(tmp_path / run, "pony.run", pony)
        file(tmp_path / run, "moon.run", moon)
    return made


def test_a_folder_a_pattern_and_files_are_the_same_runs(systems, gold) -> None:
    wanted = [("bad", "0.0"), ("fair", "0.5"), ("good", "1.0")]
    for given in ([systems], [f"{systems}/*.run"], sorted(systems.iterdir())):
        found = [row for row in rows(*given, "--qrels", gold) if row["kind"] == "mean"]
        assert [(row["run"], row["MRR"]) for row in found] == wanted


def test_the_mean_over_domains_is_unweighted(tmp_path, domains) -> None:
    # one: (1 + 1/2) / 2; two: (1/2 + 0) / 2.
    found = rows(tmp_path / "one", tmp_path / "two", "--qrels", domains)
    assert [(r["kind"], r["run"], r["domain"], r["MRR"]) for r in found] == [
        ("domain", "one", "moon", "0.5"),
        ("domain", "one", "pony", "1.0"),
        ("mean", "one", "", "0.75"),
        ("domain", "two", "moon", "0.0"),
        ("domain", "two", "pony", "0.5"),
        ("mean", "two", "", "0.25"),
    ]
    assert {(r["gold"], r["queries"], r["absent"]) for r in found if r["domain"]} == {
        ("golds", "1", "0")
    }


def test_a_run_without_one_of_the_domains_has_no_mean(tmp_path, domains) -> None:
    (tmp_path / "two/moon.run").unlink()
    found = rows(tmp_path / "one", tmp_path / "two", "--qrels", domains)
    assert [r["MRR"] for r in found if r["kind"] == "mean"] == ["0.75", ""]
    # Where no run has a value, nothing is missed: the gold of moon knows no relevant passage.
    file(domains, "moon.txt", "1 0 b 0\n")
    found = rows(tmp_path / "one", tmp_path / "two", "--qrels", domains)
    assert [r["MRR"] for r in found if r["kind"] == "mean"] == ["1.0", "0.5"]


def test_tau_says_how_alike_two_golds_order_the_runs(tmp_path, systems, gold) -> None:
    # b: good 1, fair 1/2, bad 0. x and a: bad 1, fair 1, good 0. Of three pairs two turn round,
    # and bad and fair are tied under the other gold: -2 / sqrt(3 * 2).
    other = file(tmp_path, "other.txt", "1 0 x 1\n1 0 a 1\n")
    found = rows(systems, "--qrels", gold, "--qrels", other, "--qrels", gold.parent / "gold.*")
    (tau,) = [row for row in found if row["kind"] == "tau"]
    assert tau["gold"] == "gold / other"
    assert float(tau["MRR"]) == pytest.approx(-2 / 6**0.5)


def test_two_golds_that_order_nothing_apart_have_no_tau(tmp_path, systems, gold) -> None:
    none = file(tmp_path, "none.txt", "1 0 z 1\n")
    found = rows(systems, "--qrels", gold, "--qrels", none)
    assert [row["MRR"] for row in found if row["kind"] == "tau"] == [""]


def test_all_in_json(tmp_path, domains) -> None:
    given = (tmp_path / "one", tmp_path / "two", "--qrels", domains)
    found = json.loads(scored(*given, "--json", "--per-query", "--metrics", "MRR"))
    (gold,) = found["golds"]
    assert [(run["run"], run["means"]) for run in gold["runs"]] == [
        ("one", {"MRR": 0.75}),
        ("two", {"MRR": 0.25}),
    ]
    first = gold["runs"][0]["domains"][0]
    assert (first["domain"], first["name"], first["counts"]["passages"]) == ("moon", "s", 2)
    # Files of one name are told apart by their paths.
    assert first["file"] == f"{tmp_path}/one/moon.run"
    assert first["queries"] == [{"query": "1", "values": {"MRR": 0.5}, "undefined": {}}]
    # What one run and one gold give alone is what they give here.
    alone = json.loads(called(tmp_path / "one/moon.run", domains / "moon.txt", "--json"))
    assert alone["counts"] == first["counts"]


def test_rows_of_queries_in_csv(systems, gold) -> None:
    text = scored(systems, "--qrels", gold, "--csv", "--per-query", "--metrics", "MRR")
    assert text.splitlines()[:2] == [
        "gold,run,domain,query,metric,value,undefined",
        "gold,bad,,1,MRR,0.0,",
    ]
    assert "with --json or --csv" in refused(systems, "--qrels", gold, "--per-query")


def test_tables_for_people(tmp_path, systems, gold) -> None:
    other = file(tmp_path, "a|b.txt", "1 0 b 1\n2 0 b 1\n")
    text = scored(systems, "--qrels", gold, "--qrels", other, "--metrics", "MRR")
    assert text.splitlines() == [
        "profile strict",
        "",
        "gold",
        "             MRR",
        "  bad     0.0000",
        "  fair    0.5000",
        "  good    1.0000",
        "",
        "a|b",
        "             MRR",
        "  bad     0.0000",
        "  fair    0.2500",
        "  good    0.5000",
        "",
        "Kendall's tau-b of the order of runs",
        "                   MRR",
        "  gold / a|b    1.0000",
        "note: a|b, bad.run: 1 of 2 queries absent from the run",
        "note: a|b, fair.run: 1 of 2 queries absent from the run",
        "note: a|b, good.run: 1 of 2 queries absent from the run",
    ]
    page = scored(systems, "--qrels", other, "--markdown", "--metrics", "MRR,recall@1").splitlines()
    assert page[:5] == [
        "### a\\|b",
        "",
        "| | MRR | recall@1 |",
        "| --- | ---: | ---: |",
        "| bad | 0.0000 | 0.0000 |",
    ]


def test_names_that_are_formulas_are_texts_in_a_spreadsheet(tmp_path, gold) -> None:
    run = file(tmp_path, "=1+1.run", GOOD)
    assert [row["run"] for row in rows(run, "--qrels", gold)] == ["'=1+1", "'=1+1"]


@pytest.mark.parametrize(
    ("names", "pattern", "systems"),
    [
        (["a.run", "b.run"], "", ["a", "b"]),
        (["input.a", "input.b.gz"], "", ["input.a", "input.b"]),
        (["input.a", "input.b"], "input.{run}", ["a", "b"]),
        (["a/x.run", "b/x.run"], "{run}/x.run", ["a", "b"]),
    ],
)
def test_what_runs_are_called(tmp_path, gold, names, pattern, systems) -> None:
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        content = gzip.compress(GOOD.encode()) if name.endswith(".gz") else GOOD
        file(tmp_path, name, content)
    more = ["--domain-from", pattern] if pattern else []
    found = rows(*(tmp_path / name for name in names), "--qrels", gold, *more)
    assert [row["run"] for row in found if row["kind"] == "mean"] == systems


def test_names_are_settled_before_any_file_is_read(tmp_path, domains) -> None:
    file(tmp_path / "one", "sun.run", "no run at all")
    message = refused(tmp_path / "one", "--qrels", domains)
    assert "sun.run: The gold has no domain sun, it has moon, pony." in message
    assert "--domain-from" in message
    (tmp_path / "one/sun.run").unlink()
    copy = folder(tmp_path / "copy")
    folder(copy / "one")
    file(copy / "one", "pony.run", "no run at all")
    message = refused(tmp_path / "one", copy / "one", "--qrels", domains)
    assert "is of the run one and domain pony, too." in message


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere/*.run", "--qrels", "{gold}"], "nowhere/*.run: No file fits this pattern."),
        (["{empty}", "--qrels", "{gold}"], "There is no file in this folder."),
        (["{systems}", "--qrels", "{golds}", "--qrels", "{gold}"], "not both"),
        (["{systems}", "--qrels", "{gold}", "--domain-from", "x"], "names neither {domain} nor"),
        (["{systems}", "--qrels", "{gold}", "--domain-from", "q{run}"], "does not fit q{run}."),
        (["{one}", "--qrels", "{golds}", "--base", "{gold}"], "no file of the domain moon"),
        (["{systems}", "--qrels", "{gold}", "--metrics", "hole@5"], "needs the original gold"),
        (["{systems}", "--qrels", "{gold}", "--json", "--csv"], "Give one of --json, --csv"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path, systems, gold, domains, arguments, message) -> None:
    folder(tmp_path / "empty")
    paths = {"gold": gold, "systems": systems, "golds": domains}
    paths |= {"one": tmp_path / "one", "empty": tmp_path / "empty"}
    given = [str(paths.get(each.strip("{}"), each)) for each in arguments]
    assert message in refused(*given)


def test_aspects_and_original_gold_by_domain(tmp_path, domains) -> None:
    base = folder(tmp_path / "base")
    for name in ("pony", "moon"):
        file(base, f"{name}.txt", "1 0 other 1\n")
    given = (tmp_path / "one", "--qrels", domains, "--base", base, "--csv", "--metrics", "hole@1")
    found = list(csv.DictReader(StringIO(scored(*given))))
    # b is a hole everywhere; only the run of pony has it first.
    assert [(row["domain"], row["hole@1"]) for row in found] == [
        ("moon", "0.0"),
        ("pony", "1.0"),
        ("", "0.5"),
    ]


def test_real_runs_of_a_folder(shared) -> None:
    bright = shared / "bright"
    given = (bright / "runs-reasonir", "--qrels", bright / "qrels", "--profile", "reference")
    found = json.loads(scored(*given, "--json", "--metrics", "nDCG@10"))
    (run,) = found["golds"][0]["runs"]
    # biology .4349, pony .1955, psychology .3957, robotics .2082
    assert run["means"]["nDCG@10"] == pytest.approx(
        (0.4349 + 0.1955 + 0.3957 + 0.2082) / 4, abs=5e-5
    )


@pytest.mark.parametrize(
    "content",
    [
        RUN,
        RUN.replace(" ", "\t"),
        # Out of order, ranks that do not count up, a second name.
        "1 Q0 a 1 1 s\n1 Q0 b 1 2 t\n2 Q0 a 1 2 s\n",
        # What only a closer look can read: a passage twice, a query that comes back.
        "1 Q0 a 1 2 s\n1 Q0 a 2 1 s\n",
        "1 Q0 a 1 2 s\n2 Q0 a 1 2 s\n1 Q0 b 2 1 s\n",
        "1 Q0 a\N{NO-BREAK SPACE}b 1 2 s\n",
        '1 Q0 "a 1 2 "s\n',
        "1 Q0 NA 1 2 null\n",
        "1 Q0 a 0x1 2 s\n",
        "1 Q0 a 1 nan s\n",
        "1 Q0 a 1 9 s2 Q0 b 1 9 s\n",
        "\ufeff1 Q0 a 1 2 s\n",
    ],
)
def test_large_files_are_read_as_small_ones(tmp_path, monkeypatch, content) -> None:
    def seen() -> object:
        try:
            found = read_run(path)
        except MetricFault as fault:
            return str(fault)
        lists = dict(zip(found.run.qids, map(dict, found.run.lists), strict=True))
        return lists, found.name, found.notes, found.run.scores.tolist()

    path = file(tmp_path, "r.run", content)
    small = seen()
    monkeypatch.setattr(reading, "_LARGE", 0)
    assert seen() == small


def test_the_gold_of_one_domain_takes_every_run(tmp_path, systems) -> None:
    gold = file(tmp_path, "g.txt", QRELS)
    found = [row for row in rows(systems, "--qrels", gold) if row["kind"] == "domain"]
    assert [(row["queries"], row["absent"]) for row in found] == [("3", "2")] * 3
