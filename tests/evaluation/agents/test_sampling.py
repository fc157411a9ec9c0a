"""The fixed sample of 175 queries against the list that was published with the benchmark."""

import random

from evaluation.agents.services import SEED, TASKS, fixed_sample

# Queries of the released files; the ids of biology and robotics have no gaps.
SIZES = dict(zip(TASKS, (103, 115, 99, 100, 101, 115, 106), strict=True))
PUBLISHED = {
    "biology": "3 4 11 13 14 17 25 27 28 29 31 35 54 64 69 71 75 77 81 86 90 92 94 99 100",
    "earth_science": "0 11 12 13 19 20 27 28 35 43 45 48 53 54 57 70 76 84 90 92 98 100 104 107 "
    "113",
    "economics": "5 8 10 12 15 24 29 33 37 44 46 48 58 70 73 76 80 82 83 88 90 92 93 96 99",
    "psychology": "9 20 21 26 28 31 34 35 45 46 47 48 58 59 68 71 77 81 82 85 87 89 90 96 98",
    "robotics": "4 7 8 17 18 27 29 31 33 34 40 41 50 51 58 63 68 71 72 82 83 87 90 94 98",
    "stackoverflow": "7 9 12 15 18 20 21 29 34 47 49 50 52 55 64 66 75 77 81 88 95 96 98 113 114",
    "sustainable_living": "0 1 13 14 20 22 32 33 34 37 43 55 58 59 64 67 68 70 80 82 85 87 94 100 "
    "102",
}


def test_the_sample_is_the_published_one() -> None:
    ids = {task: [str(number) for number in range(size)] for task, size in SIZES.items()}
    found = fixed_sample(ids, random.Random(SEED).sample)
    assert sum(map(len, found.values())) == 175
    for task, listed in PUBLISHED.items():
        published = listed.split()
        # An id is its place, plus one for every id that is missing before it.
        missing = [int(p) - int(q) for p, q in zip(published, found[task], strict=True)]
        assert missing == sorted(missing)
        assert missing[0] >= 0
        if task in ("biology", "robotics"):
            assert found[task] == published


def test_small_tasks_are_taken_whole_and_draw_nothing() -> None:
    ids = {"zoology": ["10", "9"], "biology": [str(n) for n in range(103)], "botany": ["1"]}
    found = fixed_sample(ids, random.Random(SEED).sample)
    assert list(found) == ["biology", "botany", "zoology"]
    assert found["zoology"] == ["10", "9"]
    assert found["biology"] == PUBLISHED["biology"].split()
