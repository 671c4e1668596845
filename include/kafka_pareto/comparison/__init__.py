"""Comparisons: what each level of a factor does beside the reference, and how that is shown."""
