"""Models of study files: what is varied, how it is measured, and what is wanted."""
