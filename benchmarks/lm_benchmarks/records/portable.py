"""Commands and names in records, without the folders of the machine that wrote them."""

from __future__ import annotations

import re


def portable(argument: str) -> str:
    """An argument of a command without the folders of this machine.

    >>> portable("mix:/data/runs/lstm-small,kn-5+cache"), portable("../shared/data/ptb")
    ('mix:lstm-small,kn-5+cache', '../shared/data/ptb')
    """
    return re.sub(r"(?<![^:,=\s])/(?:[^/,:\s]+/)+(?=[^/,:\s])", "", argument)
