"""Source document 004, the execution plane, in the order of its sections.

A requirement that the document has in several places stands once, where it says most about it; the
appendix is folded into §3.2 (A), §9 (B) and §3.3 (C).
"""
