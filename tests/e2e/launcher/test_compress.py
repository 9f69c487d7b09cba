"""profile --compress: the trace gets smaller when nothing writes it any more, and is whole whatever happens meanwhile."""

import os
import pathlib
import signal
import stat
import subprocess
import sys
import unittest

from launcher import ASSEMBLE, DEADLINE_S, LauncherTest, state_of, wait_until
from test_salvage import TRACED

TROUBLE = pathlib.Path(os.environ["GPROF_TEST_TROUBLE_LIBRARY"])
# The command would wait for their processes, too, and the trouble that comes with a wait would come then.
NO_COLLECTORS = ["--only-trace", "-t", "cuda,nvtx", "--host-load", "off"]

# A child that goes on when the program has ended, for a moment or until it is told to end.
LINGERING = """
import os, sys, time
ready, say_ready = os.pipe()
alive, is_alive = os.pipe()  # the program alone keeps the other end
if os.fork() == 0:
    os.close(is_alive)
    os.dup2(os.open("/dev/null", os.O_RDWR), 1)  # whoever reads what the command says is not kept waiting
    os.dup2(1, 2)
    with open("child", "w") as file:
        file.write(str(os.getpid()))
    os.write(say_ready, b"x")
    os.read(alive, 1)
    while "stay" in sys.argv and os.path.exists("plain.trace") and not os.path.exists("go"):
        time.sleep(0.01)
    os._exit(0)
os.read(ready, 1)
with open(os.environ["GPROF_OUTPUT"], "ab") as trace:
    trace.write(open("plain.trace", "rb").read())
os._exit(0)
"""


def plain_trace(chunks=4):
    lines = ['chunk pid=7', 'process start_ns=100 pid=7 name="app"']
    for chunk in range(chunks):
        lines.append("chunk kind=kernel pid=7")
        lines += [f'kernel start_ns={1000 * (1000 * chunk + i) + i % 7} duration_ns={200 + i % 5} correlation={i + 1} '
                  f'name="k{i % 11}"' for i in range(1000)]
    lines += ["chunk pid=7", "end time_ns=90000000 reason=1"]
    return subprocess.run([ASSEMBLE], input="\n".join(lines).encode(), capture_output=True, timeout=DEADLINE_S,
                          check=True).stdout


class CompressTest(LauncherTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.plain = plain_trace()

    def setUp(self):
        super().setUp()
        (self.folder / "plain.trace").write_bytes(self.plain)

    def compress(self, *options, program=None, code=0, **more):
        """A program that leaves the trace of `plain.trace`, or `program`."""
        program = program or ["sh", "-c", 'cat plain.trace >> "$GPROF_OUTPUT"']
        done = self.profile("--compress", *NO_COLLECTORS, *options, *program, **more)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stderr.decode()

    def lingering(self, *words):
        return [sys.executable, "-B", self.write("lingering.py", LINGERING), *words]

    def dump(self, name):
        done = self.run_in_folder(self.cli, "dump", name)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.replace(b" zstd=1", b"").splitlines(keepends=True)
        return b"".join(line for line in lines if b" image=65534 " not in line)

    def assert_compressed(self, name="run.trace"):
        self.assertLess((self.folder / name).stat().st_size, len(self.plain) * 0.8)
        self.assertEqual(self.dump(name), self.dump("plain.trace"))

    def assert_plain(self, name="run.trace", but=()):
        """As it was recorded, with nothing left beside it."""
        self.assertEqual(self.recorded(name), self.plain)
        names = {path.name for path in self.folder.iterdir() if path.suffix != ".py"}
        self.assertEqual(names - {"child", *but}, {"plain.trace", name})


class Done(CompressTest):
    def test_smaller_and_the_same(self):
        said = self.compress()
        self.assert_compressed()
        self.assertEqual(said.count("\n"), 1)
        self.assertIn("(compressed from ", said)
        self.assertIn("4,000 kernels", said)

    def test_without_it_nothing_is_compressed(self):
        said = self.profile("sh", "-c", 'cat plain.trace >> "$GPROF_OUTPUT"').stderr.decode()
        self.assert_plain()
        self.assertNotIn("compressed", said)

    def test_flag_with_a_value_as_in_nsight(self):
        self.assertEqual(self.profile("--compress", "true", "sh", "-c", 'cat plain.trace >> "$GPROF_OUTPUT"').returncode, 0)
        self.assert_compressed()

    def test_quiet(self):
        self.assertEqual(self.compress("-q"), "")
        self.assert_compressed()

    def test_exit_codes_and_signals_are_the_programs(self):
        for end, code in (("exit 7", 7), ("kill -KILL $$", 128 + signal.SIGKILL), ("kill -INT $$", 128 + signal.SIGINT)):
            with self.subTest(end=end):
                self.compress("-f", program=["sh", "-c", f'cat plain.trace >> "$GPROF_OUTPUT"; {end}'], code=code)
                self.assert_compressed()

    def test_mode_links_and_names(self):
        (self.folder / "deep").mkdir()
        (self.folder / "link").symlink_to("deep/real.trace")
        (self.folder / "deep" / "real.trace").touch()
        self.compress("-f", "-o", "link", program=["sh", "-c", 'cat plain.trace >> "$GPROF_OUTPUT"; chmod 640 deep/*'])
        self.assertTrue((self.folder / "link").is_symlink())
        self.assertEqual(stat.S_IMODE((self.folder / "deep" / "real.trace").stat().st_mode), 0o640)
        self.assert_compressed("deep/real.trace")
        said = self.compress("-o", "%n %%.trace")
        self.assert_compressed("1 %.trace")
        self.assertIn("'1 %.trace'", said)

    def test_nothing_to_compress(self):
        self.assertIn("nothing was recorded", self.compress(program=["true"]))
        self.assertEqual(self.recorded(), b"")
        self.compress("-f", program=["sh", "-c", 'echo no trace >> "$GPROF_OUTPUT"'])
        self.assertEqual(self.recorded(), b"no trace\n")
        self.compress("-f", program=["sh", "-c", 'rm "$GPROF_OUTPUT"'])
        self.assertFalse((self.folder / "run.trace").exists())

    def test_damage_stays(self):
        damaged = bytearray(self.plain)
        damaged[len(damaged) // 2] ^= 1
        damaged[:0] = b"garbage"
        (self.folder / "plain.trace").write_bytes(damaged)
        self.compress()
        self.assert_compressed()

    def test_what_a_killed_process_left_is_in_it(self):
        """The stub writes a line of text, which is no chunk: it stands in the compressed trace as it is."""
        script = f"""cat plain.trace >> "$GPROF_OUTPUT"; echo _exit | '{sys.executable}' -B '{TRACED}'"""
        self.compress(program=["sh", "-c", script], code=4)
        data = (self.folder / "run.trace").read_bytes()
        self.assertTrue(data.endswith(b"rest now\n"))
        self.assertLess(len(data), len(self.plain) * 0.8)

    def test_series(self):
        self.compress("--repeat", "2", "--warmup", "1")
        for name in ("run-1.trace", "run-2.trace"):
            self.assert_compressed(name)

    def test_series_without_a_good_run(self):
        self.compress("--repeat", "3", program=["sh", "-c", 'cat plain.trace >> "$GPROF_OUTPUT"; exit 5'], code=5)
        self.assert_compressed("run-1.trace")


class NotNow(CompressTest):
    def test_helper_that_ends_a_moment_later(self):
        said = self.compress(program=self.lingering())
        self.assertNotIn("not compressed", said)
        self.assert_compressed()

    def test_process_that_lives_on(self):
        said = self.compress(program=self.lingering("stay"))
        self.assertRegex(said, r"'run\.trace' was not compressed: process \d+ \(python[^)]*\) of "
                               r"the run is still running\n")
        self.assert_plain()
        self.end_child()

    def test_process_that_lives_on_without_a_run_folder_and_quietly(self):
        said = self.compress("-q", program=self.lingering("stay"), env=self.env | {"GPROF_RUN_BASE": "/proc/nothing"})
        self.assertEqual(said, "")
        self.assert_plain()
        self.end_child()

    def end_child(self):
        (self.folder / "go").touch()
        child = int((self.folder / "child").read_text())
        wait_until(lambda: state_of(child) in "XZ", "the child is gone")
        (self.folder / "go").unlink()

    def interrupt(self, *options, code=0):
        """Ctrl-C while it is waited for a child that lives on; before that it would count as sent to the program."""
        env = self.env | {"LD_PRELOAD": str(TROUBLE), "GPROF_TEST_TROUBLE": "early"}
        said = self.compress(*options, program=self.lingering("stay"), env=env, code=code)
        self.end_child()
        return said

    def test_interrupted(self):
        self.assertIn("not compressed: interrupted", self.interrupt())
        self.assert_plain()

    def test_interrupted_series(self):
        self.assertIn("SIGINT stopped the series", self.interrupt("--repeat", "5", code=128 + signal.SIGINT))
        self.assert_plain("run-1.trace", but=["run.runs.json"])


class Trouble(CompressTest):
    def trouble(self, what, code, **more):
        env = self.env | {"LD_PRELOAD": str(TROUBLE), "GPROF_TEST_TROUBLE": what}
        return self.compress("-f", code=code, env=env, **more)

    def test_full_disk_costs_nothing_but_the_compression(self):
        said = self.trouble("full", 3, program=["sh", "-c", 'cat plain.trace >> "$GPROF_OUTPUT"; exit 3'])
        self.assertIn("'run.trace' was not compressed: ", said)
        self.assertIn("No space left on device", said)
        self.assertIn("recorded 1 process, 4,000 kernels", said)
        self.assert_plain()

    def test_folder_that_takes_no_other_file(self):
        """As root everything may be written; the tracer's file is opened again by its name all the same."""
        if os.geteuid() == 0:
            self.skipTest("root may write everywhere")
        said = self.compress(program=["sh", "-c", 'cat plain.trace >> "$GPROF_OUTPUT"; chmod 500 .'])
        self.folder.chmod(0o700)
        self.assertIn("not compressed: ", said)
        self.assert_plain()

    def test_interrupted_in_the_middle(self):
        said = self.trouble("interrupt", 3, program=["sh", "-c", 'cat plain.trace >> "$GPROF_OUTPUT"; exit 3'])
        self.assertIn("'run.trace' was not compressed: interrupted", said)
        self.assert_plain()

    def test_killed_when_the_new_file_is_written(self):
        self.trouble("kill", -signal.SIGKILL)
        self.assert_plain(but=self.unfinished())

    def test_killed_when_the_new_file_has_a_name(self):
        self.trouble("kill2", -signal.SIGKILL)
        self.assertEqual(len(self.unfinished()), 1)
        self.assert_plain(but=self.unfinished())

    def unfinished(self):
        return [path.name for path in self.folder.glob("run.trace.new*")]

    def test_file_that_was_replaced_meanwhile_is_left_alone(self):
        other = 'cat plain.trace >> "$GPROF_OUTPUT"; cp plain.trace other; mv other "$GPROF_OUTPUT"'
        self.compress(program=["sh", "-c", other])
        self.assertEqual((self.folder / "run.trace").read_bytes(), self.plain)


if __name__ == "__main__":
    unittest.main()
