"""User names that a person may have: ones that nobody else's is read as."""

import unicodedata
from collections.abc import Mapping

from django.contrib.auth.models import User
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.exceptions import ValidationError

from kit.errors import Refused

# How pseudonyms begin, of whoever was erased and of people of other installations.
ERASED = "erased-"
# Letters of other scripts and digits, each above the Latin letter that it is read as.
_READ_AS = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u0501\u03b1\u03bf\u03c1\u03bd\u03b901i",
    "aeopcyxljsdaopvloll",
)


def taken_names() -> dict[str, str]:
    """Every user name by how it is read; read once for many names that are wanted at once."""
    return {looks(name): name for name in User.objects.values_list("username", flat=True)}


def check_name(name: str, taken: Mapping[str, str] | None = None) -> str:
    """The name as it is kept; Refused for what is no name, and for what reads like another's."""
    name = User.normalize_username(name)
    try:
        UnicodeUsernameValidator()(name)
    except ValidationError:
        message = f"{name}: use letters, digits and @ . + - _ only."
        raise Refused(message, field="username") from None
    if name.casefold().startswith(ERASED):
        raise Refused(f"Names that begin with {ERASED} are pseudonyms.", field="username")
    other = (taken_names() if taken is None else taken).get(looks(name))
    if other is not None:
        raise Refused(f"{name} reads like {other}, who has an account.", field="username")
    return name


def looks(name: str) -> str:
    """How a name is read in a list of people: names that read alike look the same here."""
    letters = unicodedata.normalize("NFKD", name.casefold()).translate(_READ_AS)
    bare = (each for each in letters if not unicodedata.combining(each))
    return "".join(each if each.isalnum() else "-" for each in bare)
