"""The execution plane's side of the suite: sessions, turns and first words, each with its peer."""
