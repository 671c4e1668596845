"""The trigger forms of the DAGs."""
