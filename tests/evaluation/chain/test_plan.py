"""Plans of a chain: what is read, and what is refused with the step's number."""

from decimal import Decimal

import pytest

from evaluation.chain.plan import DEFAULT, SETTINGS, read_plan
from kit.errors import Refused


def test_steps_settings_and_budgets_are_read_in_order() -> None:
    steps = read_plan(
        '[[step]]\ndo = "pool"\ndepth = 5\n[[step]]\ndo = "debate"\nbudget_usd = 2.50\n'
    )
    assert [(each.do, each.settings, each.budget_usd) for each in steps] == [
        ("pool", {"depth": 5}, None),
        ("debate", {}, Decimal("2.50")),
    ]


def test_the_example_is_a_plan() -> None:
    assert {each.do for each in read_plan(DEFAULT)} <= set(SETTINGS)


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        ("", "at least one"),
        ("step = 3", "at least one"),
        ("[[step]\n", "no TOML"),
        ("name = 'x'\n[[step]]\ndo = 'pool'", "not name"),
        ("[[step]]\ndepth = 3", "Step 1 does not say"),
        ("[[step]]\ndo = 'dance'", "there is no step 'dance'"),
        ("[[step]]\ndo = 'pool'\ndeep = 3", "Step 1 (pool) takes depth, name, runs, not deep"),
        ("[[step]]\ndo = 'debate'", "Step 1 (debate) needs a step “pool”"),
        ("[[step]]\ndo = 'pool'\nbudget_usd = 3", "asks no model"),
        ("[[step]]\ndo = 'agents'\nbudget_usd = -1", "dollars and cents"),
        ("[[step]]\ndo = 'agents'\nbudget_usd = 1.005", "dollars and cents"),
        ("[[step]]\ndo = 'agents'\nbudget_usd = nan", "dollars and cents"),
        ("[[step]]\ndo = 'agents'\nbudget_usd = true", "dollars and cents"),
        ("[[step]]\ndo = 'aspects'\n" * 51, "50 steps at most"),
    ],
)
def test_what_cannot_be_carried_out_is_refused(plan: str, words: str) -> None:
    with pytest.raises(Refused) as refused:
        read_plan(plan)
    assert words in refused.value.message
    assert refused.value.field == "plan"
