"""How stored words are shown."""

import pytest
from django.template import Context, Template

from kit.templatetags.assay import in_words, kind, named, p_words


@pytest.mark.parametrize(
    ("status", "shown"),
    [
        ("running", "running"),
        ("escalated", "disputed"),
        ("skipped_no_answer", "skipped no answer"),
        ("expert", "for an expert"),
    ],
)
def test_states_are_shown_in_plain_lower_case(status: str, shown: str) -> None:
    assert in_words(status) == shown


def test_a_disputed_pair_is_no_failure() -> None:
    assert [kind(status) for status in ("agreed", "escalated", "failed")] == ["good", "warn", "bad"]


def test_unknown_names_stand_for_themselves() -> None:
    assert named("bright", {"bright": "BRIGHT"}) == "BRIGHT"
    assert named("gone", {"bright": "BRIGHT"}) == "gone"


def test_a_p_value_is_never_zero() -> None:
    assert [p_words(p) for p in (0.03125, 0.0001, 0.00004, 0.0, None)] == [
        "p = 0.0312",
        "p = 0.0001",
        "p < 0.0001",
        "p < 0.0001",
        "–",
    ]


def test_a_form_of_a_button_is_sent_where_its_route_is_and_escapes_what_it_says() -> None:
    source = """{% post 'sign-out' css="row" confirm=said %}<button>Go</button>{% endpost %}"""
    shown = Template(source).render(Context({"csrf_token": "t0ken", "said": 'Sure, "<b>"?'}))
    assert 'method="post"' in shown
    assert 'class="row" data-confirm="Sure, &quot;&lt;b&gt;&quot;?"' in shown
    assert 'name="csrfmiddlewaretoken" value="t0ken"' in shown
    assert "<button>Go</button></form>" in shown
    assert "hx-" not in shown


def test_a_form_that_swaps_a_part_says_the_same_address_to_both() -> None:
    shown = Template("{% post 'sign-out' swaps='#part' %}{% endpost %}").render(Context())
    (action,) = {
        part.split('"')[1] for part in shown.split() if part.startswith(("action", "hx-post"))
    }
    assert action.startswith("/")
    assert 'hx-target="#part" hx-swap="outerHTML" hx-sync="this:drop"' in shown


def test_heads_mark_columns_of_numbers() -> None:
    shown = "".join(Template("{% heads 'Query' '#Votes' %}").render(Context()).split())
    assert shown.startswith('<thead><tr><thscope="col"')
    assert 'class="n"' in shown.partition("Query")[2]
    assert 'class="n"' not in shown.partition("Query")[0]
