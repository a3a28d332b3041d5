"""Comparing: runs of the store (``saved``), or A and B measured interleaved (``interleaved``)."""
