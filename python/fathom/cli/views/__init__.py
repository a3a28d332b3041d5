"""What the verbs show on a terminal."""
