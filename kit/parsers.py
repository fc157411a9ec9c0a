"""Bodies of requests. Apart from `kit.api`: Django REST framework loads this before its views."""

import json
from typing import Any, Final

from rest_framework.exceptions import ParseError, ValidationError
from rest_framework.parsers import JSONParser

# Lists and objects inside one another: more than any request of ours has, less than any stack.
_MOST_NESTED: Final = 50


class ShallowJSONParser(JSONParser):
    """JSON as Django REST framework reads it, refused where it is nested too deeply to handle, or
    holds half of a surrogate pair: no answer could quote it."""

    def parse(self, *args: Any, **kwargs: Any) -> Any:
        """The value; raises ParseError or, where a field can be named, ValidationError (400)."""
        try:
            value = super().parse(*args, **kwargs)
        except RecursionError:
            value = None
            depth = _MOST_NESTED
        else:
            depth = _depth(value)
        if depth >= _MOST_NESTED:
            raise ParseError(f"The JSON is nested more than {_MOST_NESTED} deep.")
        if not _is_unicode(value):
            said = "This holds half of a surrogate pair, which is not valid Unicode."
            fields = value.items() if isinstance(value, dict) else ()
            wrong = [key for key, each in fields if _is_unicode(key) and not _is_unicode(each)]
            raise ValidationError({key: [said] for key in wrong}) if wrong else ParseError(said)
        return value


def _is_unicode(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _depth(value: Any) -> int:
    """How deep lists and objects stand inside one another, as far as that matters."""
    level, depth = [value], 0
    while depth < _MOST_NESTED:
        level = [
            inner
            for each in level
            if isinstance(each, list | dict)
            for inner in (each.values() if isinstance(each, dict) else each)
        ]
        if not level:
            break
        depth += 1
    return depth
