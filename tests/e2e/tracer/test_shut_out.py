"""A process that cannot write to its trace: the launcher writes for it, or it is said what is missing. And a file that is
not the trace of the process is left as it is."""
import os
import pathlib
import re
import resource
import shutil
import signal
import struct
import subprocess
import unittest

import harness

RANGES = 1000
NOBODY = 65534


class ShutOutCase(harness.Case):
    def setUp(self):
        super().setUp()
        # As /dev/shm: everybody may go through it.
        os.chmod(self.run_base, 0o711)

    def ranges(self, path):
        return len(harness.Trace(path).of("nvtx", event=2, message="range"))

    def assert_whole(self, run, ranges):
        self.assertEqual(self.ranges(run.trace_path), ranges, run.err)
        self.assertEqual(harness.total(self.report(run.trace_path))["health.complete"], 1, run.err)
        self.assertEqual(run.trace.problems, [])
        self.assert_nothing_left()

    def assert_nothing_left(self):
        self.assertEqual([path for base in pathlib.Path(self.run_base).iterdir() for path in base.iterdir()], [])

    def start(self, *words):
        path, command = self.profile_command("shut_out", words, ["--flush-ms", "20"])
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   cwd=self.folder, env=self.environment(None, None))
        for stream in (process.stdin, process.stdout, process.stderr):
            self.addCleanup(stream.close)
        self.addCleanup(process.kill)
        ready = process.stdout.readline()
        self.assertIn(b'"ready"', ready)
        program = int(re.search(rb'"pid":(\d+)', ready).group(1))
        self.addCleanup(self.kill_quietly, program)
        return path, process, program

    @staticmethod
    def kill_quietly(pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


@unittest.skipIf(os.geteuid() != 0, "only root can become another user")
class AnotherUser(ShutOutCase):
    def test_from_the_beginning(self):
        for program in ("shut_out", "/usr/bin/env"):
            run = self.profile("setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups",
                               *([] if program == "shut_out" else [program]), harness.PROGRAMS / "shut_out", "ranges",
                               version=None)
            self.assertEqual(run.code, 0, run.err)
            self.assert_whole(run, RANGES)

    def test_in_the_middle(self):
        run = self.profile("shut_out", "ranges", "user", "ranges", version=None)
        self.assertEqual(run.code, 0, run.err)
        self.assert_whole(run, 2 * RANGES)

    def test_before_the_first_range(self):
        run = self.profile("shut_out", "user", "ranges", version=None)
        self.assert_whole(run, RANGES)

    def test_gpu_work(self):
        run = self.profile("scripted", "launch", 100, "user", NOBODY, "launch", 200)
        self.assertEqual(run.code, 0, run.err)
        self.assertEqual(len(run.trace.of("kernel")), 300, run.err)
        self.assertEqual(harness.total(self.report(run.trace_path))["health.complete"], 1)

    def test_and_in_a_child(self):
        run = self.profile("shut_out", "ranges", "user", "fork", "ranges", version=None)
        self.assertEqual(self.ranges(run.trace_path), 2 * RANGES, run.err)
        self.assert_nothing_left()

    def test_killed(self):
        run = self.profile("shut_out", "ranges", "user", "ranges", "kill", version=None)
        self.assertEqual(run.code, 128 + signal.SIGKILL, run.err)
        self.assertEqual(self.ranges(run.trace_path), 2 * RANGES, run.err)
        self.assert_nothing_left()

    def test_ranges_are_in_the_trace_while_the_program_runs(self):
        path, process, _ = self.start("user", "ranges", "wait")
        harness.wait_for(lambda: harness.has_records(path) and self.ranges(path) == RANGES, "the ranges")
        process.communicate(b"\n", timeout=harness.DEADLINE_S)
        self.assertEqual(process.returncode, 0)

    def test_trace_and_run_folder_stay_closed_to_that_user(self):
        path, process, program = self.start("ranges", "user", "wait")
        variables = pathlib.Path(f"/proc/{program}/environ").read_bytes().split(b"\0")
        folder = next(os.fsdecode(entry.partition(b"=")[2]) for entry in variables if entry.startswith(b"GPROF_RUN_FOLDER="))
        script = f"""
ls '{os.path.dirname(folder)}' && echo listed the base
ls '{folder}' && echo listed the folder
ls '{folder}/others' && echo listed the folder for others
cat '{folder}'/*.arena {folder}/spare0 && echo read an arena
echo x > '{folder}/new' && echo made a file
echo x >> '{folder}/control' && echo changed the control page
echo x >> '{path}' && echo changed the trace
rm -f '{folder}/control' '{folder}/others/none' && echo removed a file
true"""
        os.chmod(self.folder, 0o711)
        done = subprocess.run(["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups", "sh", "-c", script],
                              capture_output=True, timeout=harness.DEADLINE_S, check=False)
        self.assertEqual(done.stdout.decode(), "")
        self.assertRegex(os.path.basename(folder), r"^\d+-\d+-[0-9a-f]{32}$")
        process.communicate(b"\n", timeout=harness.DEADLINE_S)
        self.assertEqual(self.ranges(path), RANGES)

    def test_a_link_among_the_arenas_is_not_followed(self):
        _, process, program = self.start("user", "ranges", "wait")
        variables = pathlib.Path(f"/proc/{program}/environ").read_bytes().split(b"\0")
        folder = next(os.fsdecode(entry.partition(b"=")[2]) for entry in variables if entry.startswith(b"GPROF_RUN_FOLDER="))
        victim = pathlib.Path(self.run_base) / "victim"
        victim.write_bytes(bytes(8192))
        os.symlink(victim, f"{folder}/others/{program}-7.arena")
        os.link(victim, f"{folder}/others/{program}-8.arena")
        process.communicate(b"\n", timeout=harness.DEADLINE_S)
        self.assertEqual(process.returncode, 0)
        self.assertEqual(victim.read_bytes(), bytes(8192))


class Limits(ShutOutCase):
    def test_files_that_may_not_grow_from_the_beginning(self):
        for arguments in (("fsize", "ranges"), ("fsize", "ranges", "fork", "ranges")):
            with self.subTest(arguments=arguments):
                run = self.profile("shut_out", *arguments, version=None)
                self.assertEqual(run.code, 0, run.err)
                self.assertEqual(self.ranges(run.trace_path), RANGES * arguments.count("ranges"), run.err)
                self.assertEqual(run.trace.of("loss"), [])
                self.assert_nothing_left()

    def test_files_that_may_not_grow_from_the_middle_on(self):
        run = self.profile("shut_out", "ranges", "fsize", "ranges", version=None)
        self.assert_whole(run, 2 * RANGES)

    def test_no_descriptor_from_the_middle_on(self):
        run = self.profile("shut_out", "ranges", "nofile", "ranges", version=None)
        self.assert_whole(run, 2 * RANGES)

    def test_what_the_launcher_cannot_write_either_is_said(self):
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))
        for options in ((), ("-q",)):
            with self.subTest(options=options):
                run = self.profile("stress", "strings", 20000, version=None, options=options, preexec_fn=limit)
                self.assertEqual(run.code, 7, run.err)
                self.assertIn("records were lost", run.err.splitlines()[-1])
                self.assertEqual(harness.total(self.report(run.trace_path))["health.complete"], 0)


class TornWrite(ShutOutCase):
    def test_a_process_killed_within_a_write_loses_nothing(self):
        run = self.profile("stress", "strings", 100_000, version=None,
                           options=("-e", f"LD_PRELOAD={harness.PROGRAMS / 'torn_write.so'}"))
        self.assertEqual(run.code, 128 + signal.SIGKILL, run.err)
        report = self.report(run.trace_path)
        metrics = harness.total(report)
        self.assertEqual((metrics["health.damaged_chunks"], metrics["health.skipped_bytes"], metrics["health.missing_chunks"]), (0, 0, 0))
        self.assertGreaterEqual(metrics["health.duplicate_chunks"], 1)
        self.assertEqual(metrics["health.complete"], 1)
        said = str(report["findings"])
        self.assertNotRegex(said, "(?i)disk")


class OtherFile(ShutOutCase):
    """An inode number is given away again as soon as its file is deleted. Whether the file system does so is left to chance
    no more: the number that the arena of the program remembers is changed to that of the new file."""

    def forge_inode(self, old, new):
        """In the run folder, as if `new` had got the inode number of `old`."""
        before, after = (struct.pack("<2Q", status.st_dev, status.st_ino) for status in (old, new))
        found = 0
        for path in pathlib.Path(self.run_base).rglob("*"):
            if not path.is_file() or path.name.startswith("spare"):
                continue
            with open(path, "r+b") as file:
                content = file.read(16 << 20)
                at = content.find(before)
                while at >= 0:
                    file.seek(at)
                    file.write(after)
                    found += 1
                    at = content.find(before, at + 1)
        return found

    def test_salvage_leaves_a_new_file_of_the_name_alone(self):
        path, process, program = self.start("ranges", "wait")
        process.kill()
        process.wait(harness.DEADLINE_S)
        os.kill(program, signal.SIGKILL)
        old = path.stat()
        path.unlink()
        path.write_bytes(b"")
        self.assertGreaterEqual(self.forge_inode(old, path.stat()), 2)  # control page and arena
        other = self.profile("true", version=None)
        subprocess.run([harness.GPROF, "info", other.trace_path], capture_output=True, timeout=harness.DEADLINE_S,
                       check=False, env=self.environment(None, None))
        self.assertEqual(path.read_bytes(), b"")

    def test_a_living_program_leaves_the_trace_of_a_new_run_alone(self):
        path, process, program = self.start("ranges", "wait", "ranges")
        process.kill()
        process.wait(harness.DEADLINE_S)
        old = path.stat()
        path.unlink()
        self.runs = 0  # the same name
        new = self.profile("shut_out", "ranges", version=None)
        self.assertEqual(new.trace_path, path)
        self.assertGreaterEqual(self.forge_inode(old, path.stat()), 2)
        before = path.read_bytes()
        process.stdin.write(b"\n")
        process.stdin.flush()
        harness.wait_for(lambda: not pathlib.Path(f"/proc/{program}/exe").exists(), "the end of the program")
        subprocess.run([harness.GPROF, "info", path], capture_output=True, timeout=harness.DEADLINE_S, check=False,
                       env=self.environment(None, None))
        self.assertEqual(path.read_bytes(), before)
        self.assertEqual(self.ranges(path), RANGES)


if __name__ == "__main__":
    if shutil.which("setpriv") is None:
        AnotherUser.test_from_the_beginning = unittest.skip("needs setpriv")(AnotherUser.test_from_the_beginning)
    harness.main()
