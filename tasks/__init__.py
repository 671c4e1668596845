"""Run the pipeline's steps, one per module: read argv, call the library once, write artifacts."""
