"""User names that a person may have: ones that nobody else's is read as."""

import re
import unicodedata
from collections.abc import Mapping

from django.contrib.auth.models import User
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.exceptions import ValidationError

from kit.errors import Refused

# How pseudonyms begin, of whoever was erased and of people of other installations.
ERASED = "erased-"
# Letters of other alphabets and digits, each above the Latin letter that it is read as, small or
# capital.
_READ_AS = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u0501"  # Cyrillic
    "\u0432\u043d\u043a\u043c\u0442\u04bb\u04cf\u051b\u051d"
    "\u03b1\u03bf\u03c1\u03bd\u03b9\u03b2\u03b5\u03ba\u03bc\u03c4\u03c7"  # Greek
    "\u0585\u057d\u0570\u0578\u0581"  # Armenian
    "\u0251\u0269\u01c001i",  # Latin alpha, iota, click; digits
    "aeopcyxljsdbhkmthlqwaopvlbekmtxouhngalloll",
)
# A Latin letter with a stroke or hook, without its dot, or as a small capital.
_LATIN = re.compile(
    r"LATIN (?:SMALL LETTER|LETTER SMALL CAPITAL) (?:DOTLESS |SCRIPT )?([A-Z])(?: WITH .*)?"
)
# Alphabets that are written together, and with any other.
_TOGETHER = {"CJK", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO", "MODIFIER"}


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
    for word in re.split(r"[\W_]+", name):
        alphabets = sorted(_alphabets(word))
        if len(alphabets) > 1:
            message = (
                f"{name} mixes {' and '.join(alphabets)} letters in a word, which can pass for "
                "another name. Write each word in one alphabet."
            )
            raise Refused(message, field="username")
    if name.casefold().startswith(ERASED):
        raise Refused(f"Names that begin with {ERASED} are pseudonyms.", field="username")
    other = (taken_names() if taken is None else taken).get(looks(name))
    if other is not None:
        raise Refused(f"{name} reads like {other}, who has an account.", field="username")
    return name


def looks(name: str) -> str:
    """How a name is read in a list of people: names that read alike look the same here."""
    letters = unicodedata.normalize("NFKD", name.casefold()).translate(_READ_AS)
    bare = "".join(_plain(each) for each in letters if not unicodedata.combining(each))
    return bare.replace("rn", "m").replace("vv", "w")


def _plain(letter: str) -> str:
    if not letter.isalnum():
        return "-"
    found = None if letter.isascii() else _LATIN.fullmatch(unicodedata.name(letter, ""))
    return found[1].lower().translate(_READ_AS) if found else letter


def _alphabets(word: str) -> set[str]:
    """Those whose letters it has: "Latin", "Cyrillic"."""
    names = (unicodedata.name(each, "").split("-")[0].split(" ")[0] for each in word)
    letters = (name for name, each in zip(names, word, strict=True) if each.isalpha())
    return {name.capitalize() for name in letters if name not in _TOGETHER}
