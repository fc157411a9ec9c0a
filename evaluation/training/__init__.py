"""Data to train retrievers on: graded pairs, labels, written documents, and their export."""
