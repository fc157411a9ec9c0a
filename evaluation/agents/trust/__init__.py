"""How far a judge of answers can be trusted: people beside it, bridges, noise, confidence."""
