from collections.abc import Iterable
from types import ModuleType
from typing import Any

import pandas

def installed(name: str) -> ModuleType: ...

class Results(list[dict[str, Any]]):
    name: str
    title: str
    note: str
    columns: tuple[str, ...]
    def __init__(self, name: str, title: str, note: str, columns: Iterable[str], rows: Iterable[dict[str, Any]]) -> None: ...
    def to_pandas(self) -> pandas.DataFrame: ...
