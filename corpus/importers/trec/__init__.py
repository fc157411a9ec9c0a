"""TREC collections: topics in every form of theirs, documents, and a folder with both."""
