"""One module per step: read earlier artifacts, call the library, write one named artifact."""
