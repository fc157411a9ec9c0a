"""Whole numbers out of addresses, forms and files of people."""

# No key is longer; neither is what a 64-bit column keeps.
_DIGITS = 18


def number(text: str) -> int | None:
    """The whole number, from 0, that a text of ASCII digits is; None for any other text.

    str.isdigit() alone holds for “²”, and int() refuses thousands of digits.
    """
    return int(text) if is_number(text) else None


def is_number(text: str) -> bool:
    """Whether `number` reads it."""
    return text.isascii() and text.isdigit() and len(text) <= _DIGITS
