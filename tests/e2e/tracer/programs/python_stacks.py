"""Calls CUDA in every state that Python code can be in, and says of each call which stack it was made from.

What it writes to argv[1] is a list of [tid, frames], and a frame is [file, function, first line, byte in its code,
line], the innermost first. With HOLD_S it stays where each call was made for so many seconds, and [tid, frames] is
followed by the first and the last nanosecond of that.
"""
import asyncio
import ctypes
import functools
import json
import os
import random
import sys
import threading
import time

cuda = ctypes.CDLL(os.environ["TEST_CUDART"])
hold_s = float(os.environ.get("HOLD_S", 0))
rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 60
expected, lock = [], threading.Lock()
tid = threading.get_native_id if hasattr(threading, "get_native_id") else threading.get_ident


def frames_from(frame):
    stack = []
    while frame is not None:
        code = frame.f_code
        name = getattr(code, "co_qualname", code.co_name)
        stack.append([code.co_filename, name, code.co_firstlineno, max(frame.f_lasti, 0), frame.f_lineno])
        frame = frame.f_back
    return stack


def note(*facts):
    with lock:
        expected.append([tid(), *facts])


class Call:
    """`call()` makes a CUDA call; its own frame is the innermost one."""

    def __call__(self):
        result = cuda.cudaDeviceSynchronize() or note(frames_from(sys._getframe()))
        return result


class Hold:
    """As Call, but it stays there, in one line."""

    def __call__(self):
        cuda.cudaDeviceSynchronize()
        frames, begin, _, end = frames_from(sys._getframe()), time.monotonic_ns(), time.sleep(hold_s), time.monotonic_ns()
        note(frames, begin, end)


# The frame is in another instruction of its line when it says where it is, so what counts of the innermost frame is
# its line; all others are at the same instruction.
call = Hold() if hold_s else Call()


def plain(rest, rng):
    step(rest, rng)


def many_lines(rest,
               rng):
    value = [
        0,
        step(rest,
             rng),
    ]
    return value


def generator(rest, rng):
    def inner():
        yield 1
        step(rest, rng)
        yield 2
    for _ in inner():
        pass


def delegating(rest, rng):
    def inner():
        yield
        step(rest, rng)

    def outer():
        yield from inner()
    list(outer())


def coroutine(rest, rng):
    async def leaf():
        step(rest, rng)

    async def branch():
        await leaf()
    co = branch()
    try:
        co.send(None)
    except StopIteration:
        pass


def event_loop(rest, rng):
    async def leaf():
        await asyncio.sleep(0)
        step(rest, rng)
    try:
        asyncio.get_running_loop()
        step(rest, rng)
    except RuntimeError:
        asyncio.run(leaf())


def sorting(rest, rng):
    sorted([1], key=lambda x: step(rest, rng) or x)


def mapping(rest, rng):
    list(map(functools.partial(lambda r, x: step(r, rng), rest), [1]))


def comprehension(rest, rng):
    return [step(rest, rng) for _ in range(1)]


class Maker:
    def __init__(self, rest, rng):
        step(rest, rng)

    @property
    def made(self):
        return step(*self.arguments)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        step(*self.arguments)


def making(rest, rng):
    for _ in range(3):
        Maker((), rng)
    Maker(rest, rng)


def looking(rest, rng):
    maker = Maker.__new__(Maker)
    maker.arguments = rest, rng
    return maker.made


def leaving(rest, rng):
    maker = Maker.__new__(Maker)
    maker.arguments = rest, rng
    with maker:
        pass


def failing(rest, rng):
    try:
        raise ValueError
    except ValueError:
        step(rest, rng)
    finally:
        step((), rng)


def called_back(rest, rng):
    ctypes.CFUNCTYPE(None)(lambda: step(rest, rng))()


class Dying:
    def __del__(self):
        step(*self.arguments)


def dying(rest, rng):
    value = Dying()
    value.arguments = rest, rng
    del value


def executed(rest, rng):
    """Code that is made, run and freed; the next one has its address."""
    name = "generated_%d_é" % rng.randrange(1000) if rng.random() < 0.3 else "generated_%d" % rng.randrange(1000)
    source = "\n" * rng.randrange(3) + "def %s(step, rest, rng):\n%s  step(rest, rng)\n" % (name, "  pass\n" * rng.randrange(4))
    scope = {}
    exec(compile(source, "<made %s>" % name, "exec"), scope)
    scope[name](step, rest, rng)


def deep(rest, rng, more=40):
    if more > 0:
        deep(rest, rng, more - 1)
    else:
        step(rest, rng)


STATES = [plain, many_lines, generator, delegating, coroutine, event_loop, sorting, mapping, comprehension, making,
          looking, leaving, failing, called_back, dying, executed, executed, executed, deep]


def step(rest, rng):
    call()
    if rest:
        rest[0](rest[1:], rng)
        call()


def work(seed, count):
    rng = random.Random(seed)
    for _ in range(count):
        step(tuple(rng.choice(STATES) for _ in range(rng.randrange(7))), rng)


work(1, rounds)
threads = [threading.Thread(target=work, args=(seed, rounds // 3)) for seed in (2, 3, 4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
with open(sys.argv[1], "w") as file:
    json.dump(expected, file)
