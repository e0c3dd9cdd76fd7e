"""The MyAgent wire: web clients."""
