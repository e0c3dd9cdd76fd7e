"""A runtime whose program is driven from Python: what all of those have in common."""
