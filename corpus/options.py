"""Settings of methods: what they may be, what a run is frozen to, and their fields in forms."""

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from django import forms

from corpus.retrieval.protocol import Default
from kit.errors import Refused
from llm.ledger.accounts import effort_field

T = TypeVar("T")
Choices = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Setting:
    """What a setting of a method may be, a text up to so many characters; and what by default."""

    kind: type
    default: Any
    low: float = 0
    high: float = 0

    def read(self, name: str, value: Any) -> Any:
        """The value, the default for None; raises Refused, naming the field."""
        if value is None:
            return self.default
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if self.kind is bool:
            fits, rule = isinstance(value, bool), "true or false"
        elif self.kind is str:
            fits = isinstance(value, str) and len(value) <= self.high
            rule = f"a text of at most {self.high:,} characters"
        elif self.kind is int:
            fits = is_number and isinstance(value, int) and self.low <= value <= self.high
            rule = f"a whole number from {self.low} to {self.high:,}"
        else:
            fits = is_number and self.low <= value <= self.high
            rule = f"a number from {self.low:g} to {self.high:g}"
        if not fits:
            raise Refused(f"{name} is {rule}.", field=name)
        return self.kind(value)

    @classmethod
    def of(cls, default: Default) -> "Setting":
        """As a retriever names it: a default, or a number's (default, least, most)."""
        if isinstance(default, tuple):
            value, low, high = default
            return cls(type(value), value, low, high)
        if isinstance(default, str):
            return cls(str, default, high=2000)
        return cls(type(default), default, -1e9, 1e9)

    def field(self, **more: Any) -> forms.Field:
        """As a field of a form."""
        if self.kind is bool:
            return forms.BooleanField(initial=self.default, required=False, **more)
        if self.kind is str:
            most = int(self.high)
            # A longer text may have lines.
            widget = forms.Textarea(attrs={"rows": 3}) if most > 2000 else forms.TextInput()
            more |= {"widget": widget, "strip": False, "required": False}
            return forms.CharField(initial=self.default, max_length=most, **more)
        kind = forms.IntegerField if self.kind is int else forms.FloatField
        bounds: dict[str, Any] = {"min_value": self.low, "max_value": self.high}
        return kind(initial=self.default, **bounds, **more)


def frozen(
    known: Mapping[str, Setting], given: Mapping[str, Any], choices: Choices, *, whose: str
) -> dict[str, Any]:
    """Every setting with its value. Raises Refused, naming the field, for one that cannot be, and
    for a name that `whose` method does not know, unless it is empty."""
    for name, value in given.items():
        if name not in known and value not in (None, ""):
            raise Refused(f"{whose} has no setting {name!r}.", field=name)
    found = {name: each.read(name, given.get(name)) for name, each in known.items()}
    for name, allowed in choices.items():
        if name in found and found[name] not in allowed:
            raise Refused(f"{name} is one of {', '.join(filter(None, allowed))}.", field=name)
    return found


def check_names(given: Iterable[str], known: Container[str]) -> None:
    """Raises Refused for a name that is no setting of any method."""
    for name in given:
        if name not in known:
            raise Refused(f"There is no setting {name!r}.", field="config")


def as_settings(kind: type[T], config: Mapping[str, Any], **own: Any) -> T:
    """What a pure module asks by: its dataclass of a run's configuration, without what it does not
    name."""
    known = {each.name for each in fields(kind)}  # type: ignore[arg-type]
    return kind(**{name: value for name, value in config.items() if name in known} | own)


def fields_of(
    known: Mapping[str, Setting],
    words: Mapping[str, tuple[str, str]],
    choices: Choices,
    said: Mapping[str, str],
) -> Iterator[tuple[str, forms.Field]]:
    """The settings as fields of a form: their labels and what is said about them by name; of
    choices what people call them, themselves by default."""
    for name, setting in known.items():
        if name == "reasoning_effort":
            yield name, effort_field()
            continue
        label, about = words[name]
        more: dict[str, Any] = {"label": label, "help_text": about}
        if name in choices:
            named = [(each, said.get(each, each)) for each in choices[name]]
            is_needed = "" not in choices[name]
            yield (
                name,
                forms.ChoiceField(
                    choices=named, initial=setting.default, required=is_needed, **more
                ),
            )
        elif setting.kind in (bool, str):
            yield name, setting.field(**more)
        else:
            yield name, setting.field(**more, required=setting.default is not None)
