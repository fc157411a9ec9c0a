"""Models and money: one path for every call to a language model."""
