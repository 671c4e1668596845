"""Models a study file: what is varied, how it is measured, and what is wanted of it."""
