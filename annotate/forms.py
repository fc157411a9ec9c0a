"""What forms of several nouns share."""

from django import forms

from annotate.workspace.changes import plain


class TextField(forms.CharField):
    """A longer text. Its line ends count as one character, as they do in the browser."""

    def to_python(self, value: object) -> str:
        """The text as it is stored."""
        return str(plain(super().to_python(value)))
