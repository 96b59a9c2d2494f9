"""Models of other programs as language models, one file each."""
