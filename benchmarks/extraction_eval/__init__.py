"""How faithful extraction is to what a reader of Wikipedia sees."""
