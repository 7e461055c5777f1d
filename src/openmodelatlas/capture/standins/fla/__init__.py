"""Stand-ins for the package ``fla``; ``packages.py`` lists its modules."""
