"""`{{convert}}`, as Module:Convert shows it.

`conversions` has the macros and reads a call, `values` its numbers, `options` its
named arguments. `units` has the units, `rounding` converts and decides the number of digits, `names` decides
between symbols and names, and `outputs` puts values and units together.
"""
