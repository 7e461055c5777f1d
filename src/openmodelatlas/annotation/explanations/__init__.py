"""What happens at a place, with the lines that prove it."""
