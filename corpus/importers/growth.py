"""When a compressed file unpacks to far more than data ever does, it is a bomb."""

# Text that people arrive with grows three to ten times; what is all alike, a hundred times.
MOST_TIMES = 200
ALWAYS_FINE = 64 * 1024 * 1024
TOO_MUCH = (
    "The compressed files hold more than may be loaded at once (ASSAY_IMPORT_LIMIT); "
    "load them in parts."
)
TOO_DENSE = "This unpacks to far more than its size; unpack it yourself and check what it holds."


def is_bomb(*, packed: int, unpacked: int) -> bool:
    """Whether so many bytes out of so few are more than any honest file gives."""
    return unpacked > max(ALWAYS_FINE, MOST_TIMES * packed)
