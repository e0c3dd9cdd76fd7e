"""Backups of a running system: one archive, made, checked and put back."""
