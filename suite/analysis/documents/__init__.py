"""Reading what a campaign left, and refusing what breaks the rules."""
