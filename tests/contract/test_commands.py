"""Every command of the project with its options: how they are written, and what they may be."""

from argparse import Action, ArgumentParser
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from django.apps import apps
from django.conf import settings
from django.core.management import BaseCommand, get_commands, load_command_class

from tests.contract.kept import Line, same_lines

# Types that say by themselves what may be written; others are checked by functions of ours.
_PLAIN = {int: "int", float: "float", Path: "path", None: "text", str: "text"}
_OF_THE_MACHINE = {"workers"}  # as many as it has processors


def test_options_of_the_commands() -> None:
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
    """What a parser takes beside what every command of Django takes; positional ones numbered."""
    every = {_line(each) for each in BaseCommand().create_parser("", "")._actions}
    together = {
        id(each): ", exactly one of its group" if group.required else ", at most one of its group"
        for group in parser._mutually_exclusive_groups
        for each in group._group_actions
    }
    place = count(1)
    for each in parser._actions:
        if (line := _line(each)) not in every:
            number = "" if each.option_strings else f"{next(place)}. "
            yield number + line + together.get(id(each), "")


def _line(action: Action) -> str:
    words = [" ".join(action.option_strings) or "positional", f"as {action.dest}"]
    if action.nargs == 0:
        words += ["a flag"]
    elif action.choices is not None:
        words += ["one of " + " ".join(sorted(map(str, action.choices)))]
    else:
        words += [_PLAIN.get(action.type, "checked")]
    if action.nargs:
        words += [f"nargs {action.nargs}"]
    if type(action).__name__ == "_AppendAction":
        words += ["repeated"]
    if action.required:
        words += ["required"]
    if action.default is not None and action.default is not False:
        default = "of the machine" if action.dest in _OF_THE_MACHINE else repr(action.default)
        words += [f"default {default}"]
    return ", ".join(words)
