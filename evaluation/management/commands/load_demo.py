"""The demo benchmark with its five people, on the first start of an empty Assay."""

from collections import defaultdict
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandParser
from django.db import transaction

from annotate.exams.bank import draw_items
from annotate.models import EscalationCase, VotingPlan
from annotate.panels.services import draw_panel, open_panel
from annotate.plans.services import choose_checks
from annotate.voting.services import cast_vote
from corpus.access import enter
from corpus.benchmarks.services import add_person, remove_person
from corpus.cleaning.services import start_cleaning
from corpus.computing import services as computing
from corpus.computing.models import Method
from corpus.models import (
    Benchmark,
    CleaningPreset,
    CorpusVersion,
    Judgment,
    Passage,
    Pool,
    PoolEntry,
    Query,
    Role,
)
from debate.dream import Verdict
from debate.models import DebateRun, RunKind
from debate.references import PEOPLE as BY_PEOPLE
from debate.runs.configuration import RunConfig
from debate.runs.outcomes import Outcome, store_outcomes
from debate.runs.planning import plan_run, start_planned
from debate.runs.services import start_run
from evaluation.agents.judging import start_judging
from evaluation.chain.services import start_chain
from evaluation.experiments.services import create_experiment
from evaluation.releases.building import carry_out
from evaluation.releases.services import start_here
from evaluation.training.services import start_training
from llm import endpoints

SLUG = "garden-weather"
FOLDER = Path(settings.BASE_DIR) / "corpus" / "demo"
PEOPLE = {
    "annotator-1": Role.ANNOTATOR,
    "annotator-2": Role.ANNOTATOR,
    "annotator-3": Role.ANNOTATOR,
    "reviewer": Role.REVIEWER,
    "admin": Role.ADMIN,
}
# Versions, and whether they are final.
RELEASES = {"0.0.1": False, "0.0.2": True}
MADE_UP_POOL = "Made-up votes: gold and gold of others"
# Accounts of nobody: in the votes that the demo makes up, each is wrong once in so many.
MADE_UP = {"made-up-votes-1": 12, "made-up-votes-2": 7, "made-up-votes-3": 5}
# Two systems that differ in what they make of long passages.
SYSTEMS: dict[str, dict[str, Any]] = {
    "BM25": {},
    "BM25 without length normalisation": {"b": 0.0},
}
# A chain over both; steps that ask models only where these are free.
POOL = """\
[[step]]
do = "pool"
depth = 2

[[step]]
do = "holes"
"""
MODELS = """
[[step]]
do = "debate"
preset = "dream"            # a trial: whom it leaves disputed nobody is asked about

[[step]]
do = "agents"
rounds = 3

[[step]]
do = "judge"

[[step]]
do = "answers"
k = 10

[[step]]
do = "grade"

[[step]]
do = "pipeline"
preset = "v1"
retriever = "BM25"
depth = 5

[[step]]
do = "references"

[[step]]
do = "support"
of = "references"
"""
RELEASE = """
[[step]]
do = "release"
version = "0.0.3"
"""
# What DREAM's experiments change, each beside another in one thing: the preset, and settings. Of
# these pairs the order moves one between four agents, who hold on longer (docs/protocol.md 8).
ABLATIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "two agents": ("dream", {}),
    "temperature 1": ("temperature-1", {}),
    "a history without labels": ("dream", {"history_labels": False}),
    "four agents": ("agents-4", {}),
    "four agents, irrelevant opens": ("agents-4", {"first": "irrelevant"}),
}


class Command(BaseCommand):
    help = (
        "Load the demo benchmark if this Assay holds nothing yet, and print one-time sign-in "
        "links for its five people."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--full",
            action="store_true",
            help="as a first start does: with a reference panel and an experiment, which take the "
            "next numbers of cases and debate runs",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        # Nothing is here, or only the demo's texts, from a first start that was killed.
        others = Benchmark.objects.exclude(slug=SLUG)
        if not User.objects.exists() and not others.exists():
            self.stdout.write("First start: loading the demo benchmark.")
            self._load(is_full=options["full"])
        here = User.objects.filter(username__in=PEOPLE, memberships__benchmark__slug=SLUG)
        if here.count() == len(PEOPLE):
            self.stdout.write("\nOne-time sign-in links for the demo:")
            call_command("sign_in_link", *PEOPLE, stdout=self.stdout)

    def _load(self, *, is_full: bool) -> None:
        call_command(
            "load_benchmark",
            str(FOLDER),
            format="bright_pro",
            benchmark=SLUG,
            name="Garden & weather",
            stdout=StringIO(),
        )
        benchmark = Benchmark.objects.get(slug=SLUG)
        _first_releases(benchmark)
        with transaction.atomic():
            for username, role in PEOPLE.items():
                add_person(benchmark=benchmark, username=username, roles=[role], actor=None)
            _first_exam(benchmark)
            _no_checks(benchmark)
            pool = benchmark.pools.first()
            # Never on somebody's paid endpoint without being asked.
            is_free = not (settings.OPENAI_BASE_URL or settings.OPENAI_API_KEY)
            if pool is not None and is_free:
                _first_run(benchmark, pool)
            _first_votes(benchmark)
            _first_systems(benchmark)
            _first_chain(benchmark, is_free=is_free)
            if is_free:
                _first_training(benchmark)
            if is_full:
                _first_panel(benchmark)
            if is_full and is_free:
                _first_experiment(benchmark)
            _first_cleaning(benchmark)


def _first_run(benchmark: Benchmark, pool: Pool) -> None:
    """Queue one debate run, so that people find disputes to vote on."""
    start_run(
        benchmark=benchmark,
        pool=pool,
        endpoint=endpoints.practice(""),  # its address is the worker's business
        actor=None,
        name="First run: the demo's pairs, two agents, two rounds",
    )


def _first_chain(benchmark: Benchmark, *, is_free: bool) -> None:
    """Queue the chain from both systems to a draft that holds how it came about, by way of models
    where they are free, and then a trial of the judge of agents."""
    plan = f"{POOL}{MODELS if is_free else ''}{RELEASE}"
    start_chain(benchmark=benchmark, plan=plan, name="From systems to a draft", actor=None)
    if is_free:
        practice = endpoints.practice("")
        start_judging(benchmark=benchmark, agent_run=None, endpoint=practice, actor=None)


def _first_releases(benchmark: Benchmark) -> None:
    """A draft and a final release of the texts as they were loaded, made here in a moment."""
    here = set(benchmark.releases.values_list("version", flat=True))
    for version, final in RELEASES.items():
        folder = Path(settings.RELEASES) / SLUG / version
        if version not in here:
            carry_out(start_here(benchmark=benchmark, version=version, folder=folder, final=final))


def _first_exam(benchmark: Benchmark) -> None:
    """Questions for an exam and for practice, drawn from the gold; nobody is asked to pass it."""
    admin = User.objects.get(username="admin")
    for domain in benchmark.domains.all():
        draw_items(domain=domain, actor=admin, count=10)
        draw_items(domain=domain, actor=admin, count=4, practice=True)


def _no_checks(benchmark: Benchmark) -> None:
    """Newcomers vote at once: nothing gates the labels of a demo."""
    admin = User.objects.get(username="admin")
    choose_checks(
        benchmark=benchmark, actor=admin, exam=False, batches=False, consent=False, audit=False
    )


def _first_votes(benchmark: Benchmark) -> None:
    """Made-up votes on pairs of known labels, enough to read an agreement with its interval of.

    They are cast from accounts that nobody can sign in to and that are no members afterwards, and
    their labels are marked as the practice model's are.
    """
    voters = []
    for name in MADE_UP:
        add_person(benchmark=benchmark, username=name, roles=[Role.ANNOTATOR], actor=None)
        voters.append(enter(User.objects.get(username=name), SLUG))
    truth = _known_pairs(benchmark)
    run = _before_people(benchmark, list(truth))
    plan = VotingPlan.objects.current(benchmark)
    cases = EscalationCase.objects.filter(pk__in=run.debates.values("case")).order_by("pk")
    cases = cases.select_related("query__domain__benchmark", "passage")
    for number, case in enumerate(cases):
        right = truth[case.query, case.passage]
        for access, every in zip(voters, MADE_UP.values(), strict=True):
            label = 1 - right if number % every == every - 1 else right
            cast_vote(
                case=case, voter=access.user, label=label, access=access, plan=plan, made_up=True
            )
    for access in voters:
        remove_person(membership=access.membership, actor=None)
    User.objects.filter(username__in=MADE_UP).update(is_active=False)


def _before_people(benchmark: Benchmark, pairs: list[tuple[Query, Passage]]) -> DebateRun:
    """A run of people alone over these pairs, with a case of each."""
    pool = Pool.objects.create(benchmark=benchmark, name=MADE_UP_POOL)
    PoolEntry.objects.bulk_create(
        PoolEntry(pool=pool, query=query, passage=passage) for query, passage in pairs
    )
    run = start_run(
        benchmark=benchmark,
        pool=pool,
        endpoint=endpoints.practice(""),
        actor=None,
        name="Made-up votes: people alone",
        config=RunConfig(kind=RunKind.HUMAN_ONLY),
        claimed=True,
    )
    keys = run.debates.values_list("pk", flat=True)
    store_outcomes(run=run, outcomes=[Outcome(pk, Verdict("escalated")) for pk in keys])
    run.finish(done=len(pairs))
    return run


def _known_pairs(benchmark: Benchmark) -> dict[tuple[Query, Passage], int]:
    """A gold passage of each query (1) and gold of another (0), none from a pool."""
    gold = Judgment.objects.original().filter(query__domain__benchmark=benchmark, label=1)
    of_query: defaultdict[Query, list[Passage]] = defaultdict(list)
    for judgment in gold.select_related("query", "passage").order_by("pk"):
        of_query[judgment.query].append(judgment.passage)
    pooled = set(PoolEntry.objects.values_list("query", "passage"))
    found: dict[tuple[Query, Passage], int] = {}
    for query, own in of_query.items():
        other = [
            passage
            for each, passages in of_query.items()
            if each.domain_id == query.domain_id
            for passage in passages
            if passage not in own
        ]
        for passages, label in ((own, 1), (other, 0)):
            free = (each for each in passages if (query.pk, each.pk) not in pooled)
            found |= {(query, passage): label for passage in islice(free, 1)}
    return found


def _first_systems(benchmark: Benchmark) -> None:
    """Two retrieval runs, made here in a moment; the chain has them scored."""
    for name, config in SYSTEMS.items():
        found = computing.start(
            benchmark=benchmark,
            method=Method.BM25,
            config=config,
            name=name,
            actor=None,
            claimed=True,
        )
        computing.run_computation(found)


def _first_panel(benchmark: Benchmark) -> None:
    """A reference panel that is open: a pair of each query, which no expert has labelled yet."""
    admin = User.objects.get(username="admin")
    panel = draw_panel(
        benchmark=benchmark,
        actor=None,
        name="One pair of each query",
        practice_items=2,
        shows_hints=False,
    )
    open_panel(panel=panel, access=enter(admin, SLUG))


def _first_experiment(benchmark: Benchmark) -> None:
    """Queue ablations of a debate over the pairs whose votes are made up, which they are compared
    with."""
    pool = benchmark.pools.get(name=MADE_UP_POOL)
    runs = []
    for name, (preset, settings_) in ABLATIONS.items():
        plan = plan_run(
            benchmark=benchmark,
            pool=pool,
            endpoint=endpoints.practice(""),
            preset=preset,
            settings=settings_,
            name=f"Ablation: {name}",
        )
        runs.append(start_planned(plan=plan, actor=None))
    create_experiment(
        benchmark=benchmark,
        name="Ablations of a debate, beside made-up votes",
        reference=BY_PEOPLE,
        runs=runs,
        actor=None,
    )


def _first_training(benchmark: Benchmark) -> None:
    """Queue training data of labelled passages and of written ones."""
    start_training(
        benchmark=benchmark, source=None, endpoint=endpoints.practice(""), actor=None, labels=3
    )


def _first_cleaning(benchmark: Benchmark) -> None:
    """Queue a version cleaned by rules, which ask no model; the loaded texts stay the current."""
    source = CorpusVersion.objects.current(benchmark)
    assert source is not None  # it was loaded just now
    preset = CleaningPreset.DIVER_RULES
    start_cleaning(benchmark=benchmark, source=source, preset=preset, actor=None)
