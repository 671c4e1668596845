"""Describe the traffic of topics, and what other producer settings would store. Changes nothing on the cluster."""
