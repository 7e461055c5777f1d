"""Stand-ins for the package ``flash_attn``; ``packages.py`` lists its modules."""
