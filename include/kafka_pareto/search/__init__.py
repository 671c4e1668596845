"""Search the surrogates: NSGA-III, acquisition and the stopping rule."""
