"""Search agents under test: what an agent finds and answers with a retriever."""
