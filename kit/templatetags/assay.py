"""The few words and tags that many templates share; figures are in `figures`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django import template
from django.conf import settings
from django.forms import BaseForm, BoundField
from django.templatetags.static import static
from django.urls import get_script_prefix, reverse
from django.utils.html import conditional_escape, escape, format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import slugify
from template_partials.templatetags.partials import TemplateProxy

from kit.glossary import terms
from kit.templatetags.figures import SHOWN

register = template.Library()

BAR_WIDTH = 1000


@register.simple_tag
def term(name: str, words: str = "") -> SafeString:
    """A word of docs/glossary.md as a link to its meaning, for its first use on a page; `words`
    stand for it where the sentence asks for another form. KeyError for what it does not hold."""
    found = terms()[slugify(name)]
    url = f"{reverse('glossary')}#{found['anchor']}"
    return format_html('<a href="{}" title="{}">{}</a>', url, found["meaning"], words or name)


@register.filter
def kind(message: Any) -> str:
    """Tag class of a Django message or status word: good, warn, bad or ""."""
    word = getattr(message, "level_tag", message)
    return KINDS.get(str(word), "")


KINDS = {
    "success": "good",
    "warning": "warn",
    "error": "bad",
    "done": "good",
    "ranked": "good",
    "worded": "good",
    "written": "good",
    "finished": "good",
    "complete": "good",
    "ready": "good",
    "running": "good",
    "paused": "warn",
    "kept": "warn",
    "faulty": "warn",
    "max_iterations": "warn",
    "cancelling": "warn",
    "cancelled": "warn",
    "failed": "bad",
    # What came of a call.
    "answered": "good",
    "possibly_paid": "warn",
    # A pair's outcome and a case's state.
    "agreed": "good",
    "escalated": "warn",
    "unreadable": "warn",
    "closed": "good",
    "expert": "warn",
}
WORDS = {"escalated": "disputed", "expert": "for an expert", "llm_adjudicator": "LLM adjudicator"}


@register.filter
def in_words(status: str) -> str:
    """A stored state as people read it, in lower case: "skipped_no_answer" without its dashes."""
    return WORDS.get(status, status.replace("_", " "))


@register.filter
def named(name: str, titles: Mapping[str, str]) -> str:
    """The title that belongs to a name; the name itself where there is none."""
    return titles.get(name, name)


@register.filter
def fields_of(values: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """Names and values to show; `.items` would find a field of that name. JSON but for texts."""
    return [
        (name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
        for name, value in (values or {}).items()
    ]


@register.filter
def verbatim(text: str) -> SafeString:
    """Text for `data-spans`: a bare carriage return would be rewritten by the HTML parser, and
    every offset after it would be wrong."""
    return mark_safe(escape(text).replace("\r", "&#13;"))  # noqa: S308  (escaped just here)


@register.filter
def words(text: str | None) -> int:
    """How many words, as people count them."""
    return len((text or "").split())


@register.filter
def is_group(field: BoundField) -> bool:
    """Whether a form field is a set of radios or checkboxes, which needs fieldset and legend."""
    return bool(field.field.widget.use_fieldset)


@register.filter
def of_most(form: BaseForm) -> list[BoundField]:
    """The fields that most people set: those that the form's `first` names, by default all."""
    first = getattr(form, "first", None)
    return [each for each in form.visible_fields() if first is None or each.name in first]


@register.filter
def of_few(form: BaseForm) -> list[BoundField]:
    """The other fields, which stand under Advanced."""
    shown = {each.name for each in of_most(form)}
    return [each for each in form.visible_fields() if each.name not in shown]


@register.filter
def is_checkbox(field: BoundField) -> bool:
    """Whether a form field is one box, whose label stands behind it."""
    return getattr(field.field.widget, "input_type", "") == "checkbox" and not is_group(field)


@register.simple_tag
def root() -> str:
    """The address of the home page: also on pages that know no routes."""
    return get_script_prefix()


@register.inclusion_tag("kit/bar.html")
def bar(parts: Iterable[Mapping[str, Any]], label: str = "") -> dict[str, Any]:
    """A stacked bar with its legend. Parts: `name`, `value`, `css` (r1 r2 esc broken wait), `url`.

    Widths are SVG attributes in thousandths, because style attributes are blocked by the CSP.
    """
    shown = [dict(part) for part in parts]
    total = sum(part["value"] for part in shown)
    start = 0.0
    for part in shown:
        part["x"] = round(start, 2)
        part["width"] = round(BAR_WIDTH * part["value"] / total, 2) if total else 0
        start += part["width"]
    return {"parts": shown, "label": label, "total": total, "width": BAR_WIDTH}


@register.simple_block_tag(takes_context=True)
def nothing(
    context: template.Context, content: str, title: str, *to: Any, url: str = "", action: str = ""
) -> SafeString:
    """The empty state of a list: why nothing is there, and what one can do about it: a link to an
    address, or to a route with its arguments."""
    url = reverse(to[0], args=to[1:]) if to else url
    return _around(context, "kit/empty.html", title=title, text=content, url=url, action=action)


def _around(context: template.Context, name: str, **more: Any) -> SafeString:
    assert context.template is not None  # it is being rendered
    with context.push(**more):
        return context.template.engine.get_template(name).render(context)


def _columns(names: Iterable[Any]) -> dict[str, Any]:
    columns: list[dict[str, Any]] = []
    for name in names:
        if isinstance(name, str):
            columns.append({"label": name.removeprefix("#"), "numeric": name.startswith("#")})
        else:
            columns += ({"label": each, "numeric": True} for each in name or ())
    return {"columns": [each for each in columns if each["label"]]}


@register.simple_block_tag(takes_context=True)
def table(
    context: template.Context,
    content: str,
    label: str,
    *names: Any,
    css: str = "cards",
    caption: str = "",
) -> SafeString:
    """A table around these rows, with its name for who hears it, and names of its columns. # before
    one says that it holds numbers, as do those that a list names; "" is none. Without any, they are
    those of `table`, which a list gives."""
    more = {"table": _columns(names)} if names else {}
    shown = {"label": label, "css": css, "caption": caption, "listed": content}
    return _around(context, "kit/table.html", **shown, **more)


@register.simple_tag
def tile(name: str, value: Any, url: str = "", note: str = "") -> SafeString:
    """One of the numbers above a page: its name, what leads to the rows behind it, and a note."""
    said = format_html("<small>{}</small>", note) if note else ""
    shown = linked(value, url)
    return format_html('<div class="sheet"><small>{}</small><b>{}</b>{}</div>', name, shown, said)


@register.simple_tag
def linked(words: Any, to: str | None = "", *args: Any, css: str = "") -> SafeString:
    """Words as a link to an address, or to the route of this name; words alone where there is no
    address, or what the route is to show is not there (its last argument)."""
    url = to if not args else reverse(to, args=args) if args[-1] else ""
    if not url:
        return conditional_escape(words)
    attributes = format_html(' class="{}"', css) if css else ""
    return format_html('<a{} href="{}">{}</a>', attributes, url, words)


@register.simple_tag
def interval(low: Any, high: Any, kind: str = "") -> SafeString:
    """From where to where a value of this kind may lie (`SHOWN`); places that are one are none."""
    if low in (None, "") or (not kind and low == high):
        return SafeString()
    show = SHOWN.get(kind, str)
    return format_html('<span class="interval">{} to {}</span>', show(low), show(high))


@register.simple_tag
def fault(words: str, css: str = "") -> SafeString:
    """What went wrong, nothing where nothing did."""
    said = '<p class="{}" role="alert">{}</p>'
    return format_html(said, f"{css} error-text".strip(), words) if words else SafeString()


@register.simple_tag
def practice(is_practice: bool, words: str = "practice model") -> SafeString:
    """The mark of what the practice model made, nothing for anything else."""
    return format_html('<span class="tag warn">{}</span>', words) if is_practice else SafeString()


@register.inclusion_tag("kit/choice.html")
def choice(
    name: str, label: str, options: Iterable[Any], chosen: Any = None, **more: Any
) -> dict[str, Any]:
    """A label and a field that offers options: words, pairs of value and words, or rows, whose name
    is shown. `empty` is the words of an option for none, `ident` an id other than the name."""
    pairs = [(str(value), words) for value, words in map(_option, options)]
    told = "" if chosen is None else str(chosen)
    return {"name": name, "label": label, "options": pairs, "chosen": told, **more}


def _option(each: Any) -> Sequence[Any]:
    if isinstance(each, (str, tuple, list)):
        return (each, each) if isinstance(each, str) else each
    return getattr(each, "pk", None) or getattr(each, "key", each.name), each.name


@register.simple_block_tag(takes_context=True)
def post(
    context: template.Context, content: str, name: str, *args: Any, swaps: str = "", **options: str
) -> SafeString:
    """A form that is sent to the route of this name, or to this address; it holds what is sent.

    `swaps` selects what the answer takes the place of, without another page. Of the `options`,
    `css` is the class, `confirm` is asked before it is sent, the others are attributes.
    """
    url = name if name.startswith("/") else reverse(name, args=args)
    if swaps:
        options |= {"hx-post": url, "hx-target": swaps, "hx-swap": "outerHTML"}
        options["hx-sync"] = "this:drop"
    names = {"css": "class", "confirm": "data-confirm"}
    attributes = ((names.get(key, key), said) for key, said in options.items() if said)
    return format_html(
        '<form method="post" action="{}"{}>'
        '<input type="hidden" name="csrfmiddlewaretoken" value="{}">{}</form>',
        url,
        format_html_join("", ' {}="{}"', attributes),
        context.get("csrf_token", ""),
        content,
    )


@register.simple_tag(takes_context=True)
def small_form(
    context: template.Context, form: BaseForm, submit: str, name: str, *args: Any
) -> SafeString:
    """One of a page’s forms: a button with these words sends it to this route or address."""
    action = name if name.startswith("/") else reverse(name, args=args)
    more = {"form": form, "submit": submit, "action": action, "is_small": True}
    # What the page’s main form has.
    more |= dict.fromkeys(("cancel_url", "form_id", "htmx_target"), "")
    return _around(context, "kit/form.html", **more)


class Listing(template.Node):
    """What `listing` reads."""

    def __init__(
        self,
        label: template.base.FilterExpression,
        rows: template.NodeList,
        otherwise: template.NodeList,
    ) -> None:
        self.label, self.rows, self.otherwise = label, rows, otherwise

    def render(self, context: template.Context) -> SafeString:
        """kit/listing.html around the part that is wanted."""
        part = self.rows if context["table"].rows else self.otherwise
        listed, label = part.render(context), self.label.resolve(context)
        return _around(context, "kit/listing.html", label=label, listed=listed)


@register.tag
def listing(parser: template.base.Parser, token: template.base.Token) -> Listing:
    """{% listing "Label" %} rows {% otherwise %} empty state {% endlisting %}: `table` with its
    head and pages. It is the part `results`, which a filter or another page of it renders anew."""
    _, label = token.split_contents()
    rows = parser.parse(("otherwise",))
    parser.delete_first_token()
    otherwise = parser.parse(("endlisting",))
    parser.delete_first_token()
    found = Listing(parser.compile_filter(label), rows, otherwise)
    part = TemplateProxy(template.NodeList([found]), parser.origin, "results")
    parser.extra_data.setdefault("partials", {})["results"] = part
    return found


SHARES = 100


@register.inclusion_tag("kit/weight.html")
def weight(
    name: str, value: int | None = None, points: int = 5, legend: str = "Weight", **options: Any
) -> dict[str, Any]:
    """Radio buttons 1..points, or a number where they are shares in hundredths.

    `form`, `disabled` and `draft` (a number is kept as it is typed) may be given as options.
    """
    scale = range(1, points + 1) if points < SHARES else ()
    return {"name": name, "value": value, "scale": scale, "legend": legend, **options}


@register.simple_tag
def bundle(name: str) -> SafeString:
    """The styles or scripts of every page: as one file, or its parts where names are plain."""
    element = '<script src="{}" defer></script>'
    if name.endswith(".css"):
        element = '<link rel="stylesheet" href="{}">'
    parts = settings.STATIC_BUNDLES[name] if settings.ASSAY_PLAIN_STATIC else [name]
    return format_html_join("\n", element, ((static(part),) for part in parts))
