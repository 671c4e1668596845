"""One module per step of the pipeline: argv in, one library call, artifact out."""
