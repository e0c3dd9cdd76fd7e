"""The AGP wire: devices."""
