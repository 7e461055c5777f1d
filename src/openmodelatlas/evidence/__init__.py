"""Claims and the source lines that prove them.

Direct evidence is the code that is a node; contextual evidence is inherited from the node that encloses or produces it.
"""
