"""What people ask for, checked on the pages of the registry models."""
