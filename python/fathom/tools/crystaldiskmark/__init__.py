"""CrystalDiskMark: reads its results."""
