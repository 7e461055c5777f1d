"""NumPy references of the catalogue's mechanisms: functions from bound symbols to outputs, in float64.

Each takes arrays and numbers by the names that the entry's ``symbols`` give them, and returns the output, or a tuple of
outputs in the order of the front matter. They are written to be read: the formula, one step a line.
"""
