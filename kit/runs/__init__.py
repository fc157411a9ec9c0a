"""Long work: its rows, who works on it, and how workers are told."""
