"""How somebody else knows that a report is what was measured: its checks, and the file to attach."""
