"""The HTML page of a trace in a notebook, or in a browser where there is no notebook."""

import html
import os
import sys
import tempfile

from . import _core


def _has_notebook():
    """A front end that shows HTML is listening: IPython in a terminal has no kernel."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return getattr(shell, "kernel", None) is not None


def _frame(page, height):
    # In a sandbox without an origin the page cannot reach the notebook around it.
    return (f'<div><iframe srcdoc="{html.escape(page)}" sandbox="allow-scripts allow-downloads allow-modals" '
            f'style="width:100%;height:{int(height)}px;border:1px solid #8888"></iframe></div>')


def show_page(page, height):
    if _has_notebook():
        from IPython.display import HTML, display
        display(HTML(_frame(page, height)))
        return None
    descriptor, path = tempfile.mkstemp(prefix="gprof-cli-", suffix=".html")
    with open(descriptor, "w", encoding="utf-8") as file:
        file.write(page)
    _core.open_file(os.path.abspath(path))
    return path
