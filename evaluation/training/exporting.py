"""Export of training data: what of a run may be trained on now, and the files of it."""

import json
import tempfile
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any, Final

from corpus.models import Licence
from corpus.texts import tokens
from corpus.versions.effective import EffectiveLabel
from evaluation.exporters.training import FORMATS, Sample, Text, write_training
from evaluation.training import asking
from evaluation.training.models import (
    DocumentKind,
    DocumentUse,
    ItemState,
    TrainingDocument,
    TrainingItem,
    TrainingRun,
)
from evaluation.training.reading import labels_now, texts_of
from kit.errors import Refused
from kit.runs.models import RunStatus

_AT_ONCE: Final = 100
# What the paper trained on (docs/protocol.md 5.6).
PUBLISHED: Final = (
    "DIVER's mixture, for comparison: 60,000 medical, 20,000 general, 20,000 generated hard "
    "negatives, about 120,000 mathematical."
)


def export_training(
    *, run: TrainingRun, folder: Path, format: str, tokenizer: str = tokens.CHARACTERS
) -> dict[str, Any]:
    """Write a run's data into a folder that is not there yet, or is empty; the mixture report,
    which tells lengths in tokens of `tokenizer`.

    Raises Refused for another folder or format, and for a run that is not done.
    """
    _check(run, format)
    tokens.check(tokenizer)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise Refused(f"{folder} is there already and not empty.", field="out")
    left_out: Counter[str] = Counter()
    about = _about(run, left_out, tokenizer)
    return write_training(folder, format, samples_of(run, left_out), about)


def archive_of(run: TrainingRun, format: str, tokenizer: str = tokens.CHARACTERS) -> IO[bytes]:
    """The same as a zip archive, in a temporary file. Raises Refused."""
    packed = tempfile.TemporaryFile()  # noqa: SIM115  (whoever sends it closes it)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "data"
        export_training(run=run, folder=folder, format=format, tokenizer=tokenizer)
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(folder.iterdir()):
                archive.write(path, f"{run.benchmark.slug}-training-{run.pk}/{path.name}")
    packed.seek(0)
    return packed


def samples_of(run: TrainingRun, left_out: Counter[str]) -> Iterator[Sample]:
    """The queries with documents of both uses, in the order of the run; `left_out` counts what is
    kept back, by reason. Labels are read as they stand now."""
    items = run.items.filter(state=ItemState.MADE).select_related("query__domain").order_by("pk")
    left_out.update({"queries that failed": run.items.filter(state=ItemState.FAILED).count()})
    keys = list(items.values_list("pk", flat=True))
    for start in range(0, len(keys), _AT_ONCE):
        part = keys[start : start + _AT_ONCE]
        rows = TrainingDocument.objects.filter(item__in=part).select_related("item").order_by("pk")
        documents = list(rows)
        labels = labels_now(run, documents)
        texts = texts_of({each.passage_id for each in documents if each.passage_id})
        by_item: dict[int, dict[str, list[Text]]] = defaultdict(lambda: defaultdict(list))
        for each in documents:
            text = texts.get(each.passage_id, "") if each.passage_id else each.whole
            label = labels.get(each.pk)
            if why := kept_back(each, label):
                left_out[why] += 1
            elif text.strip():
                source = _source(each, is_unjudged=label is None)
                by_item[each.item_id][each.use].append(Text(text, each.language, source))
        found = items.in_bulk(part)
        for key in part:
            if sample := _sample(found[key], by_item[key], left_out):
                yield sample


def kept_back(document: TrainingDocument, label: EffectiveLabel | None) -> str:
    """Why a document is not trained on; "" where it is. `label` is that of its pair now, None
    where nobody judged it; what was relevant and was taken back is neither."""
    if document.leak:
        return "written documents that repeat the benchmark"
    if document.use == DocumentUse.REJECTED:
        return "replies that failed a check"
    if document.use == DocumentUse.DROPPED:
        return "passages graded 4 to 6"
    if document.kind == DocumentKind.LABELLED and label is None:
        return "labels that were taken back"
    if document.use == DocumentUse.NEGATIVE and label and label.is_gold:
        return "negatives that are labelled relevant"
    if document.use == DocumentUse.POSITIVE and label and label.label <= 0:
        return "positives that are labelled irrelevant"
    return ""


def _sample(
    item: TrainingItem, found: dict[str, list[Text]], left_out: Counter[str]
) -> Sample | None:
    positives = found[DocumentUse.POSITIVE]
    known = {each.text for each in positives}
    negatives = [each for each in found[DocumentUse.NEGATIVE] if each.text not in known]
    if both := len(found[DocumentUse.NEGATIVE]) - len(negatives):
        left_out["negatives with the text of a positive"] += both
    if not positives or not negatives:
        left_out["queries without a " + ("negative" if positives else "positive")] += 1
        return None
    query = item.query
    return Sample(query.domain.name, query.qid, query.text, positives, negatives)


def _source(each: TrainingDocument, *, is_unjudged: bool) -> dict[str, Any]:
    """Where a text is from, with the label or the call that it comes from."""
    given = {
        "document": each.pk,
        "kind": DocumentKind(each.kind).label,
        "call": each.call_id,
        "judgment": each.judgment_id,
        "passage": each.passage_id,
        "score": each.score,
        "unjudged": (each.use == DocumentUse.NEGATIVE and not each.is_written and is_unjudged)
        or None,
    }
    return {name: value for name, value in given.items() if value is not None}


def _check(run: TrainingRun, format: str) -> None:
    if format not in FORMATS:
        raise Refused(f"The formats are {', '.join(FORMATS)}.", field="format")
    if run.status != RunStatus.DONE:
        raise Refused("Training data is exported when its run is done.")


def _about(run: TrainingRun, left_out: Counter[str], tokenizer: str) -> dict[str, Any]:
    benchmark = run.benchmark
    licences = Licence.objects.filter(domain__benchmark=benchmark).order_by("pk")
    named = dict.fromkeys(licences.values_list("name", flat=True))
    practice = "**Made by the practice model, which knows nothing: only to try things out.** "
    lines = [
        f"{practice if run.practice else ''}Made from the benchmark {benchmark.name} "
        f"(`{benchmark.slug}`) by training run {run.pk}, {run.name}, with {run.model}.",
        "",
        "**Do not measure on this benchmark what is trained on these files**: its queries, and "
        "passages of its corpus, gold among them, are in them. Written documents that repeat a "
        f"passage or an answer of it are left out ({run.report.get('leaks', 0):,}, "
        f"{run.report.get('gold_leaks', 0):,} of them of gold).",
        "",
        f"`sources.jsonl` says of each line of `train.jsonl` where its texts are from: the label "
        "(`judgment`) or the model's call (`call`) by their numbers in the installation. "
        f"A grade above {asking.ABOVE} of {asking.BEST} makes a positive, one below "
        f"{asking.BELOW} a negative. A text that a model wrote is no label.",
        "",
        f"Licences of the benchmark's texts: {', '.join(named) or 'none is named'}.",
        "",
        "Settings: " + json.dumps(run.config, ensure_ascii=False, sort_keys=True),
        "",
        PUBLISHED,
    ]
    prompts = {role: asking.prompt_of(role).sha256 for role in asking.ROLES}
    facts = {"benchmark": benchmark.slug, "run": run.pk, "model": run.model,
             "practice": run.practice, "config": run.config, "prompts": prompts,
             "report": run.report, "tokenizer": tokenizer}  # fmt: skip
    length = partial(tokens.token_count, tokenizer=tokenizer)
    title = f"Training data: {run.name}"
    return {"title": title, "lines": lines, "left_out": left_out, "facts": facts,
            "length": length}  # fmt: skip
