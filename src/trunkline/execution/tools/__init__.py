"""What an agent can do on its machine."""
