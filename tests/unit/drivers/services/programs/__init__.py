"""Tests of the services that pass orders on."""
