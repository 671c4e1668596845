"""Sends a shop's requests to the web server at whose log a pipeline begins: as people would, at a rate of our own."""
