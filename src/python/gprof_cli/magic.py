"""The cell magic `%%gprof`: records a cell of a notebook and shows what it did. docs/python.md describes it."""

import atexit
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile


def _command():
    command = shutil.which("gprof-cli")
    if command is None:
        raise FileNotFoundError("gprof-cli is not on PATH")
    return command


def _is_below(pid, ancestor):
    """A process is another one, or was started by it, directly or not."""
    while pid > 1 and pid != ancestor:
        try:
            status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
        except OSError:
            return False
        pid = int(status.partition("\nPPid:")[2].split(maxsplit=1)[0])
    return pid == ancestor


def _session(command):
    """The name of the session of `gprof-cli launch` that this process belongs to."""
    told = subprocess.run([command, "status", "--format", "json"], capture_output=True, text=True, check=False)
    sessions = json.loads(told.stdout)["sessions"] if told.returncode == 0 else []
    for session in sessions:
        if _is_below(os.getpid(), session["program_pid"]):
            return session["session"]
    raise RuntimeError("the session of 'gprof-cli launch' that started this notebook does not answer")


class CellMagic:
    """`%%gprof [-o FILE] [options of gprof-cli profile]`."""

    def __init__(self, ipython, read):
        self._ipython, self._read = ipython, read
        self._folder, self._count = None, 0

    def __call__(self, line, cell):
        words = shlex.split(line)
        output, options = self._take_output(words)
        if os.environ.get("GPROF_CAPTURE") == "command":
            self._record_here(cell, options, output)
        else:
            self._record_in_a_child(cell, options, output)
        return self._read(output)

    def _take_output(self, words):
        for name in ("-o", "--output"):
            if name in words:
                at = words.index(name)
                if at + 1 == len(words):
                    raise ValueError(f"{name} needs a file")
                return words[at + 1], [*words[:at], *words[at + 2:]]
        self._count += 1
        return str(self._own_folder() / f"cell{self._count}.trace"), words

    def _own_folder(self):
        if self._folder is None:
            self._folder = pathlib.Path(tempfile.mkdtemp(prefix="gprof-cli-"))
            atexit.register(shutil.rmtree, self._folder, True)
        return self._folder

    def _record_here(self, cell, options, output):
        """The cell runs in this kernel, which waits in a session of `gprof-cli launch`."""
        if options:
            raise ValueError("what is recorded was decided by 'gprof-cli launch': %%gprof takes -o FILE alone here")
        command = _command()
        session = _session(command)
        self._check([command, "start", "--session", session, "-f", "-o", output])
        try:
            self._ipython.run_cell(cell)
        finally:
            self._check([command, "stop", "--session", session])

    def _record_in_a_child(self, cell, options, output):
        """The cell runs as a program of its own: what other cells defined is not there, nor is what it defines here."""
        source = self._own_folder() / "cell.py"
        source.write_text(cell, encoding="utf-8")
        # As in the notebook, modules beside it are found.
        path = os.pathsep.join([os.getcwd(), *filter(None, [os.environ.get("PYTHONPATH")])])
        command = [_command(), "profile", "-f", *options, "-o", output, "--", sys.executable, "-u", str(source)]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace", env={**os.environ, "PYTHONPATH": path}) as program:
            for text in program.stdout:
                print(text, end="", flush=True)
        if program.returncode != 0:
            print(f"the cell ended with exit code {program.returncode}", file=sys.stderr)

    @staticmethod
    def _check(command):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip() or f"{command[1]} failed")
