"""Every command of the project with its options: how they are written, and what they may be."""

from argparse import Action, ArgumentParser
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.apps import apps
from django.conf import settings
from django.core.management import BaseCommand, get_commands, load_command_class

from tests.contract.kept import Line, same_lines

# Types that say by themselves what may be written; others are checked by functions of ours.
_PLAIN = {int: "int", float: "float", Path: "path", None: "text", str: "text"}
_OF_THE_MACHINE = {"workers"}  # as many as it has processors


def test_options_of_the_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOST", "PORT", "ASSAY_URL"):
        monkeypatch.delenv(name, raising=False)
    same_lines("commands.txt", commands())


def commands() -> Iterator[Line]:
    """A line for each option of each of our commands."""
    ours = {
        app.name for app in apps.get_app_configs() if Path(app.path).parent == settings.BASE_DIR
    }
    for name, app in get_commands().items():
        if app in ours:
            parser = load_command_class(app, name).create_parser("manage.py", name)
            lines = list(options(parser))
            yield from ((name, line) for line in lines or ["without options"])


def options(parser: ArgumentParser) -> Iterator[str]:
    """What a parser takes beside what every command of Django takes."""
    every = {_line(each) for each in BaseCommand().create_parser("", "")._actions}
    alone = {
        id(
            each
        ): f", {'exactly' if group.required else 'at most'} one of {len(group._group_actions)}"
        for group in parser._mutually_exclusive_groups
        for each in group._group_actions
    }
    for each in parser._actions:
        if (line := _line(each)) not in every:
            yield line + alone.get(id(each), "")


def _line(action: Action) -> str:
    words = [" ".join(action.option_strings) or "positional", f"as {action.dest}"]
    if action.nargs == 0:
        words.append("a flag")
    else:
        words.append(
            _PLAIN.get(action.type, "checked") if action.choices is None else _offered(action)
        )
        words += [f"nargs {action.nargs}"] if action.nargs is not None else []
        words += ["repeated"] if type(action).__name__ == "_AppendAction" else []
    words += ["required"] if action.required else []
    if action.default is not None and action.default is not False:
        default = "of the machine" if action.dest in _OF_THE_MACHINE else repr(action.default)
        words.append(f"default {default}")
    return ", ".join(words)


def _offered(action: Action) -> str:
    return "one of " + " ".join(sorted(map(str, action.choices or ())))
