"""Run before anything is installed. Uses the standard library alone."""
