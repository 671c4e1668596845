"""Search over the surrogates: NSGA-III, acquisition, and when to stop."""
