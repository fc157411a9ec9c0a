"""A small part of Cranfield, if it is here, from its texts to a release (tests/bench/chain.py)."""

import json
from pathlib import Path

import pytest

from annotate.models import Assignment, Review
from corpus.models import Query
from evaluation.models import Release
from evaluation.verification.folder import verify
from tests.corpus.real_texts import need
from tests.evaluation.chain import cranfield

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]


def test_real_texts_come_to_a_release_with_the_practice_model(settings, tmp_path: Path) -> None:
    for name in ("INDEXES", "RELEASES"):
        setattr(settings, name, tmp_path / name.lower())
    benchmark = cranfield.load(need("cranfield"), tmp_path, queries=5)
    told = tmp_path / "plan.toml"
    told.write_text(cranfield.plan(systems=5, depth=2), encoding="utf-8")
    found = cranfield.drive(benchmark, told)
    assert (found["status"], found["waits_for"]) == ("done", "")
    steps = {step.number: step for step in benchmark.chains.get().steps.all()}
    assert len(steps[3].outcome["systems"]) == 5
    assert 0 < steps[5].outcome["pairs"] <= steps[4].outcome["pairs"]
    assert all(len(step.input_sha256) == len(step.output_sha256) == 64 for step in steps.values())
    # People wrote, scored blind and accepted between the debates and the agents.
    assert set(Assignment.objects.values_list("state", flat=True)) == {"accepted"}
    assert Review.objects.filter(status="accepted").count() == Query.objects.count() == 5
    assert len({steps[n].output_sha256 for n in (12, 13)}) == 2
    # What was measured is kept with each step, from the first systems on.
    assert {"nDCG@10", "hole@10"} <= set(steps[2].figures)
    assert {"completeness", "RAGAlign"} <= set(steps[18].figures)
    folder = Path(Release.objects.get(version="0.1.0").folder)
    activities = json.loads((folder / "prov.json").read_text())["activity"]
    assert [activities[f"assay:step-{n}"]["prov:label"] for n in range(1, 19)] == [
        steps[n].do for n in range(1, 19)
    ]
    assert verify(folder, checksums=True).differences == []
