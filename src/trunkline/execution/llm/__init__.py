"""Models: providers, routing between them, and what their failures mean to a person."""
