"""What is stored: how long a commit takes, what a session weighs, and how it is read again."""
