"""An invocation: one container's life, what is heard of it, and its document as it grows."""
