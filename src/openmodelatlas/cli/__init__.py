"""The command line: arguments, progress, messages and exit codes. Each command is imported when it is called."""
