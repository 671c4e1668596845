"""What runs before anything is installed. Standard library alone."""
