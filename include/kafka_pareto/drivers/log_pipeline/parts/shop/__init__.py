"""An online shop whose requests a log pipeline follows."""
