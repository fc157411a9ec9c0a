"""Cleaning a corpus: the run, the pages it works on, what it changed, and where texts went."""

from decimal import Decimal
from typing import Final, Self

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from corpus.benchmarks.models import Benchmark, Domain
from corpus.texts.models import CorpusVersion, Document, Passage
from kit.runs.models import RunQuerySet, RunStatus
from llm.ledger.accounts import AskingRun

# Where DChunk has its vectors from: a model, or an analysis of the corpus itself.
BY_MODEL, BY_LSA = "model", "lsa"


# A count of pages: what was taken from the ledger, and is not in the run's own cost.
SHARED: Final = "answers that other runs paid for"


class CleaningPreset(models.TextChoices):
    """What is done with the texts (docs/protocol.md 4.6, 5.1)."""

    MARCUS = "marcus", "MARCUS: clean and split"
    MARCUS_C = "marcus_c", "MARCUS-C: clean alone"
    MARCUS_S = "marcus_s", "MARCUS-S: split alone"
    DIVER_RULES = "diver_rules", "DIVER: clean by rules"
    DCHUNK = "dchunk", "DIVER: semantic chunks"


class ViolationPolicy(models.TextChoices):
    """What is done where an agent changed gold text."""

    REPAIR = "repair", "repair it from the source"
    ORIGINAL = "original", "keep the original"
    PERSON = "person", "a person decides"


# One that failed may be resumed, and would pay at the same time for the same.
_OVER: Final = (RunStatus.DONE, RunStatus.CANCELLED)


class CleaningRunQuerySet(RunQuerySet):
    """Vocabulary for reading cleaning runs."""

    def calling(self) -> Self:
        """Cancelled runs with leftovers, too.

        Their version is dropped by a worker, under a lease so that one does it.
        """
        left = Q(status=RunStatus.CANCELLED, version__state="loading")
        free = Q(lease_until=None) | Q(lease_until__lt=timezone.now())
        found = super().calling() | self.filter(left, free)
        return found.filter(Q(follows=None) | Q(follows__status__in=_OVER))


class CleaningRun(AskingRun):
    """Makes a new corpus version out of another one.

    One that `follows` another begins when that is over: of one job, it takes from the ledger what
    the runs before it paid for, and no call is made twice.

    `config` holds what is frozen when the run is made: the agents' settings and the hashes of
    their prompts. `version` is loading until the run is done. The worker that leads the run lists
    what there is to do (`is_planned`) and publishes the version; `last_id` is the last page whose
    chunks it has written then.
    """

    task_name = "corpus.clean"
    page_route = "cleaning"
    noun = "cleaning"
    items_name = "pages"

    benchmark = models.ForeignKey(Benchmark, on_delete=models.PROTECT, related_name="cleaning_runs")
    source = models.ForeignKey(CorpusVersion, on_delete=models.PROTECT, related_name="cleanings")
    version = models.ForeignKey(
        CorpusVersion, null=True, on_delete=models.SET_NULL, related_name="made_by"
    )
    name = models.CharField(max_length=80)
    preset = models.CharField(max_length=12, choices=CleaningPreset.choices)
    policy = models.CharField(
        max_length=10, choices=ViolationPolicy.choices, default=ViolationPolicy.REPAIR
    )
    config = models.JSONField(default=dict)
    # Rules alone ask nobody.
    endpoint = models.CharField(max_length=60, blank=True, default="")
    model = models.CharField(max_length=120, blank=True, default="")
    follows = models.ForeignKey(
        "self", null=True, on_delete=models.SET_NULL, related_name="followers"
    )
    is_planned = models.BooleanField(default=False)
    last_id = models.BigIntegerField(default=0)
    # Counts and shares, whole when the run is done.
    figures = models.JSONField(default=dict)

    objects = CleaningRunQuerySet.as_manager()  # type: ignore[misc]

    def __str__(self) -> str:
        return self.name

    @property
    def cost_usd(self) -> Decimal | None:
        """What it cost with the runs of its job before it, whose answers it takes over.

        None where a call has no price, or where it took over what other runs paid for.
        """
        if not self.has_calls:
            return Decimal(0)
        before = self.follows
        taken_over = self.figures.get("counts", {}).get(SHARED) or not self.calls.exists()
        if taken_over and before is None:
            return None
        if (
            self.pages.filter(reused=True).exists()
            or self.calls.answered().filter(usd=None).exists()
        ):
            return None
        earlier = before.cost_usd if before else Decimal(0)
        return None if earlier is None else self.spent_usd + earlier

    @property
    def waits_for(self) -> "CleaningRun | None":
        """The run of its job that has to be over before it begins."""
        before = self.follows
        return before if before and before.status not in _OVER else None

    def claim(self) -> bool:
        """As any run, unless one of its job has to be over first."""
        return self.waits_for is None and super().claim()

    @property
    def can_cancel(self) -> bool:
        """Whether a person may still stop it, or give up what it has half made."""
        return super().can_cancel or self.status == RunStatus.FAILED

    @property
    def asked(self) -> list[tuple[str, str]]:
        """Its endpoint with its model, and the splitter where that is another one."""
        splitter = self.config.get("splitter")
        return (
            [*super().asked, (splitter["endpoint"], splitter["model"])]
            if splitter
            else super().asked
        )

    @property
    def has_agents(self) -> bool:
        """Whether language models are asked."""
        return self.preset.startswith("marcus")

    @property
    def has_calls(self) -> bool:
        """Whether an endpoint is asked at all, for texts or for vectors."""
        # Runs of before the choice asked for all vectors.
        by_model = self.config.get("embedder", BY_MODEL) == BY_MODEL
        return self.has_agents or (self.preset == CleaningPreset.DCHUNK and by_model)


class PageState(models.TextChoices):
    """Where a page of a run is; HELD pages wait for a person, failed ones are cleaned by rules."""

    WAITING = "waiting", "waiting"
    DONE = "done", "cleaned"
    HELD = "held", "waits for a person"
    FAILED = "failed", "not cleaned by agents"


class CleanedPage(models.Model):
    """One page on its way through the agents.

    `passages` are the keys of its passages; `digest` shows whether an earlier run has worked on
    the very same page in the same way; `result` holds the chunks, {"chunks": [{pid, text, gold,
    holds: [[pid, tokens, of, carries]], tables}]}, and the agents' texts where a person has
    to compare them.
    """

    run = models.ForeignKey(CleaningRun, on_delete=models.CASCADE, related_name="pages")
    domain = models.ForeignKey(Domain, on_delete=models.PROTECT, related_name="+")
    page_id = models.CharField(max_length=500)
    # The page's own text, where it was loaded.
    document = models.ForeignKey(Document, null=True, on_delete=models.PROTECT, related_name="+")
    passages = models.JSONField(default=list)
    state = models.CharField(max_length=8, choices=PageState.choices, default=PageState.WAITING)
    is_gold = models.BooleanField(default=False)
    digest = models.CharField(max_length=64, blank=True, default="")
    result = models.JSONField(default=dict)
    flags = models.JSONField(default=list)
    counts = models.JSONField(default=dict)
    # Taken over from an earlier run that had cleaned the same page.
    reused = models.BooleanField(default=False)
    error = models.TextField(blank=True, default="")

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["run", "domain", "page_id"], name="cleaned_page_once"),
        ]
        indexes = [
            models.Index(fields=["run", "state", "id"], name="cleaned_page_waiting"),
            models.Index(fields=["digest"], condition=Q(state="done"), name="cleaned_page_again"),
        ]

    def __str__(self) -> str:
        return self.page_id


class Violation(models.Model):
    """A place where an agent's text departs from gold, and what became of it.

    `stage`, `part`, `window` and `number` name the place the same way each time the page is worked
    on; `start` to `out_end` count in the two texts that were compared. Repairs of garbled
    characters and tables put in words are listed too, with `is_violation` false.
    """

    class Decision(models.TextChoices):
        """What became of it."""

        OPEN = "", "open"
        ACCEPTED = "accepted", "the agent's text"
        REPAIRED = "repaired", "repaired from the source"
        ORIGINAL = "original", "original kept"

    page = models.ForeignKey(CleanedPage, on_delete=models.CASCADE, related_name="violations")
    stage = models.CharField(max_length=12)
    part = models.PositiveIntegerField()
    window = models.PositiveIntegerField()
    number = models.PositiveIntegerField()
    kind = models.CharField(max_length=12)
    is_violation = models.BooleanField(default=True)
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    out_start = models.PositiveIntegerField()
    out_end = models.PositiveIntegerField()
    source = models.TextField(blank=True)
    output = models.TextField(blank=True)
    decision = models.CharField(
        max_length=10, choices=Decision.choices, blank=True, default=Decision.OPEN
    )
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    decided_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["page", "stage", "part", "window", "number"], name="violation_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} in {self.page_id}"


class Crosswalk(models.Model):
    """Which passage of a version holds how much of which passage of the version before it.

    `carries`: `new` inherits the labels, gold and aspects of `old` (docs/protocol.md 4.5).
    `tokens` of the old passage's `of` are in the new one; both are 0 where all of it is.
    """

    version = models.ForeignKey(CorpusVersion, on_delete=models.CASCADE, related_name="crosswalk")
    old = models.ForeignKey(Passage, on_delete=models.PROTECT, related_name="became")
    new = models.ForeignKey(Passage, on_delete=models.CASCADE, related_name="came_from")
    tokens = models.PositiveIntegerField(default=0)
    of = models.PositiveIntegerField(default=0)
    carries = models.BooleanField(default=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["old", "new"], name="crosswalk_once"),
        ]

    def __str__(self) -> str:
        return f"passage {self.old_id} became {self.new_id}"
