"""Stand-ins for the package ``causal_conv1d``; ``packages.py`` lists its modules."""
