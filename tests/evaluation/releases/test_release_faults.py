from pathlib import Path

import pytest
from django.contrib.auth.models import User

from annotate.workspace.gold import discard_passage
from corpus.models import Passage, Source
from evaluation.models import Release
from tests.evaluation.conftest import (
    Garden,
    label,
    make_aspect,
    make_case,
    make_support,
    release_into,
)
from tests.factories import make_gold, make_passage, make_query


def found(release: Release) -> dict[str, int]:
    return {fault["check"]: fault["count"] for fault in release.faults}


@pytest.fixture
def faults(garden: Garden, tmp_path: Path):
    """Builds the garden and answers its faults as {check: count}."""
    return lambda: found(release_into(garden.benchmark, tmp_path / "out"))


def test_sound_benchmark_has_none(faults, tmp_path: Path) -> None:
    assert faults() == {}
    assert "found none" in (tmp_path / "out/README.md").read_text()


def test_practice_label(garden: Garden, faults, tmp_path: Path) -> None:
    label(garden.plain, garden.passages["e1"], 1, Source.DEBATE, practice=True)
    assert faults() == {"practice_labels": 1}
    assert "made by the practice model" in (tmp_path / "out/README.md").read_text()


def test_practice_label_that_people_replaced_is_none(garden: Garden, faults) -> None:
    label(garden.plain, garden.passages["e1"], 1, Source.DEBATE, practice=True)
    label(garden.plain, garden.passages["e1"], 1, Source.HUMAN)
    assert faults() == {}


def test_undecided_cases(garden: Garden, faults) -> None:
    make_case(garden.plain, garden.passages["e0"])
    make_case(garden.plain, garden.passages["e1"], status="expert")
    make_case(garden.query, garden.passages["b3"], status="closed")
    assert faults() == {"open_cases": 1, "expert_cases": 1}


def test_passage_without_text(garden: Garden, faults) -> None:
    Passage.objects.filter(pid="b3").update(text=None)
    assert faults() == {"passages_without_text": 1}


def test_gold_without_text(garden: Garden, faults) -> None:
    Passage.objects.filter(pid="e0").update(text=None)
    assert faults() == {"gold_without_text": 1, "passages_without_text": 1}


def test_gold_of_two_queries_without_text_counts_once(garden: Garden, faults) -> None:
    make_gold(make_query(garden.benchmark, "13", "earth-science"), garden.passages["e0"])
    Passage.objects.filter(pid="e0").update(text=None)
    assert faults() == {"gold_without_text": 1, "passages_without_text": 1}


def test_empty_text_is_a_text(garden: Garden, faults) -> None:
    Passage.objects.filter(pid="b3").update(text="")
    assert faults() == {}


def test_relevant_passage_without_aspect(garden: Garden, faults) -> None:
    label(garden.query, garden.passages["b3"], 1, Source.HUMAN)
    assert faults() == {"gold_without_aspect": 1}


def test_support_that_is_not_relevant(garden: Garden, faults) -> None:
    make_support(garden.query.aspects.get(k=1), garden.passages["b1"])
    assert faults() == {"support_not_relevant": 1}


def test_contested_original_gold_may_support_an_aspect(garden: Garden, faults) -> None:
    label(garden.query, garden.passages["b0"], 0, Source.DEBATE)
    assert faults() == {}


def test_discarded_original_gold_needs_no_aspect(garden: Garden, faults) -> None:
    label(garden.query, garden.passages["b2"], 0, Source.EXPERT)
    assert faults() == {"support_not_relevant": 1}


def test_support_that_the_current_gold_does_not_list(garden: Garden, faults) -> None:
    make_support(garden.query.aspects.get(k=1), garden.passages["b3"])
    assert faults() == {"support_without_label": 1}


def test_case_that_an_expert_decided_is_no_fault(garden: Garden, faults) -> None:
    case = make_case(garden.plain, garden.passages["e1"])
    expert = User.objects.get(username="person-of-flowers-1")
    discard_passage(query=case.query, passage=case.passage, reason="noise", actor=expert)
    assert faults() == {}


def test_aspect_without_words_or_passages(garden: Garden, faults) -> None:
    make_aspect(garden.query, 3, content=" ")
    assert faults() == {"aspects_without_passages": 1, "empty_aspects": 1}


def test_weights_that_nobody_chose(garden: Garden, faults) -> None:
    garden.query.aspects.filter(k=1).update(weighed=False)
    assert faults() == {"unweighed_aspects": 1}


def test_weights_on_two_scales(garden: Garden, faults) -> None:
    garden.query.aspects.filter(k=1).update(scale="likert3")
    assert faults() == {"mixed_scales": 1}


def test_query_without_gold(garden: Garden, faults) -> None:
    make_query(garden.benchmark, "8", "biology")
    assert faults() == {"queries_without_gold": 1}


def test_white_space_in_ids_is_named_and_left_out(garden: Garden, faults, tmp_path: Path) -> None:
    spaced = make_query(garden.benchmark, "13 a", "earth-science")
    odd = make_passage(garden.benchmark, "e 2", "earth-science")
    make_gold(spaced, garden.passages["e0"])
    make_gold(garden.plain, odd)
    assert faults() == {"white_space_in_ids": 2}
    lines = (tmp_path / "out/qrels/earth_science.base.txt").read_text().splitlines()
    assert lines == ["12 0 e0 1", "12 0 e1 0"]
    card = (tmp_path / "out/README.md").read_text()
    assert "`earth_science-13 a`" in card
    assert "`e 2`" in card


def test_count_is_whole_and_places_are_few(garden: Garden, tmp_path: Path) -> None:
    for i in range(30):
        make_query(garden.benchmark, str(100 + i), "biology")
    (fault,) = release_into(garden.benchmark, tmp_path / "out").faults
    assert (fault["count"], len(fault["rows"])) == (30, 20)
    assert fault["rows"][0]["query"] == "100"
    assert "and 25 more" in (tmp_path / "out/README.md").read_text()


def test_faults_of_two_splits_are_added_up(garden: Garden, tmp_path: Path) -> None:
    make_query(garden.benchmark, "8", "biology")
    make_query(garden.benchmark, "8", "earth-science")
    (fault,) = release_into(garden.benchmark, tmp_path / "out").faults
    assert fault["message"] == "2 queries have no gold passage; measures skip them."
    assert [row["split"] for row in fault["rows"]] == ["biology", "earth_science"]
