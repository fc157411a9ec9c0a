"""The bar of a benchmark: sections and pages by role, and the one that is lit."""

import pytest
from django.test import Client
from django.urls import reverse

from corpus.access import enter
from corpus.navigation import sections_for
from tests.factories import make_benchmark, make_member
from tests.markup import one_line

pytestmark = pytest.mark.django_db
ADMIN = ["Overview", "Data", "Annotate", "Agents", "Results", "Manage"]
ADMINS_LAST = ["Debate runs", "Leaderboard", "People"]


@pytest.mark.parametrize(
    ("roles", "sections", "first_pages"),
    [
        (
            ["admin"],
            ADMIN,
            ["Status", "Queries", "Disputes", *ADMINS_LAST],
        ),
        (
            ["annotator"],
            ["My work", "Browse", "Results", "My record"],
            ["My queue", "Queries", "Leaderboard", "Feedback"],
        ),
        (
            ["annotator", "reviewer"],
            ["My work", "Browse", "Results", "My record"],
            ["My queue", "Queries", "Leaderboard", "Feedback"],
        ),
        (
            ["reviewer"],
            ["My work", "Browse", "Agents", "Results"],
            ["Disputes", "Queries", "Debate runs", "Leaderboard"],
        ),
        (["admin", "annotator"], ADMIN, ["Status", "Queries", "My queue", *ADMINS_LAST]),
    ],
)
def test_sections_by_role(roles, sections, first_pages) -> None:
    benchmark = make_benchmark()
    access = enter(make_member(benchmark, "someone", *roles), benchmark.slug)
    found = sections_for(access, "")
    assert [section.label for section in found] == sections
    assert [section.pages[0].label for section in found] == first_pages


@pytest.mark.parametrize(
    "role",
    ["admin", *(pytest.param(each, marks=pytest.mark.slow) for each in ("reviewer", "annotator"))],
)
def test_every_page_of_the_bar_opens_and_lights_itself_alone(client: Client, role: str) -> None:
    benchmark = make_benchmark()
    person = make_member(benchmark, "someone", role)
    client.force_login(person)
    for section in sections_for(enter(person, benchmark.slug), ""):
        for page in section.pages:
            response = client.get(page.url, follow=True)
            assert response.status_code == 200, page.url
            shown = one_line(response)
            if page.name == "vote":  # a screen of work
                assert 'class="sections"' not in shown
                continue
            assert shown.count('aria-current="true"') == 1
            assert f'aria-current="true">{section.label}</a>' in shown
            if len(section.pages) > 1:
                bar = shown.partition('<nav class="tabs"')[2].partition("</nav>")[0]
                assert bar.count('aria-current="page"') == 1
                assert f'aria-current="page">{page.label}</a>' in bar


@pytest.mark.parametrize(
    ("path", "section", "page"),
    [
        ("documents/3/", "Data", "Passages"),
        ("cleaning/4/report/", "Data", "Corpus versions"),
        ("qualification/bank/7/", "Manage", "Qualification"),
        ("voting/arms/", "Manage", "Voting plan"),
        ("leaderboard/published/dream-hole10/", "Results", "Published results"),
        ("leaderboard/5/", "Results", "Leaderboard"),
        ("answers/comparisons/2/", "Annotate", "Answers"),
        ("licences/", "Data", "Licences"),
        ("", "Overview", "Status"),
    ],
)
def test_a_page_lights_the_list_that_it_belongs_to(path, section, page) -> None:
    benchmark = make_benchmark()
    access = enter(make_member(benchmark, "boss", "admin"), benchmark.slug)
    found = sections_for(access, reverse("benchmark", args=[benchmark.slug]) + path)
    assert [each.label for each in found if each.is_open] == [section]
    assert [each.label for one in found for each in one.pages if each.is_open] == [page]
