"""Many runs and many golds: which file is what, settled by names before any of them is read.

A gold is a file, for runs of one domain, or a folder with a file for each domain. What a run file
is of, its path says (corpus/importers/run_names.py).
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from glob import glob, has_magic
from pathlib import Path

from corpus.importers.files import MAX_ENTRIES, files_under, is_crowded, name_of, stem_of
from corpus.importers.run_names import EXAMPLE, BadPattern, pattern, run_name
from evaluation.metrics.faults import MetricFault

# The domain of runs where there is one only.
ONLY = ""


@dataclass(frozen=True)
class RunPath:
    """A run file, the name of its system, and its domain (ONLY where there is but one)."""

    path: Path
    run: str
    domain: str


def paths_of(given: Iterable[str]) -> list[Path]:
    """The paths of these names, those that a pattern with `*`, `?` or `[...]` fits among them.

    A file whose own name holds such a sign is that file. Raises MetricFault.
    """
    found: list[Path] = []
    for each in given:
        fitting = sorted(map(Path, glob(each, recursive=True))) if has_magic(each) else []
        if has_magic(each) and not fitting and not Path(each).exists():
            raise MetricFault([f"{each}: No file fits this pattern."])
        found += [Path(each)] if Path(each).exists() or not fitting else fitting
    return list(dict.fromkeys(found))


def files_of(paths: Iterable[Path]) -> list[Path]:
    """The files, those in folders among them; raises MetricFault for a folder without any."""
    found: list[Path] = []
    for each in paths:
        if each.is_dir() and is_crowded(each):
            raise MetricFault([f"{each}: The folder holds more than {MAX_ENTRIES:,} files."])
        inside = files_under(each) if each.is_dir() else [each]
        if not inside:
            raise MetricFault([f"{each}: There is no file in this folder."])
        found += inside
    return list(dict.fromkeys(found))


def gold_files(path: Path) -> dict[str, Path]:
    """The file of each domain; raises MetricFault where two are of the same."""
    if not path.is_dir():
        return {ONLY: path}
    found: dict[str, Path] = {}
    for each in files_of([path]):
        other = found.setdefault(stem_of(each), each)
        if other != each:
            raise MetricFault([f"{each}: {other.name} is of the domain {stem_of(each)} already."])
    return found


def gold_names(paths: Sequence[Path]) -> list[str]:
    """What each gold is called: its stem, or as much of its path as tells it from the others."""
    return _apart(paths, [name_of(each) if each.is_dir() else stem_of(each) for each in paths])


def run_paths(
    files: Sequence[Path], domains: Collection[str], *, domain_from: str = ""
) -> list[RunPath]:
    """Each run file with its system and one of these domains; `domain_from` is a pattern of paths.

    Raises MetricFault for a file of another domain, for one that does not fit the pattern, and
    for two files of one system and domain.
    """
    try:
        names = [run_name(each, domain_from and pattern(domain_from)) for each in files]
    except BadPattern as fault:
        raise MetricFault([f"--domain-from: {fault}"]) from None
    one = list(domains) == [ONLY]
    if faults := list(_strays(files, names, () if one else domains, domain_from)):
        raise MetricFault.of(faults)
    systems = _systems(files, names, one=one)
    found = [
        RunPath(file, run, ONLY if one else domain)
        for file, run, (domain, _) in zip(files, systems, names, strict=True)
    ]
    if faults := list(_twice(found)):
        raise MetricFault.of(faults)
    return found


def _strays(
    files: Sequence[Path],
    names: Sequence[tuple[str, str]],
    domains: Collection[str],
    domain_from: str,
) -> Iterator[str]:
    known = ", ".join(sorted(domains)[:20])
    for file, name in zip(files, names, strict=True):
        if domain_from and name == ("", ""):
            yield f"{file}: Its path does not fit {domain_from}."
        elif domains and name[0] not in domains:
            yield (
                f"{file}: The gold has no domain {name[0] or '(none)'}, it has {known}. How paths "
                f"name the domain says --domain-from, as in {EXAMPLE}."
            )


def _systems(
    files: Sequence[Path], names: Sequence[tuple[str, str]], *, one: bool
) -> Sequence[str]:
    """By path where it says so; else by the file, or by its folder where the file is a domain."""
    if all(system for _, system in names):
        return [system for _, system in names]
    if not one:
        return [
            system or name_of(file.absolute().parent)
            for file, (_, system) in zip(files, names, strict=True)
        ]
    stems = [stem_of(each) for each in files]
    return _apart(files, [system or stem for stem, (_, system) in zip(stems, names, strict=True)])


def _apart(paths: Sequence[Path], names: Sequence[str]) -> list[str]:
    """These names; where two are the same, whole file names, and where they are, paths."""
    for found in (
        names,
        [each.name.removesuffix(".gz") for each in paths],
        [each.name for each in paths],
    ):
        if len(set(found)) == len(paths):
            return list(found)
    return [each.as_posix() for each in paths]


def _twice(found: Iterable[RunPath]) -> Iterator[str]:
    first: dict[tuple[str, str], Path] = {}
    for each in found:
        other = first.setdefault((each.run, each.domain), each.path)
        if other != each.path:
            of = f" and domain {each.domain}" if each.domain else ""
            yield (
                f"{each.path}: {other} is of the run {each.run}{of}, too. How paths name runs says "
                f"--domain-from, as in {EXAMPLE}."
            )
