"""Asks the command gprof-cli, which reads traces and judges them: `gprof-cli arrays`, docs/commands/arrays.md.

While it works, other threads of Python do.
"""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import threading


class Error(Exception):
    """What failed and why; `hint` says what to do about it, `code` what a command would exit with."""
    hint, code = "", 2


class FileError(Error, OSError):
    """The system did not give the file; `errno` says why."""


class NotFoundError(FileError, FileNotFoundError):
    """There is no such file."""


class InputError(Error, ValueError):
    """The file is no trace, or too damaged to be read."""


for _type in (Error, FileError, NotFoundError, InputError):
    _type.__module__ = "gprof_cli"
_ERRORS = {"other": Error, "file": FileError, "not_found": NotFoundError, "input": InputError}


def find_command():
    """The gprof-cli that was installed with this module, else that of PATH; None where there is none."""
    for folder in pathlib.Path(__file__).resolve().parents:
        if os.access(folder / "bin/gprof-cli", os.X_OK):
            return str(folder / "bin/gprof-cli")
    return shutil.which("gprof-cli")


def _command():
    command = find_command()
    if command is None:
        raise failure("other", "gprof-cli is neither on PATH nor where this module is installed", "pip install gprof-cli")
    return command


def failure(kind, message, hint="", code=2, number=0):
    error = _ERRORS[kind](message)
    error.hint, error.code = hint, code
    if isinstance(error, FileError):
        error.errno = number
    return error


def _decoded(data):
    # Names come from programs, and may be no UTF-8.
    return data.decode("utf-8", "backslashreplace")


class _Answer:
    """What the command wrote: `data`, and arrays that cannot be written to."""

    def __init__(self, pipe):
        line = json.loads(pipe.readline() or "null")
        if line is None:
            raise EOFError
        self.data, hint = self._read(pipe, line["text"]), self._read(pipe, line["hint"])
        self.arrays = [memoryview(self._read(pipe, size)).toreadonly() for size in line["arrays"]]
        if line["error"]:
            raise failure(line["error"], _decoded(self.data), _decoded(hint), line["code"], line["errno"])

    @staticmethod
    def _read(pipe, size):
        data = bytearray(size)
        if pipe.readinto(data) != size:
            raise EOFError
        return data

    def texts(self, number):
        lengths, data = self.arrays[number].cast("Q"), bytes(self.arrays[number + 1])
        texts, at = [], 0
        for length in lengths:
            texts.append(_decoded(data[at:at + length]))
            at += length
        return texts


class _Process:
    """A `gprof-cli arrays` that has read a trace, or that reads none."""

    def __init__(self, path=None):
        words = [] if path is None else ["--", path]
        # Ctrl-C is for Python, which then ends the command.
        self._program = subprocess.Popen([_command(), "arrays", *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         start_new_session=True)
        self._owner, self._lock = os.getpid(), threading.Lock()
        self.about = None if path is None else self._answer()

    def is_alive(self):
        # After a fork the pipes are the parent's.
        return self._owner == os.getpid() and self._program.returncode is None

    def ask(self, function, word="", count=0, ns=0):
        word = os.fsencode(word)
        with self._lock:
            self._send(b"%s %d %d %d\n%s" % (function.encode(), count, ns, len(word), word))
            return self._answer()

    def _send(self, question):
        try:
            self._program.stdin.write(question)
            self._program.stdin.flush()
        except BrokenPipeError:
            pass  # why it ended is told where its answer is missing

    def _answer(self):
        try:
            return _Answer(self._program.stdout)
        except Error:
            raise
        except EOFError:
            raise failure("other", f"gprof-cli ended with {self.close()} and without an answer", code=70) from None
        except BaseException:  # interrupted: the rest of the answer would be taken for that to the next question
            self.close()
            raise

    def close(self):
        """Returns the exit code."""
        if self._owner == os.getpid() and self._program.returncode is None:
            ended_itself = self._program.poll()
            self._program.kill()
            self._program.wait()
            for pipe in (self._program.stdin, self._program.stdout):
                try:
                    pipe.close()
                except BrokenPipeError:
                    pass
            return self._program.returncode if ended_itself is None else ended_itself
        return self._program.returncode

    def __del__(self):
        if hasattr(self, "_owner"):
            self.close()


def _ask_once(function, word=""):
    process = _Process()
    try:
        return process.ask(function, word)
    finally:
        process.close()


def about():
    """{version, kinds: [[name, meaning, [column, …]], …], records: [name, …]}"""
    return json.loads(_ask_once("about").data)


def open_file(path):
    """Shows it in a browser, if there is one."""
    _ask_once("open_file", path)


def abandoned(path):
    return bytes(_ask_once("abandoned", os.fspath(path)).data)


def _run(*words, good=(0,)):
    done = subprocess.run([_command(), *words], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode not in good:
        message, _, hint = _decoded(done.stderr).strip().removeprefix("gprof-cli: ").partition("\nhint: ")
        raise failure("input" if done.returncode == 3 else "other", message, hint, done.returncode)
    return done.stdout


def partial(path, threads):
    # 3: it says that the trace cannot be read.
    return _run("partial", "-qq", "--threads", str(threads), "-o", "-", "--", os.fspath(path), good=(0, 3))


def _with_files(parts, work):
    """Commands take partials as files."""
    with tempfile.TemporaryDirectory(prefix="gprof-cli-") as folder:
        paths = [os.path.join(folder, f"{number}.gpart") for number in range(len(parts))]
        for path, part in zip(paths, parts):
            pathlib.Path(path).write_bytes(part)
        return work(folder, paths)


def merge(parts):
    def work(folder, paths):
        merged = os.path.join(folder, "merged.gpart")
        _run("merge", *paths, "-o", merged)
        return pathlib.Path(merged).read_bytes()
    return _with_files(parts, work)


def judge(part, rows):
    return json.loads(_with_files([part], lambda _, paths: _run("ranks", *paths, "--rows", str(rows), "--format", "json")))


class Trace:
    def __init__(self, path):
        self._opened = os.path.abspath(path)
        self._file = self._identity()
        self._process = _Process(path)
        about = self._process.about
        self.path, self.recorder, self.summary = about.texts(0)
        self.__dict__.update(json.loads(about.data))

    def _identity(self):
        try:
            status = os.stat(self._opened)
        except OSError:
            return None
        return status.st_ino, status.st_size, status.st_mtime_ns

    def _read_again(self):
        """Where the command was interrupted, or is that of the process that this one was forked from."""
        if self._identity() != self._file:
            raise failure("input", f"'{self._opened}' has changed since it was read", "read it again", 3)
        self._process = _Process(self._opened)

    def _ask(self, function, word="", count=0, ns=0):
        if not self._process.is_alive():
            self._read_again()
        return self._process.ask(function, word, count, ns)

    def report(self, rows, min_gap_ns, step):
        return _decoded(self._ask("report", step, rows, min_gap_ns).data)

    def card(self):
        return _decoded(self._ask("card").data)

    def page(self, events):
        return _decoded(self._ask("page", "", events).data)

    def text(self, number):
        if not 0 <= number < self.texts:
            raise IndexError("the trace has no text of this number")
        return _decoded(self._ask("text", "", number).data)

    def columns(self, kind):
        """(rows, {column: (format, items, missing or None, texts or None, is_constant)})"""
        answer = self._ask("columns", kind)
        made = json.loads(answer.data)
        columns = {}
        for column in made["columns"]:
            missing = None if column["missing"] is None else answer.arrays[column["missing"]]
            texts = None if column["texts"] is None else answer.texts(column["texts"])
            columns[column["name"]] = (column["format"], answer.arrays[column["items"]], missing, texts, column["is_constant"])
        return made["rows"], columns

    def read_records(self, name):
        """(records, bytes of a record, names, formats, offsets, items)"""
        answer = self._ask("records", name)
        view = json.loads(answer.data)
        return (view["count"], view["bytes"], view["names"], view["formats"], view["offsets"], answer.arrays[view["items"]])
