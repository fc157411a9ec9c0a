"""Files with which others' tools read a release as it lies there: MTEB and ir_datasets."""

import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from evaluation.exporters.files import write_lines

# Programs that a release gets as they are: they import what Assay has not installed.
_PROGRAMS = Path(__file__).with_name("tools")


def write_tools(folder: Path, name: str, version: str, splits: Sequence[str]) -> None:
    """The programs, and the splits that they may read, each with a task's name and instruction.

    `splits` have documents and a relevant passage.
    """
    is_alone = len(splits) == 1
    about = {
        "name": name,
        "version": version,
        "splits": {
            split: {
                "task": _task(name, split),
                "instruction": instruction("" if is_alone else split),
            }
            for split in splits
        },
    }
    write_lines(folder / "splits.json", [json.dumps(about, ensure_ascii=False, indent=1)])
    for program in sorted(_PROGRAMS.glob("*.py")):
        shutil.copyfile(program, folder / program.name)


def instruction(split: str) -> str:
    """What retrievers that take an instruction are told of a split's queries (docs/protocol.md 6).

    A split that is the only one is named after its collection, which says nothing of its topic.
    """
    about = f" about {split.replace('_', ' ').strip()}" if split else ""
    return f"Given a query{about}, retrieve passages that help answer it"


def _task(name: str, split: str) -> str:
    """A name as MTEB's tasks have them: of words without anything between them."""
    words = re.findall(r"[^\W_]+", f"{name} {split}")
    return "".join(word[:1].upper() + word[1:] for word in words) + "Retrieval"
