"""What players say, and which promises they keep."""
