"""`manage.py run_agent SLUG`: let a search agent answer a benchmark's queries, in this process."""

import json
from typing import Any

from django.core.management.base import CommandError, CommandParser

from corpus.management.named import benchmark_named
from corpus.models import Benchmark
from corpus.texts.tokens import CHARACTERS
from evaluation.agents import guests
from evaluation.agents.models import AgentRun
from evaluation.agents.services import candidates, retrievers, start_agent
from evaluation.tasks import AGENTS
from kit.errors import Refused
from kit.management.verbs import VerbCommand
from llm import endpoints
from llm.ledger.accounts import budget_of
from llm.management.asking import asking_arguments, asking_options, tell


class Command(VerbCommand):
    help = (
        "Let a search agent answer a benchmark's queries over a retrieval run that was computed "
        "here. Without a configured endpoint the practice model searches; with --guest an agent "
        "from outside, by tokens that are printed as JSON lines."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help="the benchmark")
        parser.add_argument("--retriever", default="", help="retrieval run by name; the first")
        parser.add_argument("--rounds", type=int, help="fixed rounds; the agent decides without")
        parser.add_argument("--domain", default="", help="its queries only")
        parser.add_argument("--sample", action="store_true", help="the fixed 25 queries a domain")
        parser.add_argument("--repetitions", type=int, default=1)
        parser.add_argument("--k", type=int, default=5, help="documents of a search")
        parser.add_argument("--snippet-tokens", type=int, default=2048)
        parser.add_argument("--tokenizer", default=CHARACTERS)
        parser.add_argument("--documents", action="store_true", help="offer get_document as well")
        parser.add_argument("--max-iterations", type=int, default=100, help="rounds at most")
        parser.add_argument("--guest", default="", help="open a run for an agent from outside")
        parser.add_argument("--tokens", type=int, help="new tokens of this guest run")
        parser.add_argument("--revoke", type=int, help="revoke the tokens of this guest run")
        parser.add_argument("--close", type=int, help="close this guest run")
        parser.add_argument("--name", default="")
        asking_arguments(parser, effort="medium")

    def handle(self, *args: Any, **options: Any) -> None:
        benchmark = benchmark_named(options["slug"])
        if self._let_guests(benchmark, options):
            return
        with endpoints.practice_if_unconfigured("agents") as first:
            asked = asking_options(options, first) | _asked(benchmark, options)
            run = start_agent(**asked)
            AGENTS.drive(run)
        faults = dict(run.items.exclude(error="").values_list("query__qid", "error"))
        more = {"name": run.name, "faults": faults}
        tell(self, run, run.items.all(), "Agent run", as_json=options["json"], **more)

    def _let_guests(self, benchmark: Benchmark, options: dict[str, Any]) -> bool:
        """Do what was asked about an agent from outside; False where nothing was."""
        if options["revoke"]:
            guests.revoke_tokens(run=agent_run_of(benchmark, options["revoke"]), actor=None)
        elif options["close"]:
            guests.close_run(run=agent_run_of(benchmark, options["close"]), actor=None)
        elif options["guest"] or options["tokens"]:
            if options["tokens"]:
                run = agent_run_of(benchmark, options["tokens"])
            else:
                asked = _asked(benchmark, options)
                run = guests.open_guest(agent=options["guest"], **asked)
                self.stderr.write(f"Guest run {run.pk} is open: {run.name}")
            for token in guests.issue_tokens(run=run, actor=None):
                self.stdout.write(json.dumps(token, ensure_ascii=False))
        else:
            return False
        return True


def agent_run_of(benchmark: Benchmark, pk: int) -> AgentRun:
    """The agent run of that number. Raises CommandError."""
    found = benchmark.agent_runs.filter(pk=pk).first()
    if found is None:
        raise CommandError("There is no such agent run.")
    return found


def _asked(benchmark: Benchmark, options: dict[str, Any]) -> dict[str, Any]:
    """What an agent is run on, whoever it is. Raises Refused."""
    known = retrievers(benchmark)
    named, domain = options["retriever"], options["domain"]
    retriever = known.filter(name=named).first() if named else known.first()
    if retriever is None:
        names = ", ".join(known.values_list("name", flat=True))
        raise Refused(f"Choose a computed run with --retriever: {names or 'none is here'}.")
    if domain and not benchmark.domains.filter(name=domain).exists():
        raise Refused(f"There is no domain {domain!r}.")
    kept = (
        *("rounds", "repetitions", "k", "snippet_tokens", "tokenizer", "documents"),
        *("max_iterations", "name"),
    )
    return {
        "benchmark": benchmark,
        "queries": candidates(benchmark, domain=domain, sample=options["sample"]),
        "retriever": retriever,
        "actor": None,
        "budget_usd": budget_of(options["budget"]),
        **{name: options[name] for name in kept},
    }
