"""`{{convert}}`, as Module:Convert shows it.

`conversions` has the macros and puts the text together, `measures` reads the values and the unit of a call,
`styles` its named arguments; `units` has the units, and `rounding` decides the number of digits.
"""
