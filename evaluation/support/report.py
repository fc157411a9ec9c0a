"""What a set of answers came to: support by system, judges beside each other and beside people."""

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from statistics import fmean
from typing import Any, Final
from urllib.parse import urlencode

from django.db.models import QuerySet

from annotate.grading.models import WEIGHTS, SampleKind
from annotate.grading.sentences import open_sentences
from annotate.grading.services import drawn_from
from annotate.models import GradingSample, SentenceGrade, SentenceItem
from corpus.access import Access
from evaluation.support.models import Claim, SetKind, SupportSet, SupportState, SupportVerdict
from evaluation.support.protocol.judging import Support
from evaluation.support.reading import ORIGIN, Found, read_judges, supports
from kit.lists.report_tables import Cell, ReportTable, measured, percent, text
from kit.stats.agreement import cohen_kappa, krippendorff_alpha
from kit.stats.clusters import Clustered, clustered_mean, clustered_share, share_difference
from kit.stats.means import mean
from kit.stats.predicted import corrected_mean, strata_by_grade
from kit.stats.proportions import proportion
from kit.stats.ratings import from_triples

_SCALE: Final = tuple(sorted(WEIGHTS))
_MEASURES: Final = ("precision", "recall", "hard_precision", "hard_recall")


def tables(found: Found, url: str = "") -> list[ReportTable]:
    """Every table that holds something; `url` leads to the claims behind numbers."""
    made = [systems(found, url), corrected(found), agreement(found), anchoring(found)]
    return [each for each in made if each.rows]


def systems(found: Found, url: str = "") -> ReportTable:
    """Precision and recall of citations by system and judge."""
    by_system: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for key, system, _, count in found.answers:
        by_system[system].append((key, count))
    claims_of = found.claims_of
    rows = []
    for name in found.names:
        weights, supported = found.weights(name), supports(found, name)
        for system, answers in by_system.items():
            own = [claim for key, _ in answers for _, claim in claims_of[key]]
            cited = {(key, at) for key, _ in answers for at, _ in claims_of[key]}
            sentences = sum(count for _, count in answers)
            by_query = supported[system]
            left = sum(weights[claim] is None for claim in own)
            rows.append(
                (
                    text(system.removeprefix(f"{found.of.name}, ")),
                    text(name),
                    Cell(len(answers)),
                    Cell(sentences),
                    Cell(sentences - len(cited)),
                    Cell(len(own), url=f"{url}?{urlencode({'system': system})}" if url else ""),
                    *(_mean(by_query, measure) for measure in _MEASURES),
                    Cell(len(found.unknown & set(own))),
                    Cell(left),
                )
            )
    return ReportTable(
        "support",
        "Support by system",
        (
            *("system", "judge", "answers", "sentences", "cite nothing", "citations"),
            *("precision", "recall", "hard precision", "hard recall", "unknown", "not judged"),
        ),
        tuple(rows),
        (
            "A citation weighs 1 where its passage fully supports the sentence, .5 partly, 0 not; "
            "the hard forms count full support alone. Precision is over the citations of an "
            "answer, recall over its sentences, each by its best citation: one that cites nothing "
            "has 0. Means over queries, with Student’s interval. An answer that cites nothing has "
            "no precision.",
            "Unknown: ids that no passage here has; they support nothing. Not judged: passages "
            "without a text, replies that could not be read, failed calls; they count in no mean."
            + (" Together: the mean of what all judges say." if len(found.said) > 1 else ""),
            *_remarks(found),
        ),
    )


def corrected(found: Found) -> ReportTable:
    """Of each system what a judge's citations weigh on average, and what people's sample makes of
    it."""
    people = found.first_weights
    system_of = {key: system for key, system, *_ in found.answers}
    rows = []
    for name in found.names if people else ():
        by_system: dict[str, dict[int, float]] = defaultdict(dict)
        for claim, weight in found.weights(name).items():
            if weight is not None:
                by_system[system_of[found.claims[claim][0]]][claim] = weight
        for system, weights in by_system.items():
            known = {claim: people[claim] for claim in weights if claim in people}
            for form, of in (("weighted", float), ("full alone", _is_full)) if known else ():
                said = {claim: of(weight) for claim, weight in weights.items()}
                rows.append(
                    (
                        text(system.removeprefix(f"{found.of.name}, ")),
                        text(name),
                        text(form),
                        *_corrected(
                            found, said, {each: fmean(map(of, own)) for each, own in known.items()}
                        ),
                    )
                )
    header = (
        *("system", "judge", "precision", "citations", "judge says", "judged by people"),
        *("people say", "corrected"),
    )
    notes = (
        "Over citations, not over queries. Prediction-powered inference (PPI++): what people "
        "said of a sample drawn by chance, before they were shown machines’ verdicts, moved by "
        "what the judge says of all; by strata of its verdict where people judged at least ten "
        "of each. Where they differ, the mean of what they said. "
        "Intervals: 95 %, with the finite population’s correction; none where both never differ. "
        "Unknown ids support nothing by rule and are in no sample.",
        "Recall goes by the best citation of a sentence, and samples are of citations: it rests on "
        "the judge alone.",
    )
    return ReportTable("corrected", "Precision corrected by people", header, tuple(rows), notes)


def _corrected(
    found: Found, said: Mapping[int, float], people: Mapping[int, float]
) -> tuple[Cell, ...]:
    """The figures of one system by one judge; what is unknown is nothing by rule."""
    drawable = [value for claim, value in said.items() if claim not in found.unknown]
    pairs = [(said[claim], own) for claim, own in people.items()]
    whole, share = corrected_mean(strata_by_grade(drawable, pairs)), len(drawable) / len(said)
    value, low, high = (
        None if end is None else end * share for end in (whole.value, whole.low, whole.high)
    )
    return (
        Cell(len(said)),
        Cell(sum(said.values()) / len(said), "coefficient"),
        Cell(len(people)),
        measured(mean(list(people.values())), "coefficient"),
        Cell(value, "coefficient", low, high),
    )


def _is_full(weight: float) -> float:
    return float(weight == 1.0)


def _remarks(found: Found) -> Iterator[str]:
    if len(found.said) == 1:
        yield (
            "A second judge is missing: people's sample alone shows how far this one is to be "
            "believed."
        )
    if found.of.per_sentence is not None:
        yield f"Of each sentence the first {found.of.per_sentence} citations are judged."


def _mean(by_query: Mapping[int, Sequence[Support]], measure: str) -> Cell:
    values = []
    for own in by_query.values():
        known = [value for each in own if (value := getattr(each, measure)) is not None]
        if known:
            values.append(sum(known) / len(known))
    return measured(mean(values), "coefficient")


def agreement(found: Found) -> ReportTable:
    """Judges beside each other, beside people's own verdicts, and people among themselves."""
    rows = []
    for one, other in combinations(found.said, 2):
        both: list[tuple[Hashable, int, int]] = [
            (claim, value, found.said[other][claim])
            for claim, value in found.said[one].items()
            if claim in found.said[other]
        ]
        rows.append(_row(f"{one} and {other}", both))
    own = [(claim, row) for claim, row in found.people if row.first is not None]
    for name, said in found.said.items():
        both = [((claim, row.grader_id), said[claim], row.first or 0)
                for claim, row in own if claim in said]  # fmt: skip
        if both:
            rows.append(_row(f"{name} and people", both))
    if len({row.grader_id for _, row in own}) > 1:
        triples = [(claim, row.grader_id, row.first or 0) for claim, row in own]
        alpha = krippendorff_alpha(
            from_triples(triples, categories=_SCALE, scores=_SCALE), "ordinal"
        )
        cells = (Cell(alpha.n_items), percent(proportion(0, 0)), Cell(None, "coefficient"))
        rows.append((text("people, α (ordinal)"), *cells, measured(alpha, "coefficient"),
                     text(alpha.reason)))  # fmt: skip
    known = {claim: fmean(given) for claim, given in found.first_weights.items()}
    query = {claim: row.item.query_id for claim, row in own}
    notes = [
        "An item is a citation; beside people one verdict of one person, given before machines’ "
        "were shown."
    ]
    if known:
        told = clustered_mean(list(known.values()), [query[claim] for claim in known])
        notes.append(
            f"People judged {len(known):,} citations first by themselves: by those verdicts the "
            f"mean weight is {_told(told)}."
            + "".join(
                f" {name} on the same: {sum(same) / len(same):.3f}."
                for name, said in found.said.items()
                if (same := [WEIGHTS[said[claim]] for claim in known if claim in said])
            )
        )
    return ReportTable(
        "agreement",
        "Who agrees",
        ("who", "items", "same verdict", "κ", "quadratic κ or α", "why not"),
        tuple(rows),
        tuple(notes),
    )


def _row(name: str, both: Sequence[tuple[Hashable, int, int]]) -> tuple[Cell, ...]:
    triples = [(item, side, pair[side]) for item, *pair in both for side in (0, 1)]
    given = from_triples(triples, categories=_SCALE, scores=_SCALE)
    plain, quadratic = cohen_kappa(given), cohen_kappa(given, "quadratic")
    return (
        text(name),
        Cell(len(both)),
        percent(proportion(sum(a == b for _, a, b in both), len(both))),
        measured(plain, "coefficient"),
        measured(quadratic, "coefficient"),
        text(plain.reason or quadratic.reason),
    )


def anchoring(found: Found) -> ReportTable:
    """How much more often people say what a judge says where they see it first."""
    rows = []
    for name, run in found.judges.items():
        own, edited = _seen(found, run.pk, False), _seen(found, run.pk, True)
        if not own or not edited:
            continue
        shares = [
            clustered_share([value == said for _, _, value, said in part],
                            [claim for claim, *_ in part], [row.grader_id for _, row, *_ in part])
            for part in (own, edited)
        ]  # fmt: skip
        alone, beside = (each.value or 0.0 for each in shares)
        ends = share_difference(shares[1], shares[0], (beside, alone))
        apart = [(row.verdict, said) for _, row, first, said in own if first != said]
        moved = sum(last == said for last, said in apart)
        rows.append(
            (
                text(name),
                Cell(len(own)),
                percent(shares[0]),
                Cell(len(edited)),
                percent(shares[1]),
                percent(replace(shares[1], value=beside - alone, interval=ends)),
                percent(proportion(moved, len(apart))),
            )
        )
    return ReportTable(
        "anchoring",
        "What seeing machines first does",
        (
            *("judge", "own first", "agree", "machines first", "agree beside", "effect"),
            "came over when shown",
        ),
        tuple(rows),
        (
            "Citations were drawn by chance for one of both: people give their own verdict, or see "
            "the machines’ from the start. Effect: the share that agrees with the judge there, "
            "less the share of first verdicts that agree. Shares draw whole citations and whole "
            "people again; the difference combines both intervals. Came over: of first verdicts "
            "that differed, those that became the judge’s once it was shown.",
        ),
    )


def _seen(
    found: Found, run: int, post_edit: bool
) -> list[tuple[int, SentenceGrade, int | None, int]]:
    """(claim, grade, what counts of it, what the judge said) of who saw the judge first, or not."""
    return [
        (claim, row, row.verdict if post_edit else row.first, each["verdict"])
        for claim, row in found.people
        if row.item.is_post_edit == post_edit
        for each in row.item.machines
        if each["run"] == run
    ]


def _told(value: Clustered) -> str:
    ends = "" if value.low is None else f" ({value.low:.3f} to {value.high:.3f})"
    return f"{value.value:.3f}{ends}"


def samples(of: SupportSet) -> QuerySet[GradingSample]:
    """Samples of its citations that people judge, newest first, with how far they are."""
    return drawn_from(f"{ORIGIN}:{of.pk}:", SampleKind.SENTENCES)


def draw(
    *, access: Access, of: SupportSet, size: int, seed: int, people: int, post_edit: int
) -> GradingSample:
    """Let experts judge citations of a set, drawn by domain in proportion; as `open_sentences`."""
    judges = {run.pk: number for number, run in enumerate(read_judges(of).values())}
    said: dict[int, list[dict[str, Any]]] = defaultdict(list)
    verdicts = SupportVerdict.objects.filter(run__in=list(judges), state=SupportState.JUDGED)
    for each in sorted(verdicts, key=lambda row: judges[row.run_id]):
        said[each.claim_id].append({"run": each.run_id, "verdict": each.value, "span": each.span})
    claims = Claim.objects.filter(answer__support_set=of, passage__text__isnull=False)
    related = ("answer__query__domain", "passage")
    sentences = [
        SentenceItem(
            query=claim.answer.query,
            passage=claim.passage,
            origin=f"{ORIGIN}:{of.pk}:{claim.pk}",
            text=claim.text,
            context=claim.answer.text,
            is_reference=of.kind == SetKind.REFERENCE,
            machines=said[claim.pk],
        )
        for claim in claims.select_related(*related).order_by("pk")
        if claim.passage is not None
    ]
    return open_sentences(
        access=access, sentences=sentences, size=size, seed=seed, people=people, post_edit=post_edit
    )
