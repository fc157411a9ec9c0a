"""An OpenAI-compatible endpoint for tests, in its own process, with its own bill and faults."""
