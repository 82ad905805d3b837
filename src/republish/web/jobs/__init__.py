"""What takes long at the desk: a queue, the processes that work, and what was interrupted."""
