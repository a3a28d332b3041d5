"""Other DiskSpds: reads their results, writes their arguments and profiles, and runs them."""
