"""Tests of the services that hand orders on."""
