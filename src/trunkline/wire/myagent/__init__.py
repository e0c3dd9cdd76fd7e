"""The MyAgent wire (source document 001): clients that people use."""
