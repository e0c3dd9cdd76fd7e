"""The Yeaft wire: agents."""
