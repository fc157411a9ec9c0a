"""The content of a benchmark as a release holds it, read domain by domain.

Of every pair it reads the label in the current original gold and the one given since; how the
base, refined and expert view follow from these is defined in evaluation/exporters/records.py.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.db.models import Exists, OuterRef, Q

from annotate.answers.evidence import Published, answers_in
from annotate.candidates.inherited import machine_gold_in
from annotate.models import Aspect, CaseStatus, EscalationCase, GoldPassage, SupportLabel
from annotate.support.models import SupportLabelQuerySet
from corpus.computing.models import Method
from corpus.importers.rows import LAYERS, LicenceRow, Location
from corpus.judgments.models import Source
from corpus.judgments.shown import shown_labels
from corpus.models import Domain, Judgment, Licence, RankedList, RetrievalRun, Status
from corpus.texts.models import PassageQuerySet
from corpus.versions.excluded import excluded_in
from evaluation.content import inherited_rows, inherited_view
from evaluation.content.unconfirmed import NOTHING, Unconfirmed, unconfirmed
from evaluation.content.view import View
from evaluation.exporters.documents import Document
from evaluation.exporters.provenance import CODE, provenance_row
from evaluation.exporters.rankllm import DEPTH, Candidate, Request
from evaluation.exporters.records import EXPERT, AspectRecord, Label, MachineGold, QueryRecord
from kit.database.reading import in_key_order

_QUERIES_AT_ONCE = 20


def first_stage(view: View) -> RetrievalRun | None:
    """The newest BM25 run that was computed here over the view's corpus version."""
    runs = RetrievalRun.objects.filter(
        benchmark=view.benchmark,
        corpus_version=view.corpus.key if view.corpus else None,
        computation__method=Method.BM25,
    )
    return runs.order_by("-pk").first()


def read_requests(
    run: RetrievalRun,
    domain: Domain,
    passages: PassageQuerySet,
    excluded: Mapping[int, Collection[str]],
) -> Iterator[Request]:
    """A request for each query of the domain that the run ranks, in the order they were loaded.

    Its candidates are the first DEPTH ids that the query (by its key) does not exclude, as far as
    they have a text. Where the run has no scores, they are 1 over the rank.
    """
    rows = RankedList.objects.filter(run=run, query__domain=domain).order_by("query_id")
    columns = ("query_id", "query__qid", "query__text", "pids", "scores")
    known = passages.with_text().filter(domain=domain).order_by()
    for key, qid, text, pids, scores in rows.values_list(*columns).iterator(_QUERIES_AT_ONCE):
        given = scores or [1 / rank for rank in range(1, len(pids) + 1)]
        out = set(excluded.get(key, ()))
        ranked = [each for each in zip(pids, given, strict=True) if each[0] not in out][:DEPTH]
        found = known.filter(pid__in=[pid for pid, _ in ranked])
        about = found.values_list("pid", "title", "text")
        texts = {pid: (title, words or "") for pid, title, words in about}
        candidates = [Candidate(pid, float(of), *texts[pid]) for pid, of in ranked if pid in texts]
        yield Request(qid, text or "", candidates)


# Rows fetched at a time: what is held of a corpus, whatever its size.
CHUNK = 2_000


def read_queries(
    view: View, domain: Domain, *, only: int | None = None, with_answers: bool = True
) -> list[QueryRecord]:
    """The domain's queries in the order they were loaded, with labels and aspects.

    With `only`, the one query of that key; scores need no reference answers.
    """
    condition = Q() if only is None else Q(query=only)
    labels, aspects = _labels(view, domain, condition), _aspects(view, domain, condition)
    machine = _machine_gold(view, domain, only)
    queries = domain.queries.order_by("pk")
    queries = queries if only is None else queries.filter(pk=only)
    columns = ("pk", "qid", "text", "answers", "excluded_ids")
    # Ids of a derived version are those of the passages that take over the excluded ones.
    renamed = (
        {
            pk: sorted(pids)
            for pk, pids in excluded_in(view.corpus, queries, without=view.left_out.labels).items()
        }
        if view.corpus is not None and view.is_derived
        else {}
    )
    published = (
        answers_in(view.corpus, domain, only=only, without=view.left_out.answers)
        if with_answers
        else {}
    )
    return [
        QueryRecord(
            pk=pk,
            qid=qid,
            text=text,
            answers=tuple(answers),
            reference_answer=(answer := published.get(pk, Published())).text,
            cited=answer.cited,
            lost_citations=answer.lost_citations,
            practice_answer=answer.practice,
            excluded=(out := tuple(renamed.get(pk, excluded))),
            labels=tuple(labels.get(pk, ())),
            aspects=_with_machine_gold(
                tuple(_by_subtopics(aspects.get(pk, ()), labels.get(pk, ()))),
                machine.get(pk, {}),
                out,
            ),
        )
        for pk, qid, text, answers, excluded in queries.values_list(*columns)
    ]


def read_documents(view: View, domain: Domain) -> Iterator[Document]:
    """Every passage with text as DOCUMENTS names its columns, in the order they were loaded."""
    part = view.passages.filter(domain=domain)
    columns = ("pid", "text", "title", "from_address", "from_day")
    return in_key_order(part.with_text().with_source(), *columns, part=part)  # type: ignore[return-value]


def read_licences(splits: Mapping[str, Domain]) -> list[LicenceRow]:
    """Licences of the layers of these domains, under the names of their splits."""
    rows = Licence.objects.filter(domain__in=splits.values()).order_by("pk")
    names = {domain.pk: split for split, domain in splits.items()}
    found = [
        LicenceRow(
            domain=names[row.domain_id],
            layer=row.layer,
            name=row.name,
            location=Location("database"),
            url=row.url,
            attribution=row.attribution,
            text=row.text,
        )
        for row in rows
    ]
    return sorted(found, key=lambda row: (LAYERS.index(row.layer), row.domain))


def read_provenance(view: View, domain: Domain) -> Iterator[dict[str, Any]]:
    """Every label that stands or stood; trials and golds that are not current stay out.

    In a derived version the inherited ones say from where.
    """
    if view.is_derived:
        yield from inherited_rows.provenance(view, domain)
        return
    current = Q(source=Source.ORIGINAL, gold_version__is_current=True)
    given = Q(status__in=(Status.STANDING, Status.SUPERSEDED)) & ~Q(source=Source.ORIGINAL)
    rows = view.labels(domain).filter(current | given).order_by("query_id", "passage_id", "pk")
    columns = ("label", "source", "status", "round", "practice", "provenance")
    found = rows.values_list("pk", "query__qid", "passage__pid", *columns)
    for pk, *row in found.iterator(chunk_size=CHUNK):
        line = provenance_row(*row)
        if pk in view.left_out.labels.instead:
            line["status"] = Status.STANDING.value
        yield line


def _labels(view: View, domain: Domain, condition: Q) -> dict[int, list[Label]]:
    """Labels by query, sorted by passage id."""
    pairs: dict[tuple[int, int], list[Any]] = defaultdict(list)
    for row in _label_rows(view, domain, condition):
        pairs[row.query_id, row.passage_id].append(row)
    found = [(query, _joined(rows)) for (query, _), rows in pairs.items()]
    if view.is_derived:
        found += inherited_view.labels(view, domain, condition)
    labels: dict[int, list[Label]] = defaultdict(list)
    for query, label in sorted(found, key=lambda pair: pair[1].passage):
        labels[query].append(label)
    return labels


def _label_rows(view: View, domain: Domain, condition: Q) -> Iterator[Any]:
    """Original rows and standing ones alike."""
    # What is inside the corpus is decided here, not in SQL: without fresh statistics PostgreSQL
    # would begin with all passages of the domain and meet every label once for each.
    # Those of a derived version are read by inherited_view, with those that it inherited.
    layers = view.layers[-1:] if view.collected else []
    layers = layers if view.is_derived else view.layers
    labels = Judgment.objects.filter(condition, query__domain=domain).order_by()
    loaded = labels.annotate(loaded=Q(passage__text__isnull=False))
    columns = (
        "query_id",
        "passage_id",
        "passage__pid",
        "label",
        "source",
        "practice",
        "loaded",
        "subtopics",
    )
    place = ("passage__version_id", "passage__domain_id")
    since = loaded.standing(view.left_out.labels)
    for rows in (loaded.original(), shown_labels(since) if view.shown_only else since):
        for row in rows.values_list(*columns, *place, named=True).iterator(chunk_size=CHUNK):
            version = row.passage__version_id
            given_up = view.collected and version == view.collected.pk and not row.label
            inside = version in layers and row.passage__domain_id == domain.pk
            if inside and not given_up:
                yield row


def _joined(rows: list[Any]) -> Label:
    """One pair from its original row, its standing row, or both."""
    original = next((row for row in rows if row.source == Source.ORIGINAL), None)
    given = next((row for row in rows if row.source != Source.ORIGINAL), None)
    known = given or rows[0]
    return Label(
        passage=known.passage__pid,
        passage_pk=known.passage_id,
        base=original.label if original else None,
        given=given.label if given else None,
        source=known.source,
        practice=known.practice,
        loaded=known.loaded,
        subtopics=original.subtopics if original else None,
    )


def _aspects(view: View, domain: Domain, condition: Q) -> dict[int, list[AspectRecord]]:
    """Present aspects by query, in the order of their numbers."""
    supporting = _supporting(view, domain, condition)
    columns = ("pk", "query_id", "k", "content", "weight", "scale", "weighed", "subtopic")
    rows = (
        Aspect.objects.present()
        .filter(condition, query__domain=domain)
        .exclude(query__in=view.left_out.aspects)
    )
    aspects: dict[int, list[AspectRecord]] = defaultdict(list)
    ordered = rows.order_by("query_id", "k").values_list(*columns)
    for pk, query, k, content, weight, scale, weighed, subtopic in ordered:
        passages = tuple(supporting.get(pk, ()))
        record = AspectRecord(k, content, weight, scale, passages, weighed, subtopic)
        aspects[query].append(record)
    return aspects


def _by_subtopics(
    aspects: Iterable[AspectRecord], labels: Iterable[Label]
) -> Iterator[AspectRecord]:
    """The aspects, those that are subtopics with what the current imported gold lists under them.

    An expert's word on a passage counts before it; an import's assignment only with it.
    """
    open_labels = {
        each.passage: each.subtopics
        for each in labels
        if each.subtopics and not (each.given is not None and each.source == EXPERT)
    }
    for each in aspects:
        if not each.subtopic or not open_labels:
            yield each
            continue
        of_it = {pid for pid, of in open_labels.items() if of.get(each.subtopic, 0) > 0}
        passages = tuple(pid for pid in each.passages if pid not in open_labels or pid in of_it)
        listed = tuple(sorted(of_it.difference(passages)))
        yield replace(each, passages=passages, listed=listed)


def _supporting(view: View, domain: Domain, condition: Q) -> Mapping[int, list[str]]:
    """Passages by aspect in the order of assignment: that of the file they were loaded from."""
    if view.is_derived:
        return inherited_view.of_domain(view, domain, condition).supporting
    rows = (
        GoldPassage.objects.standing()
        .filter(
            aspect__query__domain=domain,
            passage__domain=domain,
            passage__version_id__in=view.layers,
        )
        .exclude(pk__in=view.left_out.gold)
    )
    passages: dict[int, list[str]] = defaultdict(list)
    for aspect, pid in rows.order_by("pk").values_list("aspect_id", "passage__pid"):
        passages[aspect].append(pid)
    return passages


def machine_gold_of(view: View, about: Q | None = None) -> dict[tuple[int, int], int]:
    """Labels of support by (aspect, passage) that are machine gold in this corpus version
    (docs/aspects.md), in the order in which they were given; `about` narrows the labels.

    Not of what people judge at this moment: a score tells a voter nothing of their case. Nor what
    the practice model says, which fills no gap either, nor what rests on decisions that nobody
    confirmed to be theirs: no person assigned it.
    """
    rows, doubtful = _given(view, about)
    if rows is None:
        return {}
    if view.corpus is None or not view.is_derived:
        own = rows.filter(passage__version_id__in=view.layers).order_by("pk")
        told = own.values_list("pk", "aspect", "passage")
        return {(aspect, passage): key for key, aspect, passage in told}
    found = machine_gold_in(
        view.corpus, rows, about=about, support=doubtful.support, labels=doubtful.labels
    )
    here = EscalationCase.objects.exclude(status=CaseStatus.CLOSED).order_by()
    here = here.filter(query__domain__benchmark=view.benchmark)
    of_aspects = set(here.values_list("aspect_id", "passage_id"))
    of_pairs = set(here.filter(aspect=None).values_list("query_id", "passage_id"))
    query_of = dict(rows.order_by().values_list("aspect_id", "aspect__query_id").distinct())
    return {
        (aspect, passage): key
        for (aspect, passage), key in found.items()
        if (aspect, passage) not in of_aspects and (query_of[aspect], passage) not in of_pairs
    }


def lost_machine_gold(view: View, domain: Domain) -> list[tuple[int, int]]:
    """(aspect, passage) of labels that are machine gold where they were given, and that no passage
    of this cleaned version inherits, or none that supports one aspect alone."""
    about = Q(aspect__query__domain=domain)
    rows, _ = _given(view, about)
    if rows is None:
        return []
    kept = set(machine_gold_of(view, about).values())
    before = rows.filter(passage__version_id__in=view.lineage).order_by("pk")
    told = before.values_list("pk", "aspect", "passage")
    return [(aspect, passage) for key, aspect, passage in told if key not in kept]


def _given(view: View, about: Q | None) -> tuple[SupportLabelQuerySet | None, Unconfirmed]:
    """Labels that are machine gold where they were given, None where none was; and what rests on
    decisions that nobody confirmed."""
    rows = SupportLabel.objects.in_benchmark(view.benchmark).filter(about or Q())
    if not rows.exists():
        return None, NOTHING
    undecided = EscalationCase.objects.exclude(status=CaseStatus.CLOSED).filter(
        Q(aspect=OuterRef("aspect")) | Q(aspect=None, query=OuterRef("aspect__query")),
        passage=OuterRef("passage"),
    )
    doubtful = unconfirmed(view.benchmark)
    rows = rows.machine_gold(doubtful.support, doubtful.labels).filter(~Exists(undecided))
    return rows.filter(practice=False, passage__text__isnull=False), doubtful


def _machine_gold(
    view: View, domain: Domain, only: int | None
) -> dict[int, dict[int, list[MachineGold]]]:
    """By query and number of the aspect, in the order in which the labels were given."""
    about = Q(aspect__query__domain=domain) if only is None else Q(aspect__query=only)
    pairs = [(key, passage) for (_, passage), key in machine_gold_of(view, about).items()]
    found: dict[int, dict[int, list[MachineGold]]] = defaultdict(lambda: defaultdict(list))
    for start in range(0, len(pairs), CHUNK):
        part = pairs[start : start + CHUNK]
        names = inherited_view.known(domain, {passage for _, passage in part})
        labels = SupportLabel.objects.select_related("aspect").in_bulk({key for key, _ in part})
        for key, passage in part:
            pid, has_text = names.get(passage, ("", False))
            if not has_text:
                continue
            label = labels[key]
            given = label.provenance
            models = {str(each) for each in given.get("models") or [given.get("model")]}
            known = tuple(sorted(filter(CODE.fullmatch, models - {"None"})))
            made = MachineGold(pid, passage, label.source, label.round, known, key)
            found[label.aspect.query_id][label.aspect.k].append(made)
    return found


def _with_machine_gold(
    aspects: Sequence[AspectRecord],
    machine: Mapping[int, list[MachineGold]],
    excluded: Collection[str],
) -> tuple[AspectRecord, ...]:
    """One aspect a passage: what is gold of any aspect is none, inherited or listed by the import
    included, nor is what a ranking for the query leaves out."""
    if not machine:
        return tuple(aspects)
    taken = {pid for each in aspects for pid in each.supporting}.union(excluded)
    return tuple(
        replace(
            each,
            machine=tuple(one for one in machine.get(each.k, ()) if one.passage not in taken),
        )
        for each in aspects
    )
