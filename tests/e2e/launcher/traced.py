"""A program as the launcher sees it that has the tracer in it: it keeps an arena in the run folder, follows the control page
and says on stdout, line by line, what it does. It runs until it is told otherwise on stdin: `exit`, `_exit`, `shutdown` (its
capture range was the last one), `unlock` (as where flock does not work), `stall` (does not follow the control page any more),
`fork` (a child with an arena of its own, which is killed)."""

import fcntl
import mmap
import os
import select
import struct
import sys

ARENA_MAGIC, CONTROL_MAGIC = 0x31414E4552414347, 0x314C52544E4F4347
IDLE, RECORDING, FINISHED = 2, 1, 3
WISHES = {0: "idle", 1: "record", 2: "triggered", 3: "cancel"}
# Offsets in ArenaHeader and ControlPage, gprof/trace/run_folder.h.
BELL, STATE, IS_LOCKED, EPOCH_DONE, WANTS_SHUTDOWN = 64, 68, 72, 76, 96
EPOCH, WISH, TRIGGER, DEVICE, INODE, OUTPUT = 8, 12, 16, 24, 32, 40


def start_ticks(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
        return int(stat.read().rsplit(")", 1)[1].split()[19])


class Control:
    def __init__(self, folder):
        with open(os.path.join(folder, "control"), "rb") as file:
            self.page = mmap.mmap(file.fileno(), 4096, prot=mmap.PROT_READ)
        assert struct.unpack_from("<Q", self.page, 0)[0] == CONTROL_MAGIC

    def number(self, offset, form="<I"):
        return struct.unpack_from(form, self.page, offset)[0]

    def order(self):
        """(epoch, wish, trigger, output), or None while it is being changed"""
        before = self.number(EPOCH)
        found = (before, WISHES[self.number(WISH)], self.number(TRIGGER), os.fsdecode(self.page[OUTPUT:].split(b"\0")[0]))
        return found if before % 2 == 0 and self.number(EPOCH) == before else None


class Arena:
    def __init__(self, folder, order):
        pid = os.getpid()
        self.path = os.path.join(folder, f"{pid}-0.arena")
        self.descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        os.ftruncate(self.descriptor, 8192)
        self.page = mmap.mmap(self.descriptor, 8192)
        text = os.fsencode(order)
        self.page[4096:4096 + len(text)] = text
        struct.pack_into("<5QII", self.page, 8, 1, 0, 8192, 0, start_ticks(pid), pid, 0)
        fcntl.flock(self.descriptor, fcntl.LOCK_EX)
        self.set(IS_LOCKED, 1)
        struct.pack_into("<Q", self.page, 0, ARENA_MAGIC)

    def set(self, offset, value):
        struct.pack_into("<I", self.page, offset, value)

    def bell(self):
        return struct.unpack_from("<I", self.page, BELL)[0]

    def unlock(self):
        self.set(IS_LOCKED, 0)
        fcntl.flock(self.descriptor, fcntl.LOCK_UN)


def say(text):
    os.write(1, os.fsencode(text + "\n"))


def leave_orphan(folder, order):
    pid = os.fork()
    if pid == 0:
        Arena(folder, order.replace("TEXT", "child")).set(STATE, RECORDING)
        os.kill(os.getpid(), 9)
    os.waitpid(pid, 0)
    say("child is dead")


def main():
    # What the stub makes of the arena when we die; TRACE stands for the file that is recorded into.
    leaving = sys.argv[1] if len(sys.argv) > 1 else "append TRACE TEXT"
    folder = os.environ["GPROF_RUN_FOLDER"]
    control, arena = Control(folder), None
    output = os.environ.get("GPROF_OUTPUT", "")
    arena = Arena(folder, leaving.replace("TRACE", output).replace("TEXT", "rest"))
    say(f"pid {os.getpid()}")
    done, stalls, chunks = 0, False, 0
    while True:
        order = control.order()
        if order is not None and order[0] != done and not stalls:
            done, wish, trigger, output = order
            if wish in ("idle", "cancel") and chunks and os.path.exists(last):
                if wish == "idle":
                    with open(last, "ab") as trace:
                        trace.write(b"written at stop\n")
                chunks = 0
            if wish in ("record", "triggered"):
                chunks, last = 1, output
                text = os.fsencode(leaving.replace("TRACE", output).replace("TEXT", "rest"))
                arena.page[4096:] = text + bytes(4096 - len(text))
            arena.set(STATE, RECORDING if chunks else IDLE)
            say(f"{wish} {trigger} {os.path.basename(output)} bell={arena.bell()}")
            arena.set(EPOCH_DONE, done)
        if not select.select([0], [], [], 0.002)[0]:
            continue
        word = os.read(0, 100).decode().strip()
        if word == "exit":
            arena.set(STATE, FINISHED)
            sys.exit(3)
        if word in ("", "_exit"):
            os._exit(4)
        if word == "shutdown":
            arena.set(WANTS_SHUTDOWN, 1)
        if word == "unlock":
            arena.unlock()
        if word == "stall":
            stalls = True
        if word == "fork":
            leave_orphan(folder, leaving.replace("TRACE", output))
        say(f"did {word}")


if __name__ == "__main__":
    main()
