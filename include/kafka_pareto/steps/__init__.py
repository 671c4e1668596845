"""One module per step: read artifacts, call the library, write a named artifact."""
