"""Share code between DAGs and plugins. Imports Airflow but no heavy packages; runs steps by their command lines."""
