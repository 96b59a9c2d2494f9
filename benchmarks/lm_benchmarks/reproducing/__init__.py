"""Trains and measures the rows of a published table: a plan, a queue that resumes, a page of its state."""
