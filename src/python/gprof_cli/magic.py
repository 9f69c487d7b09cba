"""The cell magic `%%gprof`: records a cell of a notebook and shows what it did. docs/python.md describes it."""

import ast
import asyncio
import atexit
import inspect
import json
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

from ._core import find_command

_OWN_FAILURE = 125  # of gprof-cli, which has recorded nothing then
_WITH_AWAIT = ("import ast, asyncio, sys; p = sys.argv[1]; "
               "c = compile(open(p, encoding='utf-8').read(), p, 'exec', ast.PyCF_ALLOW_TOP_LEVEL_AWAIT); "
               "asyncio.run(eval(c, globals()))")


class CellError(RuntimeError):
    """The cell failed, and what there is to say about it has been printed: a traceback of this module would hide it."""

    def _render_traceback_(self):
        return [f"{type(self).__name__}: {self}"]


def _command():
    command = find_command()
    if command is None:
        raise CellError("gprof-cli is neither on PATH nor where the module gprof_cli is installed")
    return command


def _has_await(cell):
    """Outside of functions, which notebooks allow and programs do not."""
    code = compile(cell, "cell", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | ast.PyCF_ONLY_AST)
    return bool(compile(code, "cell", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT).co_flags & inspect.CO_COROUTINE)


def _show_last_value(cell):
    """The cell with its last expression shown, as notebooks do, unless a semicolon ends it. Lines stay where they are."""
    body = ast.parse(cell).body
    last = body[-1] if body else None
    if not isinstance(last, ast.Expr) or cell.rstrip().endswith(";"):
        return cell
    lines = [line.encode() for line in cell.splitlines(keepends=True)]
    line = lines[last.lineno - 1]
    lines[last.lineno - 1] = line[:last.col_offset] + b"_ = " + line[last.col_offset:]
    return b"".join(lines).decode() + "\nif _ is not None:\n    print(repr(_))\n"


def _in_a_loop_of_its_own(coroutine):
    """The loop of the kernel is running: it waits for this cell."""
    results = []
    thread = threading.Thread(target=lambda: results.append(asyncio.run(coroutine)), name="cell")
    thread.start()
    thread.join()
    return results[0]


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
    raise CellError("the session of 'gprof-cli launch' that started this notebook does not answer")


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
        self._count += 1
        for name in ("-o", "--output"):
            if name in words:
                at = words.index(name)
                if at + 1 == len(words):
                    raise ValueError(f"{name} needs a file")
                return words[at + 1], [*words[:at], *words[at + 2:]]
        return str(self._own_folder() / f"cell{self._count}.trace"), words

    def _own_folder(self):
        if self._folder is None:
            self._folder = pathlib.Path(tempfile.mkdtemp(prefix="gprof-cli-"))
            atexit.register(shutil.rmtree, self._folder, True)
        return self._folder

    def _record_here(self, cell, options, output):
        """The cell runs in this kernel, which waits in a session of `gprof-cli launch`."""
        if options:
            raise CellError("what is recorded was decided by 'gprof-cli launch': %%gprof takes -o FILE alone here")
        command = _command()
        session = _session(command)
        self._check([command, "start", "--session", session, "-f", "-o", output])
        try:
            succeeded = self._run(cell).success
        finally:
            self._check([command, "stop", "--session", session])
        if not succeeded:
            self._fail(output, "the cell failed")

    def _run(self, cell):
        transformed = self._ipython.transform_cell(cell)
        if not self._ipython.should_run_async(cell, transformed_cell=transformed):
            return self._ipython.run_cell(cell)
        return _in_a_loop_of_its_own(self._ipython.run_cell_async(cell, transformed_cell=transformed))

    def _fail(self, output, reason):
        """Shows what was recorded until then. An error keeps the cells behind this one from being run."""
        from IPython.display import display
        display(self._read(output))
        raise CellError(f"{reason}; the page above is about what it did until then")

    def _record_in_a_child(self, cell, options, output):
        """The cell runs as a program of its own: what other cells defined is not there, nor is what it defines here."""
        source = self._own_folder() / f"cell{self._count}.py"
        runner = self._write_program(cell, source)
        # As in the notebook, modules beside it are found.
        path = os.pathsep.join([os.getcwd(), *filter(None, [os.environ.get("PYTHONPATH")])])
        command = [_command(), "profile", "-f", *options, "-o", output, "--", sys.executable, "-u", *runner, str(source)]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace", env={**os.environ, "PYTHONPATH": path}) as program:
            try:
                self._pass_on(program.stdout)
            except KeyboardInterrupt:
                program.send_signal(signal.SIGINT)  # which gprof-cli passes on to the cell
                self._pass_on(program.stdout)
        if program.returncode == _OWN_FAILURE:
            raise CellError("nothing was recorded; gprof-cli says why above")
        if program.returncode != 0:
            self._fail(output, f"the cell ended with exit code {program.returncode}")

    def _write_program(self, cell, source):
        """Returns the words that Python needs before the file."""
        try:
            has_await = _has_await(cell)
            cell = _show_last_value(cell) if not has_await else cell
        except SyntaxError:
            if "get_ipython()" in self._ipython.transform_cell(cell) and "get_ipython()" not in cell:
                raise CellError("lines such as %time and !ls are IPython's: they do not work in a cell that is recorded "
                                "as a program of its own") from None
            has_await = False  # Python says what is wrong
        source.write_text(cell, encoding="utf-8")
        return ["-c", _WITH_AWAIT] if has_await else []

    @staticmethod
    def _pass_on(lines):
        for text in lines:
            print(text, end="", flush=True)

    @staticmethod
    def _check(command):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise CellError(done.stderr.strip() or f"{command[1]} failed")
