"""Start, supervises and stop the stack."""
