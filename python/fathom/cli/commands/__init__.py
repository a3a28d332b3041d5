"""The verbs, one file each: ``fathom.cli.verbs`` knows which."""
