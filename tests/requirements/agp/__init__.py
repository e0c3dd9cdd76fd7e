"""Source document 003, the AGP wire, in the order of its sections."""
