"""Pages as a browser reads them, whatever the layout of their source."""

import re
from typing import Any

# Elements beside which white space is not seen.
BLOCKS = (
    "html|head|body|title|main|header|footer|nav|section|article|div|p|h[1-6]|ul|ol|li|dl|dt|dd|form"
    "|fieldset|legend|details|summary|figure|figcaption|blockquote|table|thead|tbody|tr|td|th"
    "|caption|dialog|option|svg|rect|text|br"
)


def one_line(response: Any) -> str:
    """The body without the line breaks and the indentation of the templates that it is made of."""
    page = re.sub(r"\s*\n\s*", "\n", response.content.decode())
    page = re.sub(r"<[^<>]*>", lambda tag: tag[0].replace("\n>", ">").replace("\n", " "), page)
    page = re.sub(rf"\n?(</?(?:{BLOCKS})\b[^<>]*>)\n?", r"\1", page)
    page = re.sub(r"(<[a-z][^<>]*>)\n|\n(?=</)", r"\1", page)
    return page.replace("\n", " ").strip()
