"""Second reviews against themselves and the evidence of labels that they were of."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evaluation.verification.rows import Difference, objects


def check_reviews(folder: Path, split: str) -> Iterator[Difference]:
    """Nobody reviews or settles their own work, and labels name the reviews that are here."""
    name, evidence = f"evidence/reviews/{split}.jsonl", f"evidence/{split}.jsonl"
    faults: list[Difference] = []
    told: dict[tuple[str, str], Any] = {}
    if (folder / name).is_file():
        for row in objects(folder, name, faults, query_id=str, reviewer=str, points=list):
            people = [row[part] for part in ("author", "reviewer", "third") if part in row]
            if len(set(people)) < len(people):
                yield Difference(name, "one person has two parts in a review", row["query_id"])
            for point in row["points"]:
                if "passage_id" in point:
                    said = {"reviewer": row["reviewer"], "status": point["status"]}
                    told[row["query_id"], point["passage_id"]] = said
    yield from faults
    # What is no row of evidence is named where labels are derived.
    for row in objects(folder, evidence, [], query_id=str, passage_id=str):
        pair = (row["query_id"], row["passage_id"])
        if "review" in row and row["review"] != told.get(pair):
            yield Difference(evidence, "its review is not what the reviews say of it", *pair)
