"""Checks a cluster, its clients and its machines against published advice, and sizes a cluster. Read only."""
