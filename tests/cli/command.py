"""The command line, run in this process as a shell would run it."""

import contextlib
import io
import os
import sys
from dataclasses import dataclass
from unittest import mock

from separatrix.cli.main import main


@dataclass
class Outcome:
    returncode: int
    stdout: str
    stderr: str


def separatrix(*arguments, cwd=None) -> Outcome:
    out, err, code = io.StringIO(), io.StringIO(), 0
    with contextlib.ExitStack() as stack:
        stack.enter_context(mock.patch.object(sys, "argv", ["separatrix", *map(str, arguments)]))
        stack.enter_context(contextlib.redirect_stdout(out))
        stack.enter_context(contextlib.redirect_stderr(err))
        if cwd is not None:
            stack.enter_context(contextlib.chdir(cwd))
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
    assert os.path.isdir(os.getcwd())
    return Outcome(code, out.getvalue(), err.getvalue())
