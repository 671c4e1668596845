"""Run the steps of the pipeline, one per module: read argv, call the library once, write artifacts."""
