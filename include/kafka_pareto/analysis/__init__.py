"""Statistics of repetitions: values, trials, gains, noise, drift, dominance. No I/O."""
