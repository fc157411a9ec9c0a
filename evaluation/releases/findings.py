"""Faults of a release that only the database shows; the records show the others (faults.py)."""

from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import PurePath
from typing import Any

from django.db import models
from django.db.models import Q

from annotate.agreement.ratings import BINARY
from annotate.agreement.slices import measured
from annotate.exams.qualification import rule_of
from annotate.models import Aspect, CaseStatus, EscalationCase, Vote, VotingPlan
from annotate.voting.agreement import checked_votes, vote_opinions
from annotate.voting.models import altered_cases
from corpus.importers.rows import LicenceRow
from corpus.models import Benchmark, CorpusVersion, Domain, Judgment, Query, Status
from corpus.texts.models import CLEANED
from debate.audits.services import audit_bound
from debate.models import AuditItem, AuditSample
from evaluation.content import inherited_view
from evaluation.content.reading import lost_machine_gold
from evaluation.content.view import View
from evaluation.exporters.faults import MAX_PLACES, Fault, Place, code
from evaluation.exporters.licences import named_only
from evaluation.exporters.names import aspect_id
from evaluation.judges.families import shared_families, told
from evaluation.judges.related import told_orders
from evaluation.verification.copies import WITHOUT_TEXT
from evaluation.verification.rows import Difference
from kit.stats.results import Estimate


def inheritance_faults(view: View, split: str, domain: Domain) -> list[Fault]:
    """Relevant labels, gold passages and machine gold without a place, other labels, labels given
    there that weigh less than inherited ones, texts made by the practice model."""
    found = inherited_view.of_domain(view, domain)
    pairs: dict[str, list[tuple[int, int]]] = {"uncarried_gold": [], "uncarried_labels": []}
    for lost in found.lost:
        check = "uncarried_gold" if lost.is_gold else "uncarried_labels"
        pairs[check].append((lost.query, lost.passage))
    pairs["outweighed_labels"] = [
        (each.query, each.passage) for each in found.labels if each.outweighed
    ]
    qids = dict(Query.objects.filter(domain=domain).values_list("pk", "qid"))
    of_aspects = {
        "uncarried_support": found.lost_gold,
        "uncarried_machine_gold": lost_machine_gold(view, domain),
    }
    aspects = Aspect.objects.select_related("query").in_bulk(
        [pk for rows in of_aspects.values() for pk, _ in rows[:MAX_PLACES]]
    )

    def at_query(pk: int) -> Place:
        return {"query": qids[pk], "query_pk": pk}

    def at_aspect(pk: int) -> Place:
        return {"aspect": aspect_id(split, aspects[pk].query.qid, aspects[pk].k)}

    return [
        *(_of_passages(check, split, rows, at_query) for check, rows in pairs.items()),
        *(_of_passages(check, split, rows, at_aspect) for check, rows in of_aspects.items()),
        _practice(view, split),
    ]


def _of_passages(
    check: str, split: str, rows: list[tuple[int, int]], about: Callable[[int], Place]
) -> Fault:
    """The fault at these (query or aspect, passage)."""
    first = rows[:MAX_PLACES]
    names = inherited_view.known(None, {passage for _, passage in first})
    places = (
        {"split": split, **about(pk), "passage": names[passage][0], "passage_pk": passage}
        for pk, passage in first
    )
    return Fault(check, len(rows), tuple(places))


def _practice(view: View, split: str) -> Fault:
    at, made = view.corpus, False
    while at is not None and at.is_derived:
        made = made or bool(at.recipe.get("practice"))
        at = at.parent
    return Fault("practice_texts", int(made), ({"split": split},) if made else ())


def renamed_as_inherited(view: View, faults: Iterable[Fault]) -> list[Fault]:
    """Of a derived version: a chunk may hold what two passages say, each for its own aspect."""
    if not view.is_derived:
        return list(faults)
    return [
        Fault("carried_two_aspects", each.count, each.rows) if each.check == "two_aspects" else each
        for each in faults
    ]


Rows = models.QuerySet[Any]
_CASE = {"query": "query__qid", "passage": "passage__pid", "case_pk": "pk"}
_PAIR = {"query": "query__qid", "query_pk": "query_id", "passage": "passage__pid"}


def database_faults(view: View, split: str, domain: Domain) -> list[Fault]:
    """Undecided cases, texts that are missing, labels outside the corpus; empty ones left out."""
    found = [
        _cases(split, domain, "open_cases", CaseStatus.OPEN),
        _cases(split, domain, "expert_cases", CaseStatus.EXPERT),
        _altered(split, domain),
        _outside(view, split, domain),
        _elsewhere(view, split, domain),
        *(inheritance_faults(view, split, domain) if view.is_derived else ()),
        _without_text(view, split, domain),
    ]
    return [each for each in found if each.count]


def _cases(split: str, domain: Domain, check: str, status: str) -> Fault:
    # Items of a reference panel measure the labels and are none: unfinished ones delay nothing.
    # Nor do those about an aspect: their labels are none of a pair.
    cases = EscalationCase.objects.of_voters().about_pairs()
    cases = cases.filter(query__domain=domain, status=status)
    return _fault(check, split, cases, _CASE)


def _altered(split: str, domain: Domain) -> Fault:
    """Cases whose chain of votes is broken: of panels too."""
    votes = Vote.objects.filter(case__query__domain=domain).order_by("case", "pk")
    keys = altered_cases(votes.iterator(chunk_size=2000))
    cases = EscalationCase.objects.filter(pk__in=keys)
    return _fault("altered_votes", split, cases, _CASE)


def unverified(found: Sequence[Difference]) -> list[Fault]:
    """A fault where what was written does not verify: each row with why.

    Gold without a text is named by `gold_without_text` already.
    """
    found = [each for each in found if each.why != WITHOUT_TEXT]
    places = (
        {
            "split": PurePath(each.file).name.split(".")[0],
            **({"query": each.query} if each.query else {}),
            **({"passage": each.passage} if each.passage else {}),
            "why": str(each),
        }
        for each in found[:MAX_PLACES]
    )
    return [Fault("unverified", len(found), tuple(places))] if found else []


def _outside(view: View, split: str, domain: Domain) -> Fault:
    labels = Judgment.objects.filter(query__domain=domain, label__gt=0)
    counted = labels.original() | labels.standing()
    inside = Q(passage__domain=domain, passage__version_id__in=view.lineage)
    rows = counted.exclude(inside).exclude(_derived(view))
    return _fault("outside_corpus", split, rows, _PAIR)


def _elsewhere(view: View, split: str, domain: Domain) -> Fault:
    """Labels given in a derived version that this one was not made of: they stand there."""
    labels = Judgment.objects.filter(query__domain=domain).standing().filter(_derived(view))
    rows = labels.exclude(passage__version_id__in=view.lineage)
    return _fault("given_elsewhere", split, rows, _PAIR)


def _without_text(view: View, split: str, domain: Domain) -> Fault:
    passages = view.passages.filter(domain=domain, text__isnull=True)
    return _fault("passages_without_text", split, passages, {"passage": "pid", "passage_pk": "pk"})


def _derived(view: View) -> Q:
    """Labels of passages that cleanings made. By key: a version without a kind is no answer to a
    question about it, and so would be left out of its opposite as well."""
    made = CorpusVersion.objects.filter(benchmark=view.benchmark, recipe__kind=CLEANED)
    return Q(passage__version_id__in=list(made.values_list("pk", flat=True)))


def _fault(check: str, split: str, rows: Rows, columns: dict[str, str]) -> Fault:
    """The fault with its whole count and its first places, as queries and passages were loaded.

    Not by the rows' own keys: debates end, and cases open, in an order that chance decides.
    """
    order = ("query_id", "passage_id", "pk") if "query" in columns else ("pk",)
    first = rows.order_by(*order).values_list(*columns.values())[:MAX_PLACES]
    places = ({"split": split, **dict(zip(columns, row, strict=True))} for row in first)
    return Fault(check, rows.count(), tuple(places))


def label_checks(benchmark: Benchmark, *, without: Collection[int] = ()) -> list[str]:
    """In words which checks gate people's labels as the release is built, and which do not; and how
    many of the votes that count were given under each, which may have been off then."""
    plan, rule = VotingPlan.objects.current(benchmark), rule_of(benchmark)
    samples = AuditSample.objects.filter(run__benchmark=benchmark)
    audited = AuditItem.objects.filter(sample__in=samples).count()
    left = audit_bound(benchmark)
    wrong = left.wrong
    told = f"on, {audited:,} pairs drawn" if audited else "off"
    if wrong.n:
        told += f", {wrong.hits:,} of {wrong.n:,} decided wrong: "
        told += f"at most {left.bound:.1%} of labels (exact, 95 %)"
    if audited and left.unaudited:
        told += f"; not audited, so all open: {', '.join(map(code, left.unaudited))}"
    if plan.audit_bar is not None:
        told += f"; the bar is {plan.audit_bar:.1%}"
    exam = f"on, {rule.pass_mark} % of {rule.exam_size} items pass" if rule.required else "off"
    batches = f"on, {plan.batch_size} items a batch" if plan.has_batches else "off"
    votes = checked_votes(benchmark, without=without)
    total = votes["all"]
    under = {
        check: f"; {votes[check]:,} of {total:,} votes were given {words}" if total else ""
        for check, words in (("exam", "after it"), ("batches", "in one"), ("consent", "after it"))
    }
    consent = "on" if plan.consent_text.strip() else "off"
    return [
        f"exam before voting: {exam}{under['exam']}",
        f"batches with attention checks: {batches}{under['batches']}",
        f"consent before voting: {consent}{under['consent']}",
        f"blind audit of agreed pairs: {told}",
    ]


def unconfirmed_faults(view: View) -> list[Fault]:
    """Decisions that are left out, with the pairs whose labels are."""
    if not view.left_out.decisions:
        return []
    splits = {domain.pk: split for split, domain in view.splits.items()}
    labels = Judgment.objects.filter(pk__in=view.left_out.labels.labels, status=Status.STANDING)
    labels = labels.filter(query__domain__in=splits).order_by("query_id", "passage_id")
    columns = ("query__domain", *_PAIR.values())
    places = (
        {"split": splits[domain], **dict(zip(_PAIR, row, strict=True))}
        for domain, *row in labels.values_list(*columns)[:MAX_PLACES]
    )
    return [Fault("unconfirmed_decisions", view.left_out.decisions, tuple(places))]


def vote_kappa(
    benchmark: Benchmark, *, without: Collection[int] = ()
) -> tuple[int, Estimate | None]:
    """How many votes were given, and their Fleiss' kappa; None without votes."""
    opinions = vote_opinions(benchmark, without=without)
    if not opinions:
        return 0, None
    return len(opinions), measured(opinions, BINARY).coefficient("fleiss_kappa")


def agreement_fault(kappa: Estimate | None, bar: float | None) -> list[Fault]:
    """A fault where votes were given and do not reach the bar; none where no bar was set."""
    if bar is None or kappa is None or (kappa.value is not None and kappa.value >= bar):
        return []
    return [Fault("agreement_below_bar", 1, ())]


def family_fault(benchmark: Benchmark) -> list[Fault]:
    """Model families that label or judge here and are measured as well, with what that does to
    rankings."""
    found, orders = shared_families(benchmark), told_orders(benchmark)
    places = tuple(
        {"name": "; ".join([told(family, does), *orders.get(family, ())])}
        for family, does in list(found.items())[:MAX_PLACES]
    )
    return [Fault("shared_family", len(found), places)] if found else []


def licence_fault(benchmark: Benchmark, rows: Sequence[LicenceRow]) -> list[Fault]:
    """Licences of which the release has the name alone."""
    found = named_only(benchmark.licence, rows)
    places = tuple({"name": each} for each in found[:MAX_PLACES])
    return [Fault("licences_without_text", len(found), places)] if found else []


def audit_fault(benchmark: Benchmark) -> list[Fault]:
    """A fault where blind audits leave open more wrong labels than the benchmark's bar; it names
    the runs whose labels are all open, for nobody audited them."""
    bar = VotingPlan.objects.current(benchmark).audit_bar
    if bar is None or (left := audit_bound(benchmark)).bound <= bar:
        return []
    places = tuple({"name": f"{name}, not audited"} for name in left.unaudited[:MAX_PLACES])
    return [Fault("audit_above_bar", max(1, len(left.unaudited)), places)]
