"""Machines: their lines, what waits for them, the local ones' processes."""
