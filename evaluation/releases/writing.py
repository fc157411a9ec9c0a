"""Writing the folder of a release from a frozen view. No person is named in it."""

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from annotate.answers.models import AnswerAuthor
from annotate.models import ReferenceAnswer
from corpus.models import Domain, RetrievalRun
from debate.answering.asking import default_prompt, prompt_text
from evaluation.content import inherited_rows
from evaluation.content.evidence import (
    Pseudonym,
    pseudonyms,
    read_evidence,
    read_machine_evidence,
)
from evaluation.content.reading import (
    first_stage,
    read_documents,
    read_licences,
    read_provenance,
    read_queries,
    read_requests,
)
from evaluation.content.reviewed import courses_in, read_course, read_reviews, second_reviews
from evaluation.content.view import View
from evaluation.exporters import beir, bright_pro, croissant, ready, trec, votes
from evaluation.exporters.chain import FILE as CHAIN_FILE
from evaluation.exporters.chain import write_chain
from evaluation.exporters.documents import write_documents
from evaluation.exporters.faults import BLOCKING, Fault, find_faults, merged
from evaluation.exporters.files import file_sums, same_file, write_jsonl, write_sums
from evaluation.exporters.licences import write_licences
from evaluation.exporters.rankllm import write_requests
from evaluation.exporters.records import QueryRecord, Statistics, count, total
from evaluation.releases.card import render_card, render_licence
from evaluation.releases.findings import (
    agreement_fault,
    audit_fault,
    database_faults,
    family_fault,
    label_checks,
    licence_fault,
    renamed_as_inherited,
    unconfirmed_faults,
    unverified,
    vote_kappa,
)
from evaluation.verification.folder import verify
from kit.errors import Refused

_PARAMETERS: Final = (
    *("temperature", "top_p", "max_tokens", "seed", "reasoning_effort", "replicate"),
)


def read_origins(
    domain: Domain, queries: Iterable[QueryRecord], without: Collection[int] = ()
) -> Iterator[dict[str, Any]]:
    """One row for each query of the domain with a published answer, in their order.

    `text_sha256` is that of the answer as it is published, with ids of the version in its
    citations; of what a model wrote, or a person began from a model's, the model, the hash of the
    prompt, and what else the request set.
    """
    chosen = {
        each.query_id: each
        for each in ReferenceAnswer.objects.chosen()
        .filter(query__domain=domain)
        .exclude(pk__in=without)
        .select_related("call", "based_on")
    }
    for query in queries:
        if text := query.reference_answer:
            digest = hashlib.sha256(text.encode()).hexdigest()
            yield {"query_id": query.qid, "text_sha256": digest, **_origin(chosen.get(query.pk))}


def _origin(answer: ReferenceAnswer | None) -> dict[str, Any]:
    if answer is None:
        return {"author": "import"}
    found: dict[str, Any] = {"author": answer.author}
    if answer.author == AnswerAuthor.PERSON:
        found["begun_from"] = answer.begun_from
    # The version by a model that this is, or goes back to.
    maker: ReferenceAnswer | None = answer
    while maker is not None and maker.author != AnswerAuthor.MODEL:
        maker = maker.based_on
    if maker is None:
        return found
    found |= {
        "model": maker.model,
        "practice": maker.practice,
        "prompt_version": maker.prompt_version,
        "prompt_sha256": maker.prompt_sha256,
    }
    if maker.call is not None:
        asked = maker.call.request
        found["request_key"] = maker.call.key
        found["parameters"] = {name: asked[name] for name in _PARAMETERS if name in asked}
    return found


# Gets how many passages of how many are written; may raise to stop the build.
Step = Callable[[int, int], None]
NOTHING = "There is nothing to release yet: this benchmark has no queries. Import some first."


@dataclass
class _Builder:
    view: View
    folder: Path
    step: Step
    name: Pseudonym
    first_stage: RetrievalRun | None
    done: int = 0
    total: int = 0
    courses: set[int] = field(default_factory=set)
    prompts: set[str] = field(default_factory=set)
    voted: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    # How much machine gold is there by (source, models).
    machine: Counter[tuple[str, tuple[str, ...]]] = field(default_factory=Counter)
    splits: dict[str, Statistics] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    configurations: dict[str, list[str]] = field(
        default_factory=lambda: {"examples": [], "aspects": [], "documents": []}
    )

    def write_split(self, split: str, domain: Domain) -> None:
        queries = read_queries(self.view, domain)
        self._write_gold(split, queries)
        write_jsonl(self.folder / f"provenance/{split}.jsonl", read_provenance(self.view, domain))
        evidence = self._noting(split, read_evidence(self.view, domain, self.name))
        write_jsonl(self.folder / f"evidence/{split}.jsonl", evidence)
        # Of the split's answers, where there are any, and the prompts of those by a model.
        origins = list(read_origins(domain, queries, self.view.left_out.answers))
        if origins:
            write_jsonl(self.folder / f"evidence/answers/{split}.jsonl", origins)
        self.prompts |= {each["prompt_sha256"] for each in origins if "prompt_sha256" in each}
        if reviews := list(read_reviews(split, domain, self.name, self.view.left_out)):
            write_jsonl(self.folder / f"evidence/reviews/{split}.jsonl", reviews)
        if self.view.is_derived:
            rows = inherited_rows.evidence_rows(self.view, domain, self.name)
            write_jsonl(self.folder / f"carried/{split}.jsonl", self._noting(split, rows))
        self._write_machine_gold(split, queries)
        documents = self._write_documents(split, domain)
        self._write_requests(split, domain, queries)
        self.faults += renamed_as_inherited(self.view, find_faults(split, queries))
        self.faults += database_faults(self.view, split, domain)
        self.splits[split] = count(queries, documents)

    def _noting(self, split: str, rows: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        for row in rows:
            self.courses.update(courses_in(row))
            self.voted += ((split, each) for each in votes.voted_rows(row))
            yield row

    def write_votes(self) -> str:
        """The chain of votes, where there are any; its end."""
        lines = votes.chained(self.voted)
        if not lines:
            return ""
        write_jsonl(self.folder / votes.FILE, lines)
        return str(lines[-1]["link"])

    def write_prompts(self) -> None:
        """The prompt behind published answers; of those of before there is the hash alone."""
        sha256 = default_prompt().sha256
        if sha256 in self.prompts:
            path = self.folder / f"evidence/prompts/{sha256}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(prompt_text().encode())

    def write_courses(self) -> None:
        """The LARA runs that any label of the release is of."""
        for pk in sorted(self.courses):
            write_jsonl(self.folder / f"evidence/courses/{pk}.json", [read_course(pk)])

    def _write_gold(self, split: str, queries: list[QueryRecord]) -> None:
        shape = self.view.shape
        examples, aspects = self._path("examples", split), self._path("aspects", split)
        self._note("examples", split, bright_pro.write_examples(examples, queries, shape))
        self._note("aspects", split, bright_pro.write_aspects(aspects, split, queries, shape))
        bright_pro.write_bridge(self.folder / f"bridge/{split}.jsonl", queries)
        for name, view in trec.VIEWS.items():
            trec.write_view(self.folder / f"qrels/{split}.{name}.txt", queries, view)
        trec.write_subtopics(self.folder / f"qrels/{split}.aspects.txt", queries)
        if not self.view.is_derived:  # else they are those of other passages
            imported = self.folder / f"qrels/{split}.subtopics.txt"
            trec.write_imported_subtopics(imported, queries)
        beir.write_gold(self.folder / f"beir/{split}", queries)

    def _write_machine_gold(self, split: str, queries: list[QueryRecord]) -> None:
        """Where there is some: a configuration of its own, and in no other file."""
        name = bright_pro.MACHINE
        if rows := bright_pro.write_machine_gold(self._path(name, split), split, queries):
            evidence = self._noting(split, read_machine_evidence(queries, self.name))
            write_jsonl(self.folder / f"evidence/{name}/{split}.jsonl", evidence)
            self._note(name, split, rows)
        gold = [each for query in queries for each in query.machine_gold.values()]
        self.machine.update((each.source, each.models) for each in gold)

    def _write_requests(self, split: str, domain: Domain, queries: list[QueryRecord]) -> None:
        """For rerankers, where BM25 was computed here over these texts."""
        if self.first_stage is not None:
            excluded = {query.pk: query.excluded for query in queries}
            requests = read_requests(self.first_stage, domain, self.view.passages, excluded)
            write_requests(self.folder / f"rankllm/{split}.jsonl", requests)

    def _write_documents(self, split: str, domain: Domain) -> int:
        before, corpus = self.done, self.folder / f"beir/{split}/corpus.jsonl"
        written = write_documents(
            self._path("documents", split),
            corpus,
            read_documents(self.view, domain),
            step=lambda n: self.step(before + n, self.total),
        )
        self.done = before + written
        # BRIDGE's corpora have the same lines; a second name takes no second place.
        same_file(corpus, self.folder / f"bridge/{split}_corpus.jsonl")
        self._note("documents", split, written)
        return written

    def _path(self, configuration: str, split: str) -> Path:
        return self.folder / configuration / f"{split}.parquet"

    def _note(self, configuration: str, split: str, rows: int) -> None:
        if rows:
            self.configurations.setdefault(configuration, []).append(split)


def write_release(
    view: View,
    folder: Path,
    *,
    version: str,
    is_draft: bool,
    step: Step,
    bar: float | None = None,
    chain: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """Write every file of a release into `folder`, which must not exist; what its row keeps of it.

    `bar` is the minimum agreement of voters, `chain` the steps that led here. The same view
    gives the same bytes. What was written is verified as `verify_release` does it; rows that
    differ are a fault.
    Raises Refused where there is nothing to release.
    """
    name = pseudonyms(view.benchmark.slug, version)
    # Both are counted in indexes; passages with a text could only be looked at one by one.
    total_documents = view.passages.count() - view.passages.filter(text__isnull=True).count()
    builder = _Builder(view, folder, step, name, first_stage(view), total=total_documents)
    folder.mkdir(parents=True)
    for split, domain in view.splits.items():
        step(builder.done, builder.total)
        builder.write_split(split, domain)
    builder.write_courses()
    builder.write_prompts()
    searched = [split for split, of in builder.splits.items() if of.documents and of.gold]
    ready.write_tools(folder / "tools", view.benchmark.slug, version, searched)
    end_of_votes = builder.write_votes()
    if chain:
        write_chain(folder / CHAIN_FILE, chain)
    whole = total(builder.splits.values())
    if not whole.queries:
        raise Refused(NOTHING)
    benchmark, left_out = view.benchmark, view.left_out
    agreement = vote_kappa(benchmark, without=left_out.votes)
    rows = read_licences(view.splits)
    faults = merged(
        [
            *builder.faults,
            *agreement_fault(agreement[1], bar),
            *audit_fault(benchmark),
            *family_fault(benchmark),
            *licence_fault(benchmark, rows),
            *unconfirmed_faults(view),
        ]
    )
    write_licences(folder, rows, benchmark.licence, view.splits)
    card = partial(
        render_card,
        view,
        version=version,
        is_draft=is_draft,
        configurations=builder.configurations,
        splits=builder.splits,
        machine=builder.machine,
        votes=agreement,
        end_of_votes=end_of_votes,
        first_stage=builder.first_stage.name if builder.first_stage else "",
        bar=bar,
        chain=chain,
        reviews=second_reviews(benchmark, left_out),
        checks=label_checks(benchmark, without=left_out.votes),
        rows=rows,
    )
    (folder / "LICENCE.md").write_bytes(
        render_licence(benchmark.licence, rows, list(view.splits)).encode()
    )
    (folder / "README.md").write_bytes(card(faults=faults).encode())
    # A final release that is refused already need not be verified as well.
    if is_draft or not any(each.check in BLOCKING for each in faults):
        found = verify(folder, checksums=False).differences
        faults = merged([*faults, *unverified(found)])
        (folder / "README.md").write_bytes(card(faults=faults).encode())
    sums = file_sums(folder)
    croissant.write_croissant(
        folder / croissant.FILE,
        name=benchmark.name,
        version=version,
        description=benchmark.description,
        licence=benchmark.licence,
        rows=rows,
        is_draft=is_draft,
        configurations=builder.configurations,
        schemas=bright_pro.schemas(view.shape),
        sums=sums,
    )
    step(builder.total, builder.total)
    splits = {split: each.as_json() for split, each in builder.splits.items()}
    return {
        "done": whole.documents,
        "total": whole.documents,
        "counts": {**whole.as_json(), "splits": splits},
        "faults": [each.as_json() for each in faults],
        "files": write_sums(folder, sums),
    }
