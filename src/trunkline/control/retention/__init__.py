"""How long and how much of each session's log is kept, and who cuts off the rest."""
