"""How stored words are shown."""

from types import SimpleNamespace

import pytest
from django.template import Context, Template

from kit.lists.report_tables import Cell
from kit.templatetags.assay import in_words, kind, named
from kit.templatetags.figures import figure, p_words


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
    assert [figure(Cell(p, "p")) for p in (0.03125, 0.00004, None)] == ["0.0312", "< 0.0001", "–"]


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


def test_a_table_leaves_out_columns_without_a_name_and_counts_those_of_a_list() -> None:
    source = "{% table 'Systems' 'Name' extra '#Mean' sets css='report' %}<tr></tr>{% endtable %}"
    shown = Template(source).render(Context({"extra": "", "sets": ["biology", "#1"]}))
    heads = [" ".join(each.split()) for each in shown.split("<th")[2:]]
    assert [each.partition(">")[2].partition("<")[0].strip() for each in heads] == [
        "Name",
        "Mean",
        "biology",
        "#1",
    ]
    assert ['class="n"' in each for each in heads] == [False, True, True, True]
    assert 'aria-label="Systems"' in shown
    assert '<table class="report">' in shown


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("{% linked tag '' %}", "&lt;b&gt;"),
        ("{% linked 'B' '/b/?x=1' css='pid' %}", '<a class="pid" href="/b/?x=1">B</a>'),
        ("{% linked 'B' 'site-person' none %}", "B"),
        ("{% linked 'B' 'site-person' 7 %}", '<a href="/people/7/">B</a>'),
        ("{% practice none %}", ""),
        ("{% practice 1 'practice' %}", '<span class="tag warn">practice</span>'),
        ("{% fault '' %}", ""),
        ("{% fault tag 'sheet' %}", '<p class="sheet error-text" role="alert">&lt;b&gt;</p>'),
        ("{% interval none none 'points' %}", ""),
        ("{% interval 0.5 0.66 'points' %}", '<span class="interval">50.0 to 66.0</span>'),
        ("{% interval 2 2 %}", ""),
        ("{% interval 2 3 %}", '<span class="interval">2 to 3</span>'),
        ("{% tile 'Left out' 3 %}", '<div class="sheet"><small>Left out</small><b>3</b></div>'),
    ],
)
def test_what_tags_say_of_a_value(source: str, shown: str) -> None:
    assert Template(source).render(Context({"none": None, "tag": "<b>"})) == shown


def test_a_choice_selects_what_is_chosen_whatever_its_type() -> None:
    source = "{% choice 'side' 'Side' sides 2 empty='all' %}"
    shown = Template(source).render(Context({"sides": [("1", "First"), (2, "Second"), "other"]}))
    options = " ".join(shown.split()).split("<option ")[1:]
    assert [each.split('"')[1] for each in options] == ["", "1", "2", "other"]
    assert [" selected>" in each for each in options] == [False, False, True, False]


def test_what_is_empty_leads_to_a_route() -> None:
    source = "{% nothing 'No account' 'site-people' action='Accounts' %}None yet.{% endnothing %}"
    assert 'href="/people/"' in Template(source).render(Context())


def test_a_list_is_the_part_of_its_template_that_a_filter_renders_anew() -> None:
    source = "Head {% listing 'Rows' %}{% otherwise %}None.{% endlisting %}"
    page, context = Template(source), Context({"table": SimpleNamespace(rows=[])})
    with context.bind_template(page):
        shown = page.extra_data["partials"]["results"].render(context)
    assert "None." in shown
    assert "Head" not in shown
