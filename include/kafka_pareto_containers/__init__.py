"""Prepare the stack in containers: its secrets, databases, buckets, and Airflow's users."""
