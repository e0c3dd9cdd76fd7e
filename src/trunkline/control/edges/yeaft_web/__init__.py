"""The Yeaft wire: web clients."""
