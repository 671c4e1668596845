"""A step as an Airflow task: by process, container or pod."""
