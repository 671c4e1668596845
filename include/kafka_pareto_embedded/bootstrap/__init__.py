"""Code that runs before anything is installed, with the standard library only."""
