"""Loads what a log pipeline hands on into a Hive table."""
