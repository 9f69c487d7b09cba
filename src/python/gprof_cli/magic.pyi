import os
from typing import Any, Callable, Union

from . import Trace

class CellError(RuntimeError): ...

class CellMagic:
    def __init__(self, ipython: Any, read: Callable[[Union[str, os.PathLike[str]]], Trace]) -> None: ...
    def __call__(self, line: str, cell: str) -> Trace: ...
