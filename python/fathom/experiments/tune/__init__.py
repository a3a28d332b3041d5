"""Tuning: the threads and the queue depth of the knee, or under a limit of latency."""
