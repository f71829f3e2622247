"""Versions of an arm beside each other: what differs, which part became slower, and at which step."""
