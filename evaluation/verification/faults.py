"""What is wrong with one row of evidence."""


class Fails(ValueError):
    """The row's own evidence gives no label, or contradicts itself; the words say why."""
