"""Runs lines whose times it knows, in two threads: the main one calls CUDA, and the other one does not.

Prints one line of JSON: the CPU time of the main thread in much() and little(), and that of the other one.
"""
import ctypes
import json
import os
import sys
import threading
import time

cuda = ctypes.CDLL(os.environ["TEST_CUDART"])
rounds = int(sys.argv[1])
times = {"much": 0.0, "little": 0.0, "other": 0.0}


def much():
    total = 0
    for i in range(400_000):
        total += i * i  # HOT
    return total


def little():
    total = 0
    for i in range(100_000):
        total -= i * i  # WARM
    return total


def timed(function):
    begin = time.thread_time()
    function()
    times[function.__name__] += time.thread_time() - begin


def other():
    begin = time.thread_time()
    while not done.is_set():
        sum(range(10_000))  # ELSEWHERE
    times["other"] = time.thread_time() - begin


done = threading.Event()
thread = threading.Thread(target=other)
thread.start()
for _ in range(rounds):
    cuda.cudaDeviceSynchronize()
    timed(much)
    timed(little)
    time.sleep(0.005)  # WAITS
done.set()
thread.join()
print(json.dumps(times))
