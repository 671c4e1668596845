"""Read client settings, and query clusters, topics and end offsets."""
