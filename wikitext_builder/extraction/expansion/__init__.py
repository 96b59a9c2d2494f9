"""Expands calls of plain wikitext templates offline, by the rules of MediaWiki's preprocessor.

`inclusion` takes what a template page gives to other pages, `nodes` finds its calls and parameters, and
`expander` expands them. `functions`, `texts` and `variables` are the parser functions.
"""
