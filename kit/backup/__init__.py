"""One file that holds an installation: every row whatever the database, and the files they name."""

from django.dispatch import Signal

# Sent when a backup is in its place and its rows are of this version, with `before`, the data
# folder it was taken from: rooms make anew what the file leaves out.
restored = Signal()
# Sent in the transaction that brings the rows in, with `columns_of(table)` in the version that
# wrote them: what must not go on by itself is stopped.
loaded = Signal()
