"""Where model code and configurations come from, pinned. The only network access of the package."""
