"""Who may do what: tokens, keys, refusals, the first start."""
