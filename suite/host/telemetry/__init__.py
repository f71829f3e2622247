"""Watching an invocation from outside: GPU and machine sensors."""
