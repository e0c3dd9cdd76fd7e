"""What a scripted machine is at."""


class Job:
    """One turn at work."""

    def __init__(self, session_id: str, turn_id: str) -> None:
        self.session_id = session_id
        self.turn_id = turn_id
        self.said = 0
        self.pieces = 0
        self.questions: list[str] = []
        """What a person has still to be asked, or has not answered."""
        self.is_asking = False
        self.is_cancelled = False
        self.is_over = False
        self.steers: list[str] = []
        """What was said to it and has not reached its model."""
        self.took: list[str] = []
        """What of that has."""
