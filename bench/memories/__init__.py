"""How well and how fast long-term memories are found.

`pairs.tsv` has questions, each with the memory that answers it; `others.txt` memories that answer
none of them. They were written before the search was.
"""
