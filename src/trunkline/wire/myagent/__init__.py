"""The MyAgent wire (docs/protocols/myagent.md): clients that people use."""
