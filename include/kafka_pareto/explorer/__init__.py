"""Build the data of the explorer's pages."""
