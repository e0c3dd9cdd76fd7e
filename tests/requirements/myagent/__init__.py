"""Source document 001, the MyAgent wire, in the order of its headings.

The document does not number them; here 1 is its overview, 2 the core concepts, 3 the event types,
4 the flows, 5 the environment, 6 errors, 7 best practices.
"""
