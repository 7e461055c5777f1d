"""Stand-ins for the package ``mamba_ssm``; ``packages.py`` lists its modules."""
