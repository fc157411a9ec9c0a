"""Long texts in windows that a model can take."""

from llm.profiles import likely_tokens


def windows(text: str, most: int) -> list[str]:
    """The text in pieces of about `most` tokens at most, cut at blank lines where it can be.

    A paragraph that is longer is cut at line ends, then at the ends of sentences, then between
    words. The pieces put together are the text, letter by letter.
    """
    if likely_tokens(text) <= most:
        return [text]
    found, current = [], ""
    for piece in _pieces(text, most, 0):
        if current and likely_tokens(current + piece) > most:
            found.append(current)
            current = ""
        current += piece
    return [*found, current] if current else found


_SEPARATORS = ("\n\n", "\n", ". ", " ")


def _pieces(text: str, most: int, level: int) -> list[str]:
    if likely_tokens(text) <= most:
        return [text]
    if level == len(_SEPARATORS):
        size = 4 * most
        return [text[at : at + size] for at in range(0, len(text), size)]
    separator = _SEPARATORS[level]
    rough = text.split(separator)
    whole = [each + separator for each in rough[:-1]] + ([rough[-1]] if rough[-1] else [])
    return [piece for each in whole for piece in _pieces(each, most, level + 1)]
