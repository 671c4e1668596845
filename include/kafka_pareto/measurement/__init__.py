"""Measuring: planned repetitions on a testbed, judged and stored one by one."""
