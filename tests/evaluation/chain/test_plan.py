"""Plans of a chain: what is read, and what is refused with the step's number."""

from decimal import Decimal

import pytest

from evaluation.chain.plan import DEFAULT, SPECS, read_plan
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
    assert {each.do for each in read_plan(DEFAULT)} <= set(SPECS)


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        ("", "at least one"),
        ("step = 3", "at least one"),
        ("[[step]\n", "no TOML"),
        ("name = 'x'\n[[step]]\ndo = 'pool'", "not name"),
        ("[[step]]\ndepth = 3", "Step 1 does not say"),
        ("[[step]]\ndo = 'dance'", "there is no step 'dance'"),
        (
            "[[step]]\ndo = 'pool'\ndeep = 3",
            "takes aspects, depth, name, runs, not deep",
        ),
        ("[[step]]\ndo = 'debate'", "Step 1 (debate) needs a step “pool”"),
        ("[[step]]\ndo = 'holes'\nnext = 0", "next is a whole number from 1 to"),
        ("[[step]]\ndo = 'holes'\nnext = 2000", "next is a whole number from 1 to 1,000"),
        ("[[step]]\ndo = 'pool'\ndepth = 5000", "depth is a whole number from 1 to 1,000"),
        ("[[step]]\ndo = 'pool'\nbudget_usd = 3", "asks no model"),
        ("[[step]]\ndo = 'agents'\nbudget_usd = -1", "dollars and cents"),
        ("[[step]]\ndo = 'agents'\nbudget_usd = 1.005", "dollars and cents"),
        ("[[step]]\ndo = 'agents'\nbudget_usd = nan", "dollars and cents"),
        ("[[step]]\ndo = 'agents'\nbudget_usd = true", "dollars and cents"),
        ("[[step]]\ndo = 'agents'\nbudget_usd = 1e30", "dollars and cents"),
        ("[[step]]\ndo = 'aspects'\n" * 51, "50 steps at most"),
        ("[[step]]\ndo = 'pool'\ndepth = 'ten'", "Step 1 (pool): depth is a whole number"),
        ("[[step]]\ndo = 'pool'\ndepth = true", "depth is a whole number"),
        ("[[step]]\ndo = 'pool'\nruns = 'words'", 'runs is a list of names, such as ["bm25"]'),
        ("[[step]]\ndo = 'pool'\nname = 5", "name is words"),
        ("[[step]]\ndo = 'systems'\nsystems = 3", "systems is a list of tables"),
        ("[[step]]\ndo = 'systems'\nsystems = [{ runs = 3 }]", "systems is a list of tables"),
        ("[[step]]\ndo = 'systems'\nsystems = [{ method = 3 }]", "systems is a list of tables"),
        ("[[step]]\ndo = 'answers'\nk = -1", "k is a whole number from 1 to 10,000"),
        ("[[step]]\ndo = 'agents'\nendpoint = 5", "endpoint is words"),
        ("[[step]]\ndo = 'agents'\nsample = 25", "sample is true or false"),
        ("[[step]]\ndo = 'aspects'\nshare = nan", "share is a number from 0 to 1"),
        ("[[step]]\ndo = 'clean'\noptions = []", "options is a table"),
        ("[[step]]\ndo = 'release'\nagreement_bar = inf", "agreement_bar is a number"),
        (f"[[step]]\ndo = 'pool'\ndepth = {'9' * 5000}", "no TOML"),
        (f"[[step]]\ndo = 'pool'\nruns = {'[' * 20_000}", "no TOML"),
    ],
)
def test_what_cannot_be_carried_out_is_refused(plan: str, words: str) -> None:
    with pytest.raises(Refused) as refused:
        read_plan(plan)
    assert words in refused.value.message
    assert refused.value.field == "plan"
