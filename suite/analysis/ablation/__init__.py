"""Where the time goes: differences between cells that differ in one thing."""
