"""The local engine: the same worker without a container."""
