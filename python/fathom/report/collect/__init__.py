"""What a report is made of: from experiments, runs and files of results to ``Material``."""
