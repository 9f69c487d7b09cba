"""What the stubs of serving engines share: which version they are, and what that one lacks.

A stub has the classes, methods and fields by which the hooks know an engine, under the names that they have in the
published version, and as much behaviour as makes requests arrive, be computed in parts, be preempted, finish and be
aborted. None of the engines' code is in it.
"""
import os

TEXT = os.environ["STUB_VERSION"]
VERSION = tuple(map(int, TEXT.split(".")))


def drop_what_is_lacking(module):
    """STUB_LACKS is `Class.method`, `Class` or empty."""
    kind, _, name = os.environ.get("STUB_LACKS", "").partition(".")
    if kind in module and module[kind].__module__ == module["__name__"]:
        if name:
            delattr(module[kind], name)
        else:
            del module[kind]
