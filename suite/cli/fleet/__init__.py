"""What became of a fleet: how each machine's campaign ended, why, and what came home."""
