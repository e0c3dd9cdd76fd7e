"""Source document 004, the execution plane: its promises in the order of its sections.

A promise that the document makes in several places stands once, where it says most about it; the
appendix is folded into §3.2 (A), §9 (B) and §3.3 (C).
"""
