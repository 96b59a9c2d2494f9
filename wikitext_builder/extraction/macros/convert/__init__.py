"""`{{convert}}`, as Module:Convert shows it.

`conversions` has the macros and reads a call, `arguments` its numbers and options. `units` has the units of
`data/convert/`, `rounding` converts and decides the number of digits, `outputs` joins values and units.
"""
