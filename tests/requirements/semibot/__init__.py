"""Source document 000, the Semibot wire, in the order of its sections."""
