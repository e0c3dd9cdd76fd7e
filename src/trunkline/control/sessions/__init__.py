"""Sessions: their turns and questions, their records, and what clients may do with them."""
