"""Show a run and its cards on the terminal."""
