"""Surrogate models of the objectives, and how well they predict."""
