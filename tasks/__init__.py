"""Runs the steps of the pipeline, one per module: reads argv, calls the library once, writes artifacts."""
