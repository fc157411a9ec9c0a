"""The demo benchmark keeps its promises: shapes, links, planted faults, debatable pairs."""

import json
import re
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

DEMO = Path(__file__).parents[3] / "corpus" / "demo"
DOMAINS = ("gardening", "weather")
README = (DEMO / "README.md").read_text(encoding="utf-8")
FINISHED = 1
Row = dict[str, Any]

AUDITED = (
    *("topic only", "irrelevant", "noise", "fragment"),
    *("to merge", "two aspects", "same text", "not in gold"),
)

each_domain = pytest.mark.parametrize("domain", DOMAINS)


def rows(kind: str, domain: str) -> list[Row]:
    lines = (DEMO / kind / f"{domain}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def texts(domain: str) -> dict[str, str]:
    return {row["id"]: row["content"] for row in rows("documents", domain)}


def queries(domain: str) -> dict[int, Row]:
    return {row["id"]: row for row in rows("examples", domain)}


def words(text: str) -> int:
    return len(text.split())


def page_of(passage_id: str) -> tuple[str, int]:
    """`folder/page_3.txt` is passage 3 of `folder/page.txt` (docs/protocol.md 1.1)."""
    stem, n = passage_id.removesuffix(".txt").rsplit("_", 1)
    return f"{stem}.txt", int(n)


def spans(domain: str) -> dict[str, list[tuple[int, int]]]:
    """Where each page's passages stand in it, in passage order; every slice must be unambiguous."""
    content = {row["id"]: row["content"] for row in rows("pages", domain)}
    found: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for passage_id, text in texts(domain).items():
        page, n = page_of(passage_id)
        assert n == len(found[page])
        assert content[page].count(text) == 1
        start = content[page].index(text)
        found[page].append((start, start + len(text)))
    assert found.keys() == content.keys()
    return found


def tokens(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold())) - {"a", "an", "the"}


def overlap(answer: str, passage: str) -> float:
    return len(tokens(answer) & tokens(passage)) / len(tokens(answer))


def best_overlap(answers: list[str], passage: str) -> float:
    return max(overlap(answer, passage) for answer in answers)


def settled(share: float) -> str:
    """When two word-overlap agents agree (docs/protocol.md 8)."""
    if share < 0.4 or share > 0.9:
        return "round 1"
    return "never" if 0.5 <= share < 0.7 else "round 2"


def planted() -> list[tuple[str, str, int, list[str]]]:
    """The README's table of faults: (fault, domain, query id, passage ids)."""
    table = re.findall(r"^\| ([\w ]+) \| (\w+) (\d+) \| (.*) \|$", README, re.MULTILINE)
    return [(fault, d, int(q), re.findall(r"`([^`]+)`", ids)) for fault, d, q, ids in table]


FAULTS = planted()


def faults(kind: str) -> list[tuple[str, str, int, list[str]]]:
    return [fault for fault in FAULTS if fault[0] == kind]


def test_size_is_what_the_readme_says() -> None:
    total = {
        k: sum(len(rows(k, d)) for d in DOMAINS)
        for k in ("examples", "pages", "documents", "pairs")
    }
    assert total == {"examples": 8, "pages": 26, "documents": 92, "pairs": 72}
    assert {str(total[k]) for k in ("pages", "documents", "pairs")} <= tokens(README)
    assert all(len(rows("examples", domain)) == 4 for domain in DOMAINS)


@each_domain
@pytest.mark.parametrize("kind", ["examples", "pages", "documents", "aspects"])
def test_ids_are_unique_in_a_domain(kind: str, domain: str) -> None:
    assert max(Counter(row["id"] for row in rows(kind, domain)).values()) == 1


@each_domain
def test_pairs_are_unique_and_not_excluded(domain: str) -> None:
    pairs = [(row["query_id"], row["doc_id"]) for row in rows("pairs", domain)]
    excluded = {(q, d) for q, row in queries(domain).items() for d in row["excluded_ids"]}
    assert len(set(pairs)) == len(pairs)
    assert not excluded & set(pairs)


@each_domain
def test_passages_are_exact_slices_in_page_order(domain: str) -> None:
    for page in spans(domain).values():
        assert page == sorted(page)


def test_most_pages_are_wholly_covered_and_some_passages_overlap() -> None:
    whole, overlapping, pages = 0, 0, 0
    for domain in DOMAINS:
        content = {row["id"]: row["content"] for row in rows("pages", domain)}
        for page, cuts in spans(domain).items():
            left = set(range(len(content[page]))) - {i for a, b in cuts for i in range(a, b)}
            pages += 1
            whole += all(content[page][i].isspace() for i in left)
            overlapping += any(b > c for (_, b), (c, _) in pairwise(cuts))
    assert 0.7 < whole / pages < 1
    assert overlapping >= 3


@each_domain
def test_texts_have_the_promised_lengths(domain: str) -> None:
    assert all(250 <= words(row["content"]) <= 700 for row in rows("pages", domain))
    assert all(70 <= words(text) <= 170 for text in texts(domain).values())
    for query in queries(domain).values():
        assert 60 <= words(query["query"]) <= 150
        assert 3 <= words(query["query"].splitlines()[0]) <= 20
        assert all(8 <= words(answer) <= 20 for answer in query["answers"])
        assert all(40 <= words(a["text"]) <= 120 for a in query["community_answers"])
        assert sum(a["accepted"] for a in query["community_answers"]) == 1


@each_domain
def test_every_id_that_is_named_exists(domain: str) -> None:
    known = texts(domain).keys()
    for query in queries(domain).values():
        excluded = set(query["excluded_ids"])
        assert set(query["gold_ids"]) <= known
        assert excluded == {"N/A"} or excluded <= known - set(query["gold_ids"])
    assert {row["doc_id"] for row in rows("pairs", domain)} <= known
    assert {row["query_id"] for row in rows("pairs", domain)} == queries(domain).keys()


def test_one_query_has_a_real_exclusion() -> None:
    real = [q for d in DOMAINS for q in queries(d).values() if q["excluded_ids"] != ["N/A"]]
    assert len(real) == 1


@each_domain
def test_finished_query_keeps_the_release_invariants(domain: str) -> None:
    """docs/protocol.md 3.2: gold is the union of the aspects' passages, each under one aspect."""
    aspects = rows("aspects", domain)
    supporting = [doc for aspect in aspects for doc in aspect["supporting_docs"]]
    ids = [f"{domain}-{FINISHED}-a{k}" for k in range(1, len(aspects) + 1)]
    assert [aspect["id"] for aspect in aspects] == ids
    assert 3 <= len(aspects) <= 4
    assert all(aspect["weight"] in range(1, 6) for aspect in aspects)
    assert sorted(supporting) == sorted(queries(domain)[FINISHED]["gold_ids"])
    assert len(set(supporting)) == len(supporting)


@each_domain
def test_reference_answer_cites_gold_of_every_aspect(domain: str) -> None:
    answer = queries(domain)[FINISHED]["reference_answer"]
    cited = set(re.findall(r"\[([^\]]+\.txt)\]", answer))
    assert cited <= set(queries(domain)[FINISHED]["gold_ids"])
    assert all(cited & set(aspect["supporting_docs"]) for aspect in rows("aspects", domain))
    assert 120 <= words(answer) <= 200


@each_domain
def test_other_queries_are_unfinished(domain: str) -> None:
    others = [query for q, query in queries(domain).items() if q != FINISHED]
    assert all(query["reference_answer"] == "" for query in others)
    assert all(4 <= len(query["gold_ids"]) <= 6 for query in others)


@pytest.mark.parametrize("kind", AUDITED)
def test_fault_is_planted_twice_at_least(kind: str) -> None:
    assert len(faults(kind)) >= 2
    for _, domain, q, ids in faults(kind):
        inside = set(ids) & set(queries(domain)[q]["gold_ids"])
        assert ids
        assert set(ids) <= texts(domain).keys()
        assert inside == (set() if kind == "not in gold" else set(ids))
        assert q != FINISHED


def test_fragments_break_off_in_a_sentence() -> None:
    for _, domain, _, (passage_id,) in faults("fragment"):
        text = texts(domain)[passage_id]
        assert text[0].islower() or text[-1].isalpha()


def test_passages_to_merge_touch_or_overlap() -> None:
    for _, domain, _, (first, second) in faults("to merge"):
        (page, n), (other, m) = page_of(first), page_of(second)
        (_, end), (start, _) = spans(domain)[page][n], spans(domain)[other][m]
        assert (page, n + 1) == (other, m)
        assert start - end <= 1


def test_same_text_stands_under_two_ids() -> None:
    for _, domain, _, (first, second) in faults("same text"):
        assert texts(domain)[first] == texts(domain)[second]


def test_passages_with_two_aspects_speak_to_two_answers() -> None:
    for _, domain, q, (passage_id,) in faults("two aspects"):
        shares = [overlap(a, texts(domain)[passage_id]) for a in queries(domain)[q]["answers"]]
        assert sorted(shares)[-2] >= 0.7


def test_missing_gold_supports_and_junk_does_not() -> None:
    def shares(kind: str) -> list[float]:
        return [
            best_overlap(queries(d)[q]["answers"], texts(d)[i])
            for _, d, q, ids in faults(kind)
            for i in ids
        ]

    assert min(shares("not in gold")) >= 0.7
    assert max(shares("irrelevant") + shares("noise")) < 0.4


def test_one_paired_passage_addresses_the_model() -> None:
    passage_id = "pot_drainage/repotting_forum_3.txt"
    pushy = [i for d in DOMAINS for i, text in texts(d).items() if "ignore your inst" in text]
    assert pushy == [passage_id]
    assert passage_id in {row["doc_id"] for row in rows("pairs", "gardening")}


def shares_of_pairs(domain: str) -> list[float]:
    asked, known = queries(domain), texts(domain)
    return [
        best_overlap(asked[row["query_id"]]["answers"], known[row["doc_id"]])
        for row in rows("pairs", domain)
    ]


def test_pairs_split_into_quick_slow_and_disputed() -> None:
    counts = Counter(settled(share) for domain in DOMAINS for share in shares_of_pairs(domain))
    total = sum(counts.values())
    assert 0.45 <= counts["round 1"] / total <= 0.55
    assert 0.20 <= counts["round 2"] / total <= 0.25
    assert 0.20 <= counts["never"] / total <= 0.30


@each_domain
def test_each_domain_has_pairs_of_each_kind(domain: str) -> None:
    shares = shares_of_pairs(domain)
    counts = Counter(map(settled, shares))
    assert min(counts[kind] for kind in ("round 1", "round 2", "never")) >= 3
    assert sum(share > 0.9 for share in shares) >= 2


def test_no_address_leads_to_a_real_site() -> None:
    for file in DEMO.glob("*/*.jsonl"):
        hosts = re.findall(r"https?://([^/\s\"?]+)", file.read_text(encoding="utf-8"))
        assert all(host.endswith(".example") for host in hosts)
