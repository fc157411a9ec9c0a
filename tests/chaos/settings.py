"""The settings of workers that fault tests may end at named points (kit.failpoints)."""

from tests.services.settings import *  # noqa: F403

ASSAY_FAILPOINTS = True
