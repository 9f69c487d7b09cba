"""What threads of Python wait in is told by Python's words and lines; with every CPython that is here."""
import json
import pathlib
import subprocess
import sys

import harness
import test_stacks
from test_python import all_interpreters

PROGRAM = pathlib.Path(__file__).parent / "programs" / "python_waits.py"
# Where the interpreter is one piece, or jumps from instruction to instruction, its own modules are not told apart.
SAME = {"queue.SimpleQueue.get": "a Python lock"}


class PythonWaits(harness.Case):
    def rows(self, run, table):
        done = subprocess.run([harness.GPROF, "report", run.trace_path, "--rows", "0", "--format", "json", "--only", "os_calls"],
                              capture_output=True, timeout=harness.DEADLINE_S, check=True)
        return next(t["rows"] for t in json.loads(done.stdout)["tables"] if t["id"] == table)

    def test_waits_have_their_words_and_lines(self):
        for name, python in all_interpreters():
            with self.subTest(python=name):
                run = self.profile(python, PROGRAM, env={"PYENV_VERSION": None, "PYTHONDONTWRITEBYTECODE": "1"})
                self.assertEqual(run.code, 0, run.err)
                slowest = self.rows(run, "os_slowest")
                waits = {(row["object"], row["place"].split(" ")[0]) for row in slowest}
                ends = {(row["place"].split(" ")[0], row["waker_place"].split(" ")[0]) for row in slowest}
                locks = {row["lock"] for row in self.rows(run, "os_locks")}
                for word, line, ended in json.loads(run.out):
                    place = f"{PROGRAM.name}:{line}"
                    if ended and test_stacks.has_stacks():
                        self.assertIn((place, f"{PROGRAM.name}:{ended}"), ends, word)
                    words = [word, SAME.get(word, word)]
                    self.assertTrue(any((w, place) in waits for w in words), (word, place, sorted(waits)))
                    if word != "asyncio's event loop":
                        self.assertTrue(any(f"{w} at {place}" in locks for w in words), (word, place, sorted(locks)))


if __name__ == "__main__":
    sys.exit(harness.main())
