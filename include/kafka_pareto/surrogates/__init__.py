"""Fits surrogate models of the objectives, and scores how well they predict."""
