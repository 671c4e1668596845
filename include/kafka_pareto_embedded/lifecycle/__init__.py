"""Start, supervise and stop the stack."""
