"""Run the embedded stack: real servers as processes on this machine."""
