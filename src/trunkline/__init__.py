"""Trunkline: a self-hosted control plane for AI agents."""

__version__ = "0.1.0"
