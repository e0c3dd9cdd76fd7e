"""Source document 000, the Semibot wire: its promises in the order of its sections."""
