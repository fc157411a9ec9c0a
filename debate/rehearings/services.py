"""Debating cases again with what voters said, and what that changed (docs/protocol.md X07).

Only of cases that votes have closed: how an open one stands is shown to nobody. Agents read the
words and the label of the vote, and nothing of who gave it. What they say then is compared, and is
neither a vote nor a label: such a run is a trial that nobody can adopt.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import count
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count, Q

from annotate.models import CaseStatus, EscalationCase, Vote
from corpus.lists import unused_name
from corpus.models import Pool, PoolEntry, Source
from debate.models import Debate, DebateRun, DebateStatus, Rehearing, RunKind
from debate.rehearings.models import STOP
from debate.runs.configuration import ASPECTS
from debate.runs.figures import pairs_url
from debate.runs.kinds import config_of
from debate.runs.services import start_run
from kit import audit
from kit.errors import Refused
from kit.lists.report_tables import Cell, ReportTable, percent, text
from kit.runs.models import RunStatus
from kit.stats.proportions import proportion
from llm import endpoints

KIND = "people's reasons"
# Of a run that was cancelled, what it came to before it got so far: nobody heard anything there.
_GIVEN_UP = Q(debate__run__status=RunStatus.CANCELLED, debate__status=DebateStatus.WAITING)


def unheard(run: DebateRun) -> dict[int, list[Vote]]:
    """By debate of the run the votes whose reason its agents have not read, in their order.

    Those with a label and a reason on a case that votes closed; none of a case that was debated
    again STOP times.
    """
    people = (Source.HUMAN.value,)
    debates = run.debates.filter(case__status=CaseStatus.CLOSED).select_related(
        "case__judgment", "case__support"
    )
    by_case = {
        each.case_id: each.pk for each in debates if each.case and each.case.decided_by in people
    }
    heard = Rehearing.objects.filter(case__in=by_case).exclude(_GIVEN_UP).order_by()
    times = dict(heard.values_list("case").annotate(Count("pk")))
    votes = Vote.objects.standing().filter(case__in=by_case, label__isnull=False)
    votes = votes.exclude(reason="").exclude(pk__in=heard.values("vote"))
    found: dict[int, list[Vote]] = {}
    for vote in votes.order_by("pk"):
        if vote.reason.strip() and times.get(vote.case_id, 0) < STOP:
            found.setdefault(by_case[vote.case_id], []).append(vote)
    return found


def voters(case: EscalationCase) -> list[Vote]:
    """The votes that count, in the order in which the case's page numbers those who gave them."""
    return list(case.votes.standing().order_by("pk"))


def named_votes(run: DebateRun) -> list[tuple[str, Vote]]:
    """What is left to be heard, each with the name that `rehear` takes."""
    left = unheard(run)
    cases = EscalationCase.objects.in_bulk({votes[0].case_id for votes in left.values()})
    found = []
    for votes in left.values():
        case = cases[votes[0].case_id]
        given = enumerate(voters(case), 1)
        found += [(f"{case.public_id}/{number}", vote) for number, vote in given if vote in votes]
    return found


def rehear(
    *,
    run: DebateRun,
    votes: Sequence[str] = (),
    budget_usd: Decimal | None = None,
    actor: User | None,
    claimed: bool = False,
) -> DebateRun:
    """Debate disputes of the run again, each with the reason of one more vote.

    `votes` names those that are to be heard, "CASE/2" for the second voter of a case as its page
    numbers them; by default the earliest of every case. By the run's own agents, rounds and
    prompts; no adjudicator rules. Raises Refused for a run that goes on or is no debate, a vote
    that cannot be heard, where nothing is left to be heard, and what `start_run` raises.
    """
    if run.kind != RunKind.DEBATE or run.reheard_of_id:
        raise Refused("Only the disputes of a debate run are debated again with people's reasons.")
    if not run.is_over:
        raise Refused("This run goes on; wait until it is over.")
    config = replace(
        config_of(run), trial=True, adjudicator=None, continue_to=0, audit=0, decoys=0, canaries=0
    )
    with transaction.atomic():
        # One at a time: a vote is heard once.
        DebateRun.objects.select_for_update().get(pk=run.pk)
        left = unheard(run)
        chosen = _chosen(run, votes, left) if votes else {pk: each[0] for pk, each in left.items()}
        if not chosen:
            raise Refused(
                "No reason is left to be heard: votes on decided cases of this run have none, or "
                f"the agents have read them, or their cases were debated {STOP} times again."
            )
        made = start_run(
            benchmark=run.benchmark,
            pool=_pool(run, chosen),
            endpoint=endpoints.get(run.endpoint),
            actor=actor,
            name=f"{run.name[:90]}, people heard",
            config=config,
            prompt_version=None if config.about == ASPECTS else run.prompt_version,
            budget_usd=budget_usd,
            claimed=claimed,
            reheard_of=run,
        )
        _link(run, made, chosen)
        data = {"run": made.pk, "cases": len(chosen), "chosen": sorted(votes)}
        scope = run.benchmark.slug
        audit.record(actor=actor, verb="debate again", target=run, scope=scope, data=data)
    return made


def _chosen(run: DebateRun, names: Sequence[str], left: dict[int, list[Vote]]) -> dict[int, Vote]:
    """The votes of these names by debate; raises Refused for any that cannot be heard."""
    debates = {
        str(each.case.public_id): each
        for each in run.debates.filter(pk__in=left).select_related("case")
        if each.case
    }
    found: dict[int, Vote] = {}
    for name in names:
        key, _, number = name.partition("/")
        debate = debates.get(key)
        given = voters(debate.case) if debate and debate.case else []
        is_number = number.isdecimal() and 0 < int(number) <= len(given)
        vote = given[int(number) - 1] if is_number else None
        if debate is None or vote not in left[debate.pk]:
            raise Refused(
                f"{name[:60]!r} cannot be heard: there is no such vote on a case of this run that "
                "votes closed, or it has no label or no reason, or the agents have read it, or "
                f"its case was debated {STOP} times again.",
                field="votes",
            )
        if debate.pk in found:
            raise Refused("One voter of a case is heard at a time.", field="votes")
        found[debate.pk] = vote
    return found


def case_history(case: EscalationCase) -> dict[str, Any]:
    """Who may be heard in the latest debate of the case, and what came of those who were.

    `votes`: the number of each whose reason can be heard in `run`; `heard`: each rehearing with
    the number of its voter.
    """
    debates = Debate.objects.filter(case=case, run__kind=RunKind.DEBATE, run__reheard_of=None)
    last = debates.select_related("run").order_by("-pk").first()
    left = unheard(last.run).get(last.pk, []) if last and last.run.is_over else []
    numbers = {vote.pk: number for number, vote in enumerate(voters(case), 1)}
    rows = Rehearing.objects.filter(case=case).exclude(_GIVEN_UP)
    heard = [
        (each, numbers.get(each.vote_id))
        for each in rows.select_related("debate__run", "vote").order_by("number")
    ]
    votes = [(numbers[each.pk], each) for each in left]
    return {"run": last.run if last else None, "votes": votes, "heard": heard, "most": STOP}


def _pool(run: DebateRun, votes: Collection[int]) -> Pool:
    taken = Pool.objects.filter(benchmark=run.benchmark).values_list("name", flat=True)
    pool = Pool.objects.create(
        benchmark=run.benchmark,
        name=unused_name(f"Disputes of run {run.pk} with people's reasons", taken)[:120],
        corpus_version_id=run.pool.corpus_version_id,
        of_aspects=run.pool.of_aspects,
        provenance={"kind": KIND, "run": run.pk, "pairs": len(votes)},
    )
    PoolEntry.objects.bulk_create(
        PoolEntry(
            pool=pool,
            query_id=each.query_id,
            passage_id=each.passage_id,
            aspect=each.aspect.k if each.aspect else None,
        )
        for each in run.debates.filter(pk__in=votes).select_related("aspect").order_by("pk")
    )
    return pool


def _link(run: DebateRun, made: DebateRun, votes: dict[int, Vote]) -> None:
    again = Rehearing.objects.filter(case__in=[vote.case_id for vote in votes.values()])
    again.filter(_GIVEN_UP).delete()
    taken = set(again.values_list("case", "number"))
    # The first that is free: one of a cancelled run may be given away again.
    free = {
        vote.case_id: next(n for n in count(1) if (vote.case_id, n) not in taken)
        for vote in votes.values()
    }
    old = {_asked(each): votes[each.pk] for each in run.debates.filter(pk__in=votes)}
    Rehearing.objects.bulk_create(
        Rehearing(debate=each, case_id=vote.case_id, vote=vote, number=free[vote.case_id])
        for each in made.debates.order_by("pk")
        if (vote := old.get(_asked(each))) is not None
    )


def _asked(debate: Debate) -> tuple[int, int, int | None]:
    return debate.query_id, debate.passage_id, debate.aspect_id


def rehearing_sheet(run: DebateRun) -> ReportTable:
    """What people's reasons changed in a run that heard them, and how often people were right."""
    rows = list(Rehearing.objects.filter(debate__run=run).select_related("debate", "case", "vote"))
    votes = Vote.objects.filter(pk__in=[each.vote_id for each in rows]).with_expert()
    experts: dict[int, int | None] = {
        each.pk: each.expert  # type: ignore[attr-defined]
        for each in votes
    }
    ended = [each for each in rows if each.debate.status != DebateStatus.WAITING]
    agreed = [each for each in ended if each.debate.label is not None]
    followed = [each for each in agreed if each.debate.label == each.vote.label]
    known = [each for each in rows if experts.get(each.vote_id) is not None]
    right = [each for each in known if experts[each.vote_id] == each.vote.label]
    turned = [each for each in agreed if each in known]
    to = pairs_url(run)

    def share(name: str, hits: int, of: int, **at: str) -> tuple[Cell, ...]:
        url = to(**at) if at else ""
        return text(name), Cell(hits, url=url), Cell(of), percent(proportion(hits, of))

    return ReportTable(
        name="rehearing",
        title="What people’s reasons changed",
        header=("What", "Cases", "Of", "Share"),
        rows=(
            share("Agents agree now", len(agreed), len(ended), status="agreed"),
            share("… with the person they heard", len(followed), len(agreed)),
            share(
                "… with the majority of people",
                sum(each.debate.label == each.case.label for each in agreed),
                len(agreed),
            ),
            share("People heard were right", len(right), len(known)),
            share(
                "Agents are right where they agree now",
                sum(each.debate.label == experts[each.vote_id] for each in turned),
                len(turned),
            ),
        )
        if rows
        else (),
        notes=(
            "Disputes that votes have closed, debated again with one more voter’s reason, without "
            "a name. Right: as an expert labelled it too. What agents say here is no label and no "
            f"vote; a case is debated again {STOP} times at most.",
        ),
    )
