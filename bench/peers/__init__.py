"""Programs to compare with that are ours; each runs alone, started by its side."""
