"""The small run and gold that most tests of score_run start from."""

import pytest

from tests.evaluation.metrics.score_files import QRELS, RUN, file


@pytest.fixture
def run(tmp_path):
    return file(tmp_path, "bm25.run", RUN)


@pytest.fixture
def qrels(tmp_path):
    return file(tmp_path, "qrels.txt", QRELS)
