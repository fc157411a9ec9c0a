"""Workers that are killed at named points and at random, and a checker of what they leave."""
