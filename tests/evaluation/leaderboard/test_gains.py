"""What is advised for a cleaning: what this benchmark itself has measured, or nothing."""

from decimal import Decimal
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from corpus.cleaning.models import SHARED
from corpus.marcus.figures import NOTHING_KNOWN, MeasuredGain, advised
from corpus.models import Benchmark, CleaningRun, CorpusVersion
from evaluation.leaderboard.gains import measured_gains
from llm.models import Account, Call
from tests.evaluation.leaderboard.test_matched_pool import derive, rank, score
from tests.factories import make_benchmark, make_gold, make_member, make_passage, make_query
from tests.markup import one_line

QUERIES = [f"q{n}" for n in range(12)]


def gain(preset: str, usd: str | None, low: float, high: float) -> MeasuredGain:
    cost = None if usd is None else Decimal(usd)
    return MeasuredGain(preset, 1, cost, (low + high) / 2, low, high, "nDCG@10", 3, 100)


def test_advised_is_the_greatest_gain_per_dollar_that_is_surely_one() -> None:
    # Per dollar: .02 / 1 = .02; .06 / 6 = .01; the third may be a loss.
    small, full = gain("marcus_s", "1", 0.01, 0.03), gain("marcus", "6", 0.04, 0.08)
    unsure = gain("marcus_c", "0.10", -0.01, 0.30)
    found = advised([full, small, unsure])
    assert found.preset == "marcus_s"
    assert "marcus_s, run 1: +0.0200 (+0.0100 to +0.0300) nDCG@10 for $1.00" in found.why
    assert "$6.00: +0.0100 (+0.0067 to +0.0133) per dollar" in found.why
    assert advised([full, gain("marcus_s", None, 0.01, 0.03)]).preset == "marcus"
    assert advised([full, gain("diver_rules", "0", 0.001, 0.003)]).preset == "diver_rules"


def test_without_a_sure_gain_nothing_is_advised() -> None:
    nothing = advised([])
    assert (nothing.preset, nothing.why.startswith(NOTHING_KNOWN)) == ("", True)
    # (60.17 - 58.43) / (60.39 - 58.43) = 1.74 / 1.96 = .888
    assert "89% of the gain" in nothing.why
    found = advised([gain("marcus", "1", -0.02, 0.04)])
    assert found.preset == ""
    assert "+0.0100 (-0.0200 to +0.0400)" in found.why


@pytest.fixture
def cleaned(db) -> Benchmark:
    """Two cleaned versions with one system: gold goes from rank 2 to 1 in the first, and stays
    where it was in the second."""
    cache.clear()
    benchmark = make_benchmark("gains")
    make_member(benchmark, "admin", "admin")
    for name in QUERIES:
        make_passage(benchmark, f"{name}-noise")
        make_gold(make_query(benchmark, name), make_passage(benchmark, f"{name}-gold"))
    loaded = CorpusVersion.objects.loaded(benchmark)
    pids = [f"{name}-{kind}" for name in QUERIES for kind in ("noise", "gold")]
    rank(benchmark, None, {name: [f"{name}-noise", f"{name}-gold"] for name in QUERIES})
    score(benchmark, loaded)
    for name, usd, order in (("better", 2, ("gold", "noise")), ("same", 1, ("noise", "gold"))):
        version = derive(loaded, {pid: [f"{pid}#{name}"] for pid in pids}, name)
        rank(benchmark, version, {q: [f"{q}-{kind}#{name}" for kind in order] for q in QUERIES})
        account = Account.objects.create(name=name, spent_units=usd * 10**12)
        Call.objects.create(
            key=name, attempt=1, role="splitter", model="m", endpoint="paper", status="answered",
            request={}, text="", usd=usd, account=account,
            created_at=timezone.now(),
        )  # fmt: skip
        CleaningRun.objects.create(
            benchmark=benchmark, source=loaded, version=version, name=name, status="done",
            preset="marcus" if name == "better" else "marcus_s", endpoint="paper", model="m",
            account=account,
        )  # fmt: skip
    return benchmark


@pytest.mark.slow
def test_gains_are_measured_by_the_scores_of_both_versions(cleaned) -> None:
    assert measured_gains(cleaned) == []
    for version in cleaned.versions.filter(name__in=["better", "same"]):
        score(cleaned, version)
    better, same = measured_gains(cleaned)
    # nDCG@10 of one relevant passage at rank 2 is 1 / log2(3) = .6309, at rank 1 it is 1.
    assert better.gain == pytest.approx(1 - 0.6309, abs=1e-4)
    assert (better.low, better.high) == (pytest.approx(better.gain), pytest.approx(better.gain))
    assert (better.systems, better.queries, same.gain) == (1, 12, 0)
    assert (better.usd, same.usd) == (2, 1)
    client = Client()
    client.force_login(User.objects.get(username="admin"))
    said = client.get("/api/b/gains/cleaning-forecast/?preset=marcus_s").json()
    assert said["advised"] == "marcus"
    # .3691 for $2
    assert "for $2.00: +0.1845 (+0.1845 to +0.1845) per dollar" in said["why"]
    chosen = f"?version={cleaned.versions.get(name='same').pk}"
    holes = one_line(client.get(f"/b/gains/holes/{chosen}"))
    for link in ("growth.csv" + chosen, "debate/" + chosen, "?metric=hole%4010&amp;" + chosen[1:]):
        assert link in holes
    assert f'href="/b/gains/holes/{chosen}"' in one_line(
        client.get(f"/b/gains/leaderboard/{chosen}")
    )
    page = one_line(client.get("/b/gains/cleaning/forecast/?preset=marcus_s"))
    assert "Advised: <b>MARCUS: clean and split</b>" in page
    out = StringIO()
    call_command("clean_corpus", "gains", "--forecast", stdout=out)
    assert "Advised: marcus. Measured on this benchmark on 12 queries" in out.getvalue()
    # What other runs paid for is no part of its cost, which nobody knows then.
    CleaningRun.objects.filter(preset="marcus").update(figures={"counts": {SHARED: 3}})
    assert measured_gains(cleaned)[0].usd is None
    CleaningRun.objects.filter(preset="marcus").update(practice=True)
    assert [each.preset for each in measured_gains(cleaned)] == ["marcus_s"]
