"""Python code whose C functions each have one caller: who knows which function runs knows the line that called it."""
import json
import sys
import time
import zlib

TEXT = json.dumps(list(range(3000)))
BYTES = bytes(range(256)) * 40


def parse():
    return json.loads(TEXT)  # PARSES


def squeeze():
    return zlib.compress(BYTES, 6)  # SQUEEZES


def key(value):
    total = 0
    for i in range(30):  # COUNTS
        total += value ^ i
    return total


def order():
    return sorted(range(100), key=key)  # ORDERS


def counted():
    return sum(i * i for i in range(2000))  # GENERATES


def main(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until:
        parse()
        squeeze()
        order()
        counted()


main(float(sys.argv[1]))
