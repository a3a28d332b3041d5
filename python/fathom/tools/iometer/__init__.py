"""Iometer: reads its results and its configurations, and says a load in its terms."""
