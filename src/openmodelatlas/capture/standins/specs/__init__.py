"""What each kernel computes, as data. Nothing here imports torch."""
