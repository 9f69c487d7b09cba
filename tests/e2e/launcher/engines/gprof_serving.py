"""A double: writes what it is told to the file $TOLD."""
import os

NAMED, ARRIVED, TOKENS_OUT, PREEMPTED, FINISHED, ABORTED = range(6)
_WORDS = ["named", "arrived", "tokens", "preempted", "finished", "aborted"]
_steps = 0


def _write(*words):
    with open(os.environ["TOLD"], "a", encoding="utf-8") as file:
        file.write(" ".join(map(str, words)) + "\n")


def request_by_ns(name, kind, tokens, ago_ns):
    assert isinstance(ago_ns, int) and ago_ns >= 0
    _write(_WORDS[kind], name, *[tokens] * bool(tokens), *["long ago"] * (ago_ns > 4e9))


def handed_out(names, counts):
    _write("tokens", *(f"{name}:{count}" for name, count in zip(names, counts)))


def forget(name):
    _write("forget", name)


def begin_step():
    global _steps
    _steps += 1
    _write("begin", _steps)
    return _steps


def end_step(begin, names, tokens, cached, tokens_out, is_prefill, waiting=0, cache_used=0, cache_blocks=0):
    columns = [list(names), *(list(map(int, column)) for column in (tokens, cached, tokens_out, is_prefill))]
    assert len({len(column) for column in columns}) == 1, columns
    rows = [f"{name}:{n}+{behind}{'dp'[is_of_prompt]}{out}" for name, n, behind, out, is_of_prompt in zip(*columns)]
    _write("end", begin, *rows, f"waiting={waiting} used={cache_used}/{cache_blocks}")
