"""Fit surrogate models of the objectives, and score them."""
