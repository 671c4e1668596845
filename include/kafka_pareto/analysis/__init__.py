"""Computes statistics of repetitions: values, trials, gains, noise, drift, dominance. No input or output."""
