"""The validation gate, by Great Expectations."""
