"""The SemiGraph runtime: a LangGraph graph and what its nodes know."""
