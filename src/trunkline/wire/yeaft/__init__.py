"""The Yeaft wire (docs/protocols/yeaft.md): web clients and agents, in their two dialects."""
