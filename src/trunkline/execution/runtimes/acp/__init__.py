"""ACP: any agent that speaks the Agent Client Protocol, as a runtime."""
