"""What this machine can run and why not, a check each."""
