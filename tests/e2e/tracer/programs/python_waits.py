"""Waits in each way that Python has, for something that comes 20 ms later; says by what words, at which lines, and at which
line of the program another thread ends the wait."""
import asyncio
import concurrent.futures
import ctypes
import json
import os
import queue
import sys
import threading
import time

expected = []


def here(word, ended=None):
    """The next line is the one that waits. `ended`: how many lines before this one the wait is ended."""
    line = sys._getframe(1).f_lineno
    expected.append([word, line + 1, ended and line - ended])


def soon(what):
    def work():
        time.sleep(0.02)
        what()
    thread = threading.Thread(target=work)
    thread.start()
    return thread


def queues():
    items = queue.Queue(), queue.SimpleQueue()
    soon(lambda: items[0].put(1))
    here("queue.Queue.get", 1)
    items[0].get()
    soon(lambda: items[1].put(1))
    here("queue.SimpleQueue.get", 1)
    items[1].get()


def locks():
    for lock in (threading.Lock(), threading.RLock()):
        has_it = threading.Event()

        def hold():
            lock.acquire()
            has_it.set()
            time.sleep(0.02)
            lock.release()
        threading.Thread(target=hold).start()
        has_it.wait()
        here("a Python lock", 3)
        with lock:
            pass


def conditions():
    event, condition, semaphore = threading.Event(), threading.Condition(), threading.Semaphore(0)
    soon(lambda: event.set())  # pylint: disable=unnecessary-lambda
    here("threading.Event.wait", 1)
    event.wait()

    def notify():
        with condition:
            condition.notify()
    with condition:
        soon(notify)
        here("threading.Condition.wait", 3)
        condition.wait()
    soon(semaphore.release)
    here("threading.Semaphore.acquire")
    semaphore.acquire()


def others():
    thread = soon(lambda: None)
    here("threading.Thread.join")
    thread.join()
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        future = pool.submit(time.sleep, 0.02)
        here("concurrent.futures.Future.result")
        future.result()
    here("asyncio's event loop")
    asyncio.run(asyncio.sleep(0.02))


def wait_for_a_round():
    """The trace grows at the end of a round; the one after that has begun since."""
    end = time.monotonic() + 60
    for _ in range(2):
        size = os.path.getsize(os.environ["GPROF_OUTPUT"])
        while os.path.getsize(os.environ["GPROF_OUTPUT"]) == size and time.monotonic() < end:
            cuda.cudaDeviceSynchronize()
            time.sleep(0.02)


cuda = ctypes.CDLL(os.environ["TEST_CUDART"])
cuda.cudaDeviceSynchronize()
wait_for_a_round()  # the tracer finds modules that have come at its next round
for part in (queues, locks, conditions, others):
    part()
cuda.cudaDeviceSynchronize()
print(json.dumps(expected))
