"""Who may do what: tokens, keys, refusals."""
