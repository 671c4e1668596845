"""Loads a log pipeline's topic into a Hive table."""
