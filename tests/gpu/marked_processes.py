"""Processes that a job has started, in whatever session or group they are: each has a mark in its environment."""
import contextlib
import os
import pathlib


def find(mark, token):
    """Those that are still there."""
    found, wanted = [], f"{mark}={token}".encode()
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if wanted in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
    return found


def send(pids, number):
    for pid in pids:
        with contextlib.suppress(OSError):
            os.kill(pid, number)
