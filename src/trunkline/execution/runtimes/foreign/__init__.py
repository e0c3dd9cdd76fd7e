"""Conversations that people began with other programs in the terminal: read, never written."""
