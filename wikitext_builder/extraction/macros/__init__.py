"""Macros: the text of templates. `registry.MACROS` has them all, by the name of the template.

Texts with arguments are rows of `data/patterns.tsv`; a macro that computes is a function of its family's
module, with its names in the decorator `@macro`.
"""
