"""Source document 003, the AGP wire: its promises in the order of its sections."""
