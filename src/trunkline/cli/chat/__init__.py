"""`trunkline chat`: a session in a terminal, what is said, shown and asked there."""
