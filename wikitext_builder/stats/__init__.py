"""What is measured of a corpus, and its plots."""
