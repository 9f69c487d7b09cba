from typing import Any, Callable, Optional

from .results import Results

def measure(work: Callable[[], object], chosen: Optional[str], timeout_s: float, read: Callable[[str], Any]) -> Results: ...
