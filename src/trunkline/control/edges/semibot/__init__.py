"""The Semibot wire: execution planes."""
