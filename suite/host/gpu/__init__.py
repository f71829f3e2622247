"""GPUs as the host sees them: which there are, which is meant, how to ask for it, what a refusal means."""
