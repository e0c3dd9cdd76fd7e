"""The words of document 003 that devices and the control plane choose from."""

STOP_REASONS = ("end_turn", "cancelled", "refusal", "error")
STATUSES = ("pending", "in_progress", "completed", "failed")
