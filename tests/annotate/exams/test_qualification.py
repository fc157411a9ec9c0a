"""Who is fit to vote: marks, approval, rechecks, exams drawn and sat, and what they never tell."""

import json
from datetime import timedelta

import pytest
from django.core.exceptions import PermissionDenied
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotate.exams import bank as exam_bank
from annotate.exams import qualification as verbs
from annotate.exams import services as exams
from annotate.exams.qualification import import_approvals, people_rows
from annotate.models import (
    ApprovalRecord,
    AttentionCheck,
    Batch,
    BatchItem,
    ExamAnswer,
    ExamAttempt,
    ExamItem,
    Recheck,
    VotingPlan,
)
from annotate.voting.services import cast_vote
from corpus.models import Judgment
from kit.errors import Conflict, Refused
from tests.annotate.world import masked, signed_in, write_plan
from tests.factories import make_gold, make_member, make_passage, make_query
from tests.markup import one_line


@pytest.fixture
def world(world):
    world.domain = world.query.domain
    world.person = world.voters[0]
    return world


def written(n, *, practice=False):
    return [
        ExamItem(
            question=f"Question {k}?", answers=["yes"], passage=f"Text {k}.", label=k % 2,
            explanation=f"because of {k}", is_practice=practice,
        )
        for k in range(n)
    ]  # fmt: skip


def fill(world, n=20, *, practice=False):
    if not practice:  # an exam is asked for in all domains or none
        weather = world.benchmark.domains.get(name="weather")
        exam_bank.add_items(domain=weather, actor=world.admin, items=written(min(n, 10)))
    items = written(n, practice=practice)
    return exam_bank.add_items(domain=world.domain, actor=world.admin, items=items)


def ask(world, **fields):
    rule = verbs.rule_of(world.benchmark)
    version = rule.version if rule.pk else 0
    verbs.set_rule(
        benchmark=world.benchmark, actor=world.admin, expected=version,
        **({"required": True, "exam_size": 10} | fields),
    )  # fmt: skip


def sit(world, wrong=0, person=None):
    person = person or world.person
    attempt = exams.start_attempt(person=person, domain=world.domain)
    while (item := attempt.next_item()) is not None:
        label = 1 - item.label if wrong > 0 else item.label
        wrong -= 1
        attempt = exams.answer_item(attempt=attempt, place=item.place, person=person, label=label)
    return attempt


def is_qualified(world):
    return bool(verbs.qualified_for(world.person, world.domain))


# --- Marks, approval, rechecks ---------------------------------------------------------------


def test_nothing_is_asked_unless_an_admin_asks(world):
    assert is_qualified(world)
    fill(world)
    ask(world)
    standing = verbs.qualified_for(world.person, world.domain)
    assert not standing
    assert standing.missing == ("the exam, with 90 of 100 or more",)


@pytest.mark.parametrize(
    ("right", "of", "mark", "enough"),
    [(9, 10, 90, True), (89, 100, 90, False), (90, 100, 90, True), (0, 0, 0, False)],
)
def test_ninety_passes_and_eighty_nine_fails(right, of, mark, enough):
    attempt = ExamAttempt(right=right, items=list(range(of)))
    assert verbs.is_enough(attempt, mark) == enough


def test_exams_passed_and_failed(world):
    fill(world)
    ask(world)
    assert sit(world, wrong=2).status == "failed"
    assert not is_qualified(world)
    done = sit(world, wrong=1)
    assert (done.status, done.score) == ("passed", 90.0)
    assert is_qualified(world)
    assert ExamAttempt.objects.count() == 2
    ask(world, pass_mark=95)
    assert not is_qualified(world)


@pytest.mark.parametrize(
    ("rate", "approved", "enough"),
    [
        ("90.0", "500", False),
        ("90.01", "500", True),
        ("99", "499", False),
        ("100 %", "1,000", True),
    ],
)
def test_approval_is_above_ninety_and_at_least_five_hundred(world, rate, approved, enough):
    fill(world)
    ask(world, needs_approval=True)
    sit(world)
    assert not is_qualified(world)
    row = {"username": world.person.username, "rate": rate, "approved": approved}
    import_approvals(benchmark=world.benchmark, actor=world.admin, rows=iter([row]))
    assert is_qualified(world) == enough


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"username": "nobody", "rate": "91", "approved": "1"}, "Line 2, username"),
        ({"username": "annotator-1", "rate": "101", "approved": "1"}, "Line 2, rate"),
        ({"username": "annotator-1", "rate": "nan", "approved": "1"}, "Line 2, rate"),
        ({"username": "annotator-1", "rate": "91", "approved": "-1"}, "Line 2, approved"),
    ],
)
def test_bad_history_is_refused_by_line_and_nothing_is_kept(world, row, words):
    good = {"username": "annotator-2", "rate": "91", "approved": "1"}
    with pytest.raises(Refused, match=words):
        import_approvals(benchmark=world.benchmark, actor=world.admin, rows=iter([row, good]))
    with pytest.raises(Refused, match="twice"):
        import_approvals(benchmark=world.benchmark, actor=world.admin, rows=iter([good, good]))
    assert not ApprovalRecord.objects.exists()


def test_recheck_is_needed_where_the_last_checks_went_wrong():
    right, wrong = True, False
    assert verbs.recheck_needed([wrong] * 9) is None  # too few to say anything
    assert verbs.recheck_needed([right] * 8 + [wrong] * 2) is None  # 80 of 100 is not below
    assert verbs.recheck_needed([right] * 7 + [wrong] * 3) == (7, 10)
    assert verbs.recheck_needed([wrong] * 50 + [right] * 10) is None  # the last ones count
    assert verbs.recheck_needed([wrong], below=100, window=1) == (0, 1)


def answer_checks(world, right):
    """A batch handed in just now whose ten attention checks were answered so."""
    plan = VotingPlan.objects.first() or write_plan(world)
    now = timezone.now()
    batch = Batch.objects.create(
        plan=plan, voter=world.person, status="rejected", size=10, expires_at=now, ended_at=now
    )
    for place in range(10):
        query = make_query(world.benchmark, f"check-{batch.pk}-{place}", world.domain.name)
        check = AttentionCheck.objects.create(query=query, passage=world.passage, expected=1)
        BatchItem.objects.create(batch=batch, place=place, check_item=check, label=int(right))
    return verbs.watch_checks(person=world.person, domain=world.domain)


def test_a_recheck_ends_a_qualification_until_the_next_exam(world):
    fill(world)
    ask(world)
    assert answer_checks(world, False) is None  # there is no exam that could count no more
    sit(world)
    assert answer_checks(world, True) is None
    assert is_qualified(world)
    answer_checks(world, False)
    standing = verbs.qualified_for(world.person, world.domain)
    assert standing.missing == ("the exam once more: 0 of the last 10 attention checks were right",)
    # Asked once: who has to take the exam again is not asked once more.
    answer_checks(world, False)
    assert Recheck.objects.count() == 1
    sit(world)
    assert is_qualified(world)


def test_only_admins_manage(world):
    calls = [
        lambda: fill_as(world),
        lambda: exam_bank.draw_items(domain=world.domain, actor=world.person, count=2),
        lambda: verbs.set_rule(benchmark=world.benchmark, actor=world.person, expected=0),
        lambda: import_approvals(benchmark=world.benchmark, actor=world.reviewer, rows=iter([])),
        lambda: verbs.ask_recheck(
            person=world.person, domain=world.domain, reason="x", actor=world.reviewer
        ),
    ]
    for call in calls:
        with pytest.raises(PermissionDenied):
            call()


def fill_as(world):
    new = ExamItem(question="q", passage="p", label=1)
    exam_bank.add_items(domain=world.domain, actor=world.reviewer, items=[new])


def test_an_exam_that_the_bank_cannot_fill_is_not_asked_for(world):
    with pytest.raises(Refused, match="fewer than 10 exam items for biology, weather"):
        ask(world)


def test_two_admins_do_not_overwrite_each_other(world):
    ask(world, required=False)
    stale = verbs.rule_of(world.benchmark).version - 1
    with pytest.raises(Conflict):
        verbs.set_rule(benchmark=world.benchmark, actor=world.admin, expected=stale, pass_mark=50)


# --- Sitting an exam -------------------------------------------------------------------------


def test_an_exam_has_both_answers_and_new_items_first(world):
    items = fill(world, 40)
    ask(world, required=False)
    first, second = sit(world), sit(world, wrong=5)
    labels = [ExamItem.objects.get(pk=pk).label for pk in first.items]
    assert sorted(labels) == [0] * 5 + [1] * 5
    assert not set(first.items) & set(second.items)
    assert set(first.items) | set(second.items) <= {each.pk for each in items}


def test_a_sitting_goes_on_where_it_was_left(world):
    fill(world)
    attempt = exams.start_attempt(person=world.person, domain=world.domain)
    exams.answer_item(attempt=attempt, place=0, person=world.person, label=1)
    again = exams.start_attempt(person=world.person, domain=world.domain)
    assert again.pk == attempt.pk
    assert again.next_item().pk == attempt.items[1]
    with pytest.raises(Refused, match="answered already"):
        exams.answer_item(attempt=attempt, place=0, person=world.person, label=0)
    with pytest.raises(PermissionDenied):
        exams.answer_item(attempt=attempt, place=1, person=world.voters[1], label=0)
    assert ExamAnswer.objects.count() == 1


def test_what_is_left_of_a_sitting_takes_as_long_as_its_median_answer(world):
    fill(world)
    attempt = exams.start_attempt(person=world.person, domain=world.domain)
    client, page = signed_in(world.person), world.url(f"qualification/sittings/{attempt.pk}/")
    at = attempt.started_at
    for place, seconds in enumerate((30, 40, 600)):
        assert attempt.seconds_left is None
        assert f"{place + 1} of 10" in (shown := one_line(client.get(page)))
        assert "left" not in shown
        exams.answer_item(attempt=attempt, place=place, person=world.person, label=1)
        at += timedelta(seconds=seconds)
        ExamAnswer.objects.filter(item=attempt.items[place]).update(created_at=at)
    # Seven of ten at 40 seconds each.
    assert attempt.seconds_left == 280
    assert "about 5 minutes left" in one_line(client.get(page))


def test_people_of_other_domains_sit_no_exam(world):
    fill(world)
    for person in (world.outsider, world.admin, world.reviewer):
        with pytest.raises(PermissionDenied):
            exams.start_attempt(person=person, domain=world.domain)


def test_a_retired_item_is_drawn_no_more(world):
    items = fill(world, 11)
    exam_bank.retire_item(item=items[0], actor=world.admin)
    with pytest.raises(Refused, match="retired already"):
        exam_bank.retire_item(item=items[0], actor=world.admin)
    assert items[0].pk not in sit(world).items


# --- The bank --------------------------------------------------------------------------------


def gold_world(world, n=6):
    for k in range(n):
        query = make_query(world.benchmark, f"g{k}", "biology")
        make_gold(query, make_passage(world.benchmark, f"gold/{k}", "biology"))


def test_items_are_drawn_from_gold_and_from_gold_of_others(world):
    gold_world(world)
    world.case()
    drawn = exam_bank.draw_items(domain=world.domain, actor=world.admin, count=6, seed=3)
    assert sorted(each.label for each in drawn) == [0, 0, 0, 1, 1, 1]
    for each in drawn:
        known = Judgment.objects.filter(query=each.source_query, passage=each.source_passage)
        assert known.exists() == (each.label == 1)
        assert each.passage == each.source_passage.text
        assert [position["agent"] for position in each.positions] == ["A", "B"]
    before = Judgment.objects.count()
    more = exam_bank.draw_items(domain=world.domain, actor=world.admin, count=4, seed=3)
    pairs = [(each.source_query_id, each.source_passage_id) for each in [*drawn, *more]]
    assert len(set(pairs)) == 10
    assert Judgment.objects.count() == before  # exam items are no labels


def test_nothing_to_draw_is_said(world):
    with pytest.raises(Refused, match="no gold with its text"):
        exam_bank.draw_items(domain=world.domain, actor=world.admin, count=2)


CSV = "question,answers,passage,label,explanation,practice\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("question,passage,label\n", "header lacks answers"),
        (CSV + "q,a,p,2,,\n", "Line 2, label"),
        (CSV + "q,a,p,1,,\n,a,p,1,,\n", "Line 3, question"),
        (CSV + 'q,"[1]",p,1,,\n', "Line 2, answers"),
        (CSV + 'q,"[",p,1,,\n', "Line 2, answers"),
        pytest.param(CSV + f"q,{'[' * 100_000},p,1,,\n", "Line 2, answers", id="nested"),
        (CSV + "q,a,p\n", "Line 2: 3 fields"),
        (CSV, "no item to add"),
        (b"\xff\xfe", "not UTF-8"),
        (CSV + 'q,"a', "no CSV"),
        (CSV + "q\x00,a,p,1,,\n", "Line 2"),
    ],
)
def test_a_bad_file_is_refused_by_line_and_nothing_is_added(world, text, words):
    content = text if isinstance(text, bytes) else text.encode()
    answer = signed_in(world.admin).post(
        world.url("qualification/bank/"),
        {"intent": "file", "domain": world.domain.pk, "file": SimpleUploadedFile("x.csv", content)},
    )
    assert answer.status_code == 422
    assert words in one_line(answer)
    assert not ExamItem.objects.exists()


def test_a_good_file_is_added(world):
    content = CSV + 'What?,"[""one"", ""two""]","a\nb",1,because,1\nWho?,me,c,0,,\n'
    answer = signed_in(world.admin).post(
        world.url("qualification/bank/"),
        {
            "intent": "file",
            "domain": world.domain.pk,
            "file": SimpleUploadedFile("x.csv", b"\xef\xbb\xbf" + content.encode()),
        },
    )
    assert answer.status_code == 302
    first, second = ExamItem.objects.order_by("pk")
    assert (first.answers, first.passage, first.is_practice) == (["one", "two"], "a\nb", True)
    assert (second.answers, second.label, second.is_practice) == (["me"], 0, False)


# --- Screens and API -------------------------------------------------------------------------


def test_practice_says_why_and_an_exam_does_not(world):
    fill(world, 2, practice=True)
    fill(world)
    client = signed_in(world.person)
    start = world.url(f"qualification/domains/{world.domain.pk}/start/")
    page = one_line(client.post(start, {"practice": "1"}, follow=True))
    assert "1 of 2" in page
    url = client.post(start, {"practice": "1"}).url
    page = one_line(client.post(url, {"place": 0, "label": "1"}, follow=True))
    assert "because of" in page
    url = client.post(start, {"practice": "0"}).url
    page = one_line(client.post(url, {"place": 0, "label": "1"}, follow=True))
    assert "2 of 10" in page
    assert "because of" not in page
    assert "Right." not in page
    page = one_line(client.post(url, {"place": 0, "label": "1"}, follow=True))
    assert "This item was answered already." in page


def test_exam_by_keys_ends_with_its_score(world):
    fill(world)
    client = signed_in(world.person)
    url = client.post(world.url(f"qualification/domains/{world.domain.pk}/start/")).url
    for place in range(10):
        page = one_line(client.get(url))
        assert f'name="place" value="{place}"' in page
        assert 'data-key="1"' in page
        client.post(url, {"place": place, "label": "1"})
    assert "Not passed: 5 of 10" in one_line(client.get(url))
    assert "50 of 100, not passed" in one_line(client.get(world.url("qualification/")))


def test_an_exam_page_is_the_same_whatever_is_right(world):
    """Differential: the pages of a sitting depend on nothing but what is to be judged."""
    fill(world)
    client = signed_in(world.person)
    url = client.post(world.url(f"qualification/domains/{world.domain.pk}/start/")).url

    def seen():
        api = client.get(f"/api{url}")
        return masked(client.get(url)), api.content, masked(client.get(world.url("qualification/")))

    before = seen()
    for item in ExamItem.objects.all():
        flipped = ExamItem.objects.filter(pk=item.pk)
        flipped.update(label=1 - item.label, basis="gold", explanation="other words")
    assert seen() == before
    client.post(url, {"place": 0, "label": "1"})
    after = seen()
    ExamItem.objects.update(label=1)
    assert seen() == after


def test_sittings_of_others_do_not_exist(world):
    fill(world)
    url = (
        signed_in(world.person)
        .post(world.url(f"qualification/domains/{world.domain.pk}/start/"))
        .url
    )
    for prefix in ("", "/api"):
        assert signed_in(world.voters[1]).get(f"{prefix}{url}").status_code == 404


def test_rules_history_and_rechecks_on_screen(world):
    fill(world)
    client = signed_in(world.admin)
    url = world.url("qualification/rules/")
    rule = {
        "intent": "rule", "required": "on", "pass_mark": 80, "exam_size": 10, "approval_above": 90,
        "approved_least": 500, "recheck_below": 80, "recheck_window": 10, "expected": 0,
    }  # fmt: skip
    assert client.post(url, rule).status_code == 302
    assert verbs.rule_of(world.benchmark).pass_mark == 80
    stale = client.post(url, rule | {"pass_mark": 70, "expected": 1})
    assert stale.status_code == 422
    assert "Another admin saved meanwhile" in one_line(stale)
    text = f"username,rate,approved\n{world.person.username},95,600\n"
    sent = {"intent": "approvals", "file": SimpleUploadedFile("a.csv", text.encode())}
    assert client.post(url, sent).status_code == 302
    assert "95.00 %, 600" in one_line(client.get(url))
    sent = {
        "intent": "recheck", "person": world.person.pk, "domain": world.domain.pk, "reason": "odd",
    }  # fmt: skip
    assert client.post(url, sent).status_code == 302
    assert "the exam once more: odd" in one_line(client.get(url))


def test_api_goes_the_same_way(world):
    def send(person, path, body, status=200, method="post"):
        answer = getattr(signed_in(person), method)(
            f"/api{world.url(path)}", json.dumps(body), content_type="application/json"
        )
        assert answer.status_code == status, answer.content
        return answer.json() if answer.content else None

    new = {"domain": world.domain.pk, "question": "q", "answers": ["a"], "passage": "p"}
    for n in range(10):
        send(world.admin, "qualification/bank/", new | {"label": n % 2}, 201)
    send(world.admin, "qualification/bank/", new | {"label": 2}, 400)
    gold_world(world)
    draw = {"domain": world.domain.pk, "count": 4}
    assert len(send(world.admin, "qualification/bank/draw/", draw, 201)) == 4
    rule = signed_in(world.admin).get(f"/api{world.url('qualification/rule/')}").json()
    assert (rule["version"], rule["pass_mark"]) == (0, 90)
    send(world.admin, "qualification/rule/", rule | {"pass_mark": 60}, method="put")
    send(world.admin, "qualification/rule/", rule | {"pass_mark": 60}, 409, method="put")
    start = f"qualification/domains/{world.domain.pk}/start/"
    sitting = send(world.person, start, {})
    assert set(sitting["item"]) == {"place", "question", "answers", "passage", "positions"}
    path = f"qualification/sittings/{sitting['id']}/"
    for place in range(10):
        sitting = send(world.person, path, {"place": place, "label": 1})
    assert (sitting["status"], sitting["score"], sitting["item"]) == ("failed", 50.0, None)
    rows = [{"username": "annotator-1", "rate": "95", "approved": "600"}]
    send(world.admin, "qualification/approvals/", rows, 204)
    recheck = {"person": "annotator-1", "domain": world.domain.pk, "reason": "odd"}
    send(world.admin, "qualification/rechecks/", recheck, 204)
    mine = signed_in(world.person).get(f"/api{world.url('qualification/')}").json()
    assert mine[0]["missing"] == ["the exam once more: odd"] or mine[0]["qualified"]
    people = signed_in(world.admin).get(f"/api{world.url('qualification/people/')}").json()
    (row,) = [
        each
        for each in people
        if (each["person"], each["domain"]) == ("annotator-1", world.domain.name)
    ]
    assert row == {
        "person": "annotator-1",
        "domain": world.domain.name,
        "qualified": False,
        "missing": ["the exam once more: odd"],
        "exam": None,
        "approval_rate": 95.0,
        "approved": 600,
        "recheck": "odd",
    }


def test_history_and_rechecks_from_the_shell(world, tmp_path, capsys):
    file = tmp_path / "history.csv"
    file.write_text("username,rate,approved\nannotator-1,90.5,700\n")

    def command(*more):
        call_command("qualification", world.benchmark.slug, "--as", "admin", "--json", *more)
        rows = json.loads(capsys.readouterr().out)
        (row,) = [
            each
            for each in rows
            if (each["person"], each["domain"]) == ("annotator-1", world.domain.name)
        ]
        return row["approval_rate"], row["approved"], row["recheck"]

    assert command() == (None, None, "")
    assert command("--approvals", str(file)) == (90.5, 700, "")
    again = ("--recheck", "annotator-1", "--domain", world.domain.name, "--reason", "odd")
    assert command(*again) == (90.5, 700, "odd")
    file.write_text("username,rate,approved\nannotator-1,ninety,700\n")
    with pytest.raises(CommandError, match="Line 2, rate"):
        command("--approvals", str(file))
    for wrong in (("--approvals", str(tmp_path / "none.csv")), ("--recheck", "annotator-1")):
        with pytest.raises(CommandError):
            command(*wrong)
    with pytest.raises(CommandError, match="managed by admins"):
        call_command("qualification", world.benchmark.slug, "--as", "reviewer", *again)


# --- Votes ask for the exam ------------------------------------------------------------------


def test_nobody_votes_before_the_exam_that_is_required(world):
    fill(world)
    ask(world)
    case = world.case()
    page = signed_in(world.person)
    assert "vote in biology, weather, there is" in one_line(page.get("/b/garden/vote/"))
    with pytest.raises(Refused, match="pass its exam"):
        cast_vote(case=case, voter=world.person, label=1)
    sit(world)
    told = one_line(page.get("/b/garden/vote/", follow=True))
    assert "vote in weather, there is" in told
    cast_vote(case=case, voter=world.person, label=1)


def test_people_and_domains_cost_no_queries_of_their_own(world) -> None:
    """Three annotators of two domains, then many more: the table takes as many queries."""
    ask(world, required=False)
    before = len(people_rows(world.benchmark))
    with CaptureQueriesContext(connection) as first:
        people_rows(world.benchmark)
    for number in range(4):
        person = make_member(world.benchmark, f"more-{number}", "annotator")
        verbs.ask_recheck(person=person, domain=world.domain, reason="Again.", actor=world.admin)
    with CaptureQueriesContext(connection) as second:
        rows = people_rows(world.benchmark)
    assert (len(rows), len(second)) == (before + 8, len(first))
    (row,) = [
        each for each in rows
        if str(each["person"]) == "more-1" and each["domain"] == world.domain
    ]  # fmt: skip
    assert row["standing"].missing == ("the exam once more: Again.",)
