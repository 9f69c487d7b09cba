"""More than fits, less than is needed: the program runs as it does without us, what cannot be kept is counted and said."""
import collections
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import harness

OWN_CODE = 7
MARKS = 50
# Beyond this many names the tracer stops to tell them apart (docs/tracer.md).
NAMES = 1_000_000


def can_mount():
    """Whether we may have mounts that nobody else sees."""
    if shutil.which("unshare") is None or shutil.which("mount") is None:
        return False
    with tempfile.TemporaryDirectory(prefix="gprof-e2e-") as folder:
        script = f"mount -t tmpfs -o size=64k tmpfs '{folder}' && touch '{folder}/file'"
        done = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, timeout=harness.DEADLINE_S, check=False)
    return done.returncode == 0


# Appends 520 chunks of 8 MiB of a version that nobody knows (docs/trace-format.md) to the first one.
EXTEND = """
import struct, sys, zlib
version, kind, body = 2, 60000, 8 << 20
with open(sys.argv[1], "r+b") as trace:
    for i in range(520):
        fields = (version, 0, kind, 96, 1, body, body, 1, 0, 1, 1, 0, i, 0, 0, 0, 0)
        header = bytes.fromhex("A96770726F660D0A") + struct.pack("<4H4I2Q2I4QI", *fields)
        trace.seek(96 + i * (96 + body))
        trace.write(header + struct.pack("<I", zlib.crc32(header)))
    trace.truncate(96 + 520 * (96 + body))
"""


class StressCase(harness.Case):
    def info(self, path):
        done = subprocess.run([harness.GPROF, "info", "--format", "json", path], capture_output=True, check=False,
                              timeout=harness.DEADLINE_S, env=self.environment(None, None))
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return json.loads(done.stdout)

    def dump(self, path, *kinds):
        done = subprocess.run([harness.GPROF, "dump", "--no-chunks", "--kind", ",".join(kinds), path], capture_output=True,
                              timeout=harness.DEADLINE_S, check=False, env=self.environment(None, None))
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return done.stdout

    def both(self, *arguments, version=None, **more):
        """With and without us: the same code and the same output."""
        plain = self.run_plain("stress", *arguments, version=version, **more)
        traced = self.profile("stress", *arguments, version=version, **more)
        self.assertEqual((traced.code, traced.out), (plain.code, plain.out), traced.err)
        return traced

    def count_marks(self, trace, name):
        return len(trace.of("nvtx", event=1, message=name))


class Amounts(StressCase):
    def test_threads(self):
        run = self.profile("stress", "threads", 10000, 500, version=None)
        self.assertEqual(run.code, OWN_CODE, run.err)
        count = run.facts("threads")[0]["count"]
        trace = run.trace
        self.assert_clean(trace)
        numbers = sorted(r["payload"] for r in trace.of("nvtx", event=1, message="thread"))
        self.assertEqual(numbers, list(range(count)))

    def test_ten_thousand_threads_at_once(self):
        """Each waits for the others, with calls of the operating system, samples and context switches recorded."""
        run = self.profile("stress", "threads", 10, 10_000, version=None,
                           options=("--only-trace", "-t", "nvtx,osrt", "-s", "process-tree", "--cpuctxsw=process-tree"))
        self.assertEqual(run.code, OWN_CODE, run.err)
        count = run.facts("threads")[0]["count"]
        lines = self.dump(run.trace_path, "nvtx", "thread", "os_call", "loss", "end").decode().splitlines()
        kinds = collections.Counter(line.partition(" ")[0] for line in lines)
        self.assertEqual((kinds["loss"], kinds["end"]), (0, 1), run.err)
        self.assertGreaterEqual(kinds["thread"], count)
        # Reading all fields of so many lines takes longer than all else.
        told = [line for line in lines if 'message="thread"' in line and " payload=" in line]
        numbers = [int(line.partition(" payload=")[2].split()[0]) for line in told]
        self.assertEqual(kinds["nvtx"], count)
        self.assertEqual(sorted(numbers), list(range(1, count)))  # 0 is not written
        waits = {line.partition(" tid=")[2].split()[0] for line in lines if 'function="futex"' in line}
        self.assertGreater(len(waits), count * 0.9, run.err)

    def test_a_million_strings(self):
        wanted = NAMES + 1000
        run = self.both("strings", wanted)
        lines = self.dump(run.trace_path, "nvtx").splitlines()
        marks = [line for line in lines if line.startswith(b"nvtx ")]
        self.assertEqual(len(marks), wanted)  # none is lost, whatever it is called
        names = {line[line.index(b'message="') + 9:].split(b'"')[0] for line in marks}
        known = {name for name in names if name.startswith(b"text number ")}
        self.assertGreaterEqual(len(known), 900_000)
        if len(known) < wanted:
            self.assertEqual(names - known, {b"<too many names>"})

    def test_deep_nesting(self):
        run = self.both("nested", 10000)
        self.assert_clean(run.trace)
        self.assertEqual(self.info(run.trace_path)["contents"]["nvtx_ranges"], 10000)

    def test_unbalanced(self):
        run = self.both("unbalanced", 1000)
        trace = run.trace
        self.assert_clean(trace)
        counts = [len(trace.of("nvtx", event=event)) for event in (2, 3, 4, 5)]
        self.assertEqual(counts, [1000, 2000, 1000, 1000])
        self.report(run.trace_path)


class BeforeAndAfterMain(StressCase):
    def check(self, env, more):
        run = self.profile("nvtx_static", version=None, env=env)
        self.assertEqual(run.code, 5, run.err)
        trace = run.trace
        self.assertEqual(trace.problems, [])
        self.assertEqual(len(trace.of("nvtx", event=2, message="first constructor")), 1)
        for name in ("constructor", "main", "destructor", *more):
            self.assertEqual(self.count_marks(trace, name), 1, name)
        # What the last destructors of all do may come after the end of the recording.
        for name in ("destructor of an object without NVTX in its constructor", "last destructor"):
            self.assertLessEqual(self.count_marks(trace, name), 1, name)
        self.assertEqual(len(trace.of("end")), 1)

    def test_program(self):
        self.check(None, ())

    def test_library_that_is_closed_again(self):
        self.check({"TEST_LIBRARY": str(harness.PROGRAMS / "nvtx_static_library.so")},
                   ("library's constructor", "library's destructor"))


class Scarcity(StressCase):
    def test_no_descriptor_left(self):
        run = self.both("nofile")
        trace = run.trace
        self.assert_clean(trace)
        self.assertEqual((self.count_marks(trace, "before"), self.count_marks(trace, "after")), (MARKS, 2 * MARKS))

    @unittest.skipIf(os.geteuid() != 0, "only root may chroot")
    def test_chroot(self):
        jail = self.folder / "jail"
        jail.mkdir()
        run = self.both("chroot", jail)
        trace = run.trace
        self.assertEqual(trace.problems, [])
        self.assertEqual((self.count_marks(trace, "before"), self.count_marks(trace, "after")), (MARKS, MARKS))
        self.assertEqual(list(jail.iterdir()), [])

    def test_file_size_limit(self):
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (16384, 16384))
        run = self.profile("stress", "strings", 20000, version=None, preexec_fn=limit)
        self.assertEqual(run.code, OWN_CODE, run.err)
        self.check_full(run.trace_path, 16384, 20000)

    def check_full(self, path, most_bytes, marks):
        self.assertLessEqual(path.stat().st_size, most_bytes)
        trace = harness.Trace(path)
        here = len(trace.of("nvtx", event=1))
        self.assertLess(here, marks)
        self.assertEqual(harness.total(self.report(path))["health.complete"], 0)

    def test_signal_of_the_limit_is_not_ours(self):
        """A program that dies of SIGXFSZ when it writes too much must not die when only we do."""
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_FSIZE, (16384, 16384))
        run = self.profile("stress", "strings", 20000, version=None, preexec_fn=limit)
        self.assertEqual(run.code, OWN_CODE, run.err)

    def start_waiting(self):
        go = self.folder / "go"
        path, command = self.profile_command("stress", ["wait", go], ["--flush-ms", "20"])
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.folder,
                                   env=self.environment(None, None), stdin=subprocess.DEVNULL)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.assertIn(b'"ready"', process.stdout.readline())
        return go, path, process

    def test_file_deleted_meanwhile(self):
        go, path, process = self.start_waiting()
        harness.wait_for(lambda: harness.has_records(path), "the first flush")
        path.unlink()
        go.touch()
        _, err = process.communicate(timeout=harness.DEADLINE_S)
        self.assertEqual(process.returncode, OWN_CODE, err.decode())
        self.assertFalse(path.exists())  # nobody wants a file back that somebody deleted
        self.assertRegex(err.decode(), r"gprof-cli: .*(removed|deleted|replaced|gone|nothing was recorded)")

    def test_file_replaced_meanwhile(self):
        go, path, process = self.start_waiting()
        harness.wait_for(lambda: harness.has_records(path), "the first flush")
        path.unlink()
        path.write_text("somebody else's")
        go.touch()
        _, err = process.communicate(timeout=harness.DEADLINE_S)
        self.assertEqual(process.returncode, OWN_CODE, err.decode())
        self.assertEqual(path.read_text(), "somebody else's")

    def test_more_than_4_gib(self):
        """Chunks of a later version, which are holes but for their headers, take up four gigabytes: what comes behind them
        is found, and they are counted."""
        script = self.folder / "extend.py"
        script.write_text(EXTEND)
        command = f"'{sys.executable}' -B '{script}' run1.trace && exec '{harness.PROGRAMS / 'stress'}' strings 2000"
        run = self.profile("/bin/sh", "-c", command, version=None)
        self.assertEqual(run.code, OWN_CODE, run.err)
        self.assertGreater(run.trace_path.stat().st_size, 4 << 30)
        self.assertEqual(self.info(run.trace_path)["contents"]["nvtx_marks"], 2000)
        metrics = harness.total(self.report(run.trace_path))
        self.assertEqual((metrics["health.unknown_chunks"], metrics["health.complete"]), (520, 0))


@unittest.skipUnless(can_mount(), "needs to be root with a mount namespace of its own")
class Mounts(StressCase):
    """File systems that are full, or that cannot be written, which nobody else sees."""

    def profile_in(self, script, *arguments, version=None, options=(), env=None):
        """Runs `script` in a mount namespace of its own, with COMMAND in it standing for profile and the program. What
        is in the folder "mnt" then is copied to "kept"."""
        mount = self.folder / "mnt"
        mount.mkdir(exist_ok=True)
        trace = mount / "run.trace"
        words = [str(harness.GPROF), "profile", "-f", "-o", str(trace), *options, "--",
                 *self.command(arguments[0], arguments[1:])]
        (self.folder / "command.sh").write_text("exec " + " ".join(f"'{word}'" for word in words))
        script = script.replace("COMMAND", f"sh '{self.folder}/command.sh'; code=$?")
        full = f"cd '{self.folder}'\n{script}\ncp -r mnt kept 2>/dev/null\nexit $code"
        done = subprocess.run(["unshare", "-m", "sh", "-c", full], capture_output=True, timeout=harness.DEADLINE_S,
                              check=False, env=self.environment(version, env), stdin=subprocess.DEVNULL)
        return done.returncode, done.stderr.decode(), self.folder / "kept" / "run.trace"

    def test_disk_full(self):
        self.check_disk_full()
        self.check_disk_full("-q")

    def check_disk_full(self, *options):
        code, err, path = self.profile_in("mount -t tmpfs -o size=1m tmpfs mnt\nCOMMAND", "stress", "strings", 200000, options=options)
        self.assertEqual(code, OWN_CODE, err)
        self.assertIn("disk full", err.splitlines()[-1])
        trace = harness.Trace(path)
        self.assertGreater(len(trace.of("nvtx")), 0)
        self.assertLess(len(trace.of("nvtx")), 200000)
        report = self.report(path)
        self.assertEqual(harness.total(report)["health.complete"], 0)
        self.assertRegex(err, "(?i)no space|full|ENOSPC|lost")
        self.assertRegex(json.dumps(report["findings"]), "(?i)disk was full|no space")

    def test_disk_full_after_the_first_chunk(self):
        fill = "mount -t tmpfs -o size=64k tmpfs mnt\nhead -c 60k /dev/zero > mnt/filler\nCOMMAND"
        code, err, _ = self.profile_in(fill, "stress", "strings", 20000)
        self.assertEqual(code, OWN_CODE, err)
        self.assertRegex(err.splitlines()[-1], r"nothing was recorded; [\d,]+ records are lost: disk full")

    def test_disk_full_from_the_beginning(self):
        fill = "mount -t tmpfs -o size=64k tmpfs mnt\nhead -c 1M /dev/zero > mnt/filler 2>/dev/null\nCOMMAND"
        code, err, _ = self.profile_in(fill, "/bin/sh", "-c", "touch ran")
        self.assertEqual(code, 125, err)
        self.assertFalse((self.folder / "ran").exists())
        self.assertIn("No space left on device", err)

    def test_read_only_folder_is_refused_before_the_program_runs(self):
        code, err, _ = self.profile_in("mount -t tmpfs -o ro tmpfs mnt\nCOMMAND", "/bin/sh", "-c", "touch ran")
        self.assertEqual(code, 125, err)
        self.assertFalse((self.folder / "ran").exists())
        self.assertIn("run.trace", err)

    def check_small_shm(self, size, fill, env=None):
        """No room for what launcher and program share: the recording does without."""
        before = f"mount -t tmpfs -o size={size} tmpfs /dev/shm\n"
        before += f"head -c {fill} /dev/zero > /dev/shm/filler 2>/dev/null\n" if fill else ""
        code, err, path = self.profile_in(before + "COMMAND", "cuda_threads_13.0", 2, 500, version="13.0", env=env)
        self.assertEqual(code, 0, err)
        trace = harness.Trace(path)
        self.assertEqual((len(trace.of("kernel")), len(trace.calls("cudaLaunchKernel"))), (1000, 1000), err)
        self.assertEqual(trace.problems, [])

    def test_full_shm(self):
        self.check_small_shm("64k", "1M", {"GPROF_RUN_BASE": None})

    def test_small_shm(self):
        """There is some room, so a file of the size it needs can be made there: it must not be relied upon."""
        for size in ("8k", "256k", "2M", "20M"):
            with self.subTest(size=size):
                self.check_small_shm(size, None, {"GPROF_RUN_BASE": "/dev/shm"})

    def test_shm_without_write_permission(self):
        code, err, path = self.profile_in("mount -t tmpfs -o ro tmpfs /dev/shm\nCOMMAND", "stress", "nested", 100,
                                          env={"GPROF_RUN_BASE": "/dev/shm"})
        self.assertEqual(code, OWN_CODE, err)
        self.assertEqual(len(harness.Trace(path).of("nvtx")), 200)


if __name__ == "__main__":
    harness.main()
