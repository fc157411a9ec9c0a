"""Tests of panels are in a world of panels."""

import pytest


@pytest.fixture
def world(panel_world):
    return panel_world
