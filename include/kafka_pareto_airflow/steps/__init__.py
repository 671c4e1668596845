"""Run a step as an Airflow task, in a process, a container or a pod."""
