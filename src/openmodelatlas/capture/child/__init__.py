"""The child process: runs the model's code and records it. The only part of capture that imports torch."""
