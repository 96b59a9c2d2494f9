"""`{{convert}}`: units, rounding and styles."""
