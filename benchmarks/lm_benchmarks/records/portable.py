"""Commands and names of records: without the folders of the machine that wrote them, and in one line."""

from __future__ import annotations

import re


def portable(argument: str) -> str:
    """An argument of a command without the folders of this machine, and without passwords in addresses.

    >>> portable("mix:/data/runs/lstm-small,kn-5+cache"), portable("../shared/data/ptb")
    ('mix:lstm-small,kn-5+cache', '../shared/data/ptb')
    >>> portable("mix:/data/my runs/lstm small,/my data/x")
    'mix:lstm small,x'
    >>> portable("python /a/b c/x.py /d/y")
    'python x.py y'
    >>> portable("command:awk -f '/data/me/x.awk'"), portable("completions:http://me:secret@host/v1/x")
    ("command:awk -f 'x.awk'", 'completions:http://host/v1/x')
    """
    argument = re.sub(r"(?<=://)[^/@\s]*@", "", argument)
    no = r"/,:\s" if "command:" in argument else "/,:"  # folders may have spaces; a program's line has words
    return re.sub(rf"(?<![^:,=\s'\"])/(?:[^{no}]*[^{no}\s]/)+(?=[^{no}])", "", argument)


def one_line(text: str) -> str:
    r"""A text of a record, perhaps a stranger's, without line ends and characters that steer a terminal.

    >>> one_line("a model\nof 2 lines\x1b[2J")
    'a model of 2 lines\\x1b[2J'
    """
    return "".join(c if c.isprintable() else " " if c.isspace() else ascii(c)[1:-1] for c in text)
