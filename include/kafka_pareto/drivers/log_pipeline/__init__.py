"""Runs log pipelines: from a web server's access log to a Hive table, with a stamp at each hop."""
