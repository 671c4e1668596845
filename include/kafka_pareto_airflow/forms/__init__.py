"""Defines the trigger forms of the DAGs."""
