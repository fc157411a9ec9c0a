"""Numbers as they come in addresses and forms."""


def number(text: str) -> int | None:
    """A primary key from a URL, or None."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None
