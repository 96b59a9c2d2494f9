"""Models of other programs as language models of ours, one file each."""
