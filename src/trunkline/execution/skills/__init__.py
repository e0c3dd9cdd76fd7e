"""Skill packages: what is needed, where they are kept, how they run."""
