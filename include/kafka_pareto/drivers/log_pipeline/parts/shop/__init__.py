"""Is an online shop whose requests a log pipeline follows."""
