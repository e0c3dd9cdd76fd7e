"""What an attacker cannot do: a file for each door that was found open, and for each public
incident of programs like this one."""
