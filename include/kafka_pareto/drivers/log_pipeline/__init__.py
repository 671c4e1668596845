"""Log pipelines from a web server's access log to a Hive table, with a timestamp at each hop."""
