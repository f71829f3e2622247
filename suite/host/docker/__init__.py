"""The docker engine; the only folder that imports docker."""
