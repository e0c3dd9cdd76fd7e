"""The page under load, in a real Chromium."""
