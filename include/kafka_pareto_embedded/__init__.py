"""The embedded stack: real parts as processes on this machine."""
