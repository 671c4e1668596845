"""Load generator that sends a shop's requests at a given rate, as customers would."""
