"""The soak: the crowd for a quarter of an hour, in which nothing may grow but what is stored."""
