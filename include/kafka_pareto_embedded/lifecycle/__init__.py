"""Starting, supervising and stopping the stack."""
