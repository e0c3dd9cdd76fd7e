"""The Yeaft wire (source document 002): web clients and agents, in their two dialects."""
