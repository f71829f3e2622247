"""A campaign: its plan, its order, its documents."""
