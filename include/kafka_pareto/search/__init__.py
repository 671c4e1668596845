"""Searches the surrogates: NSGA-III, acquisition, and the rule when to stop."""
