"""Asks a wiki's API over HTTP; knows languages, titles, dates and kinds of pages."""
