"""What an agent may do: rules, modes, and commands that only look. Pure, for both planes.

Nothing here asks, waits, or touches a file; whoever calls says where paths lead.
"""
