"""Check a cluster, its clients and its machines against published advice, and size a cluster. Read only."""
