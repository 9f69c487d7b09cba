"""The trace file: refused before the program runs, or there and empty when it starts."""

import os
import socket
import unittest

from launcher import DEADLINE_S, LauncherTest, wait_until


class Refusals(LauncherTest):
    def assert_refused(self, word, *options):
        done = self.profile(*options, "touch", "ran")
        self.assertEqual(done.returncode, 125, done.stderr)
        self.assertIn(word, done.stderr.decode())
        self.assertFalse((self.folder / "ran").exists())

    def test_existing_file(self):
        (self.folder / "run.trace").write_bytes(b"precious")
        self.assert_refused("already exists", "-o", "run.trace")
        self.assert_refused("-f", "-o", "run.trace")
        self.assertEqual((self.folder / "run.trace").read_bytes(), b"precious")

    def test_missing_folder(self):
        self.assert_refused("folder does not exist", "-o", "missing/run.trace")

    def test_folder_that_takes_no_files(self):
        self.assert_refused("cannot create", "-o", "/proc/run.trace")

    def test_what_is_no_regular_file(self):
        os.mkfifo(self.folder / "pipe")
        (self.folder / "loop").symlink_to("loop")
        for path, word in (("/dev/full", "a device"), (".", "a folder"), ("pipe", "a pipe"), ("loop", "Too many levels of symbolic links")):
            self.assert_refused(word, "-o", path)
            self.assert_refused(word, "-f", "-o", path)

    def test_empty_name(self):
        self.assert_refused("empty", "-o", "")

    def test_typing_mistake_does_not_cost_an_old_trace(self):
        (self.folder / "run.trace").write_bytes(b"precious")
        done = self.profile("-f", "no-such-program-of-ours")
        self.assertEqual(done.returncode, 127)
        self.assertEqual((self.folder / "run.trace").read_bytes(), b"precious")


class Overwriting(LauncherTest):
    def test_replaces_the_file_by_another_one(self):
        old = self.folder / "run.trace"
        old.write_bytes(b"precious")
        os.link(old, self.folder / "kept")
        done = self.profile("-f", "sh", "-c", "wc -c < run.trace")
        self.assertEqual((done.returncode, done.stdout.strip()), (0, b"96"))
        # What a process of the run before still writes goes into the old file.
        self.assertEqual((self.folder / "kept").read_bytes(), b"precious")
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["kept", "run.trace"])

    def test_link_is_kept_and_its_file_replaced(self):
        (self.folder / "real.trace").write_bytes(b"old")
        (self.folder / "link.trace").symlink_to("real.trace")
        done = self.profile("-f", "-o", "link.trace", "-s", "none", "true")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue((self.folder / "link.trace").is_symlink())
        self.assertEqual(self.recorded("real.trace"), b"")

    def test_default_name_counts_up(self):
        (self.folder / "run.trace").write_bytes(b"precious")
        for _ in range(2):
            self.assertEqual(self.profile("true").returncode, 0)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["run.2.trace", "run.3.trace", "run.trace"])
        self.assertEqual((self.folder / "run.trace").read_bytes(), b"precious")
        self.assertEqual(self.profile("-f", "-s", "none", "true").returncode, 0)
        self.assertEqual(self.recorded(), b"")
        self.assertEqual(len(list(self.folder.iterdir())), 3)

    def test_launchers_that_start_at_once_take_one_name_each(self):
        at_once = [self.start(self.cli, "profile", "sh", "-c", "echo $GPROF_OUTPUT") for _ in range(8)]
        outputs = {process.communicate(timeout=DEADLINE_S)[0] for process in at_once}
        self.assertEqual((len(outputs), len(list(self.folder.iterdir()))), (8, 8))

    def test_displaced_run_does_not_take_the_other_for_its_own(self):
        good = self.folder / "good"
        good.write_bytes(self.trace_bytes())
        first = self.start(self.cli, "profile", "-f", "-o", "one.trace", "sh", "-c", "touch began; while [ ! -e over ]; do sleep 0.01; done; exit 7")
        wait_until(lambda: (self.folder / "began").exists(), "the first program runs")
        second = self.profile("-f", "-o", "one.trace", "sh", "-c", f"cat {good} >> \"$GPROF_OUTPUT\"")
        self.assertIn(b"recorded 1 process", second.stderr)
        (self.folder / "over").touch()
        said = first.communicate(timeout=DEADLINE_S)[1].decode()
        self.assertEqual(first.returncode, 7)
        self.assertIn("another program replaced 'one.trace' during this run", said)
        self.assertNotIn("recorded 1 process", said)
        self.assertEqual(self.recorded("one.trace"), good.read_bytes())

    def test_new_file_needs_no_force(self):
        self.assertEqual(self.profile("-f", "true").returncode, 0)
        self.assertTrue((self.folder / "run.trace").is_file())


class Patterns(LauncherTest):
    def names(self, *options, program=("true",)):
        done = self.profile(*options, *program)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.stdout = done.stdout.decode().strip()
        return sorted(path.name for path in self.folder.iterdir())

    def test_pid_is_that_of_the_program(self):
        names = self.names("-o", "p%p.trace", program=("sh", "-c", "echo $$"))
        self.assertEqual(names, [f"p{self.stdout}.trace"])

    def test_host(self):
        self.assertEqual(self.names("-o", "%h.trace"), [f"{socket.gethostname()}.trace"])

    def test_first_free_number(self):
        self.names("-o", "r%n.trace")
        self.assertEqual(self.names("-o", "r%n.trace"), ["r1.trace", "r2.trace"])
        (self.folder / "r1.trace").unlink()
        self.assertEqual(self.names("-f", "-o", "r%n.trace"), ["r1.trace", "r2.trace"])

    def test_launchers_that_start_at_once_do_not_clash(self):
        at_once = [self.start(self.cli, "profile", "-o", "r%n.trace", "sh", "-c", "echo $GPROF_OUTPUT $GPROF_RUN_FOLDER")
                   for _ in range(8)]
        outputs = [process.communicate(timeout=DEADLINE_S)[0].split() for process in at_once]
        self.assertEqual({process.returncode for process in at_once}, {0})
        for number in (0, 1):
            self.assertEqual(len({output[number] for output in outputs}), 8, outputs)
        self.assertEqual(len(self.names("-o", "r%n.trace")), 9)

    def test_environment_variable_and_percent_sign(self):
        self.env["RANK"] = "3"
        self.assertEqual(self.names("-o", "rank%q{RANK}-100%%.trace"), ["rank3-100%.trace"])

    def test_mistakes(self):
        for pattern in ("%q{UNSET_VARIABLE_OF_OURS}", "%q", "%q{", "%x", "trailing%"):
            with self.subTest(pattern=pattern):
                done = self.profile("-o", pattern, "touch", "ran")
                self.assertEqual(done.returncode, 125)
                self.assertIn(b"hint:", done.stderr)
                self.assertEqual(list(self.folder.iterdir()), [])


class AfterTheRun(LauncherTest):
    """--stats and --export, which are spelled as Nsight Systems spells them."""

    def recorded(self, *options):
        good = self.folder / "good"
        good.write_bytes(self.trace_bytes())
        return self.profile(*options, "sh", "-c", f"echo hello; cat {good} >> \"$GPROF_OUTPUT\"; rm {good}; exit 3")

    def test_tables_and_exports_come_when_the_program_has_ended(self):
        done = self.recorded("--stats=true", "--export=sqlite,jsonlines", "-s", "none", "--cpuctxsw=none", "-x", "true")
        self.assertEqual(done.returncode, 3)
        lines = done.stdout.decode().splitlines()
        self.assertEqual(lines[0], "hello")
        self.assertTrue(any("cuda_gpu_kern_sum" in line for line in lines), lines)
        self.assertTrue(any(line.endswith("saxpy") for line in lines), lines)
        self.assertNotIn(b"warning", done.stderr)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["run-jsonl", "run.sqlite", "run.trace"])

    def test_quiet_says_nothing(self):
        done = self.recorded("-q", "--export=sqlite", "-t", "cuda,nvtx,osrt")
        self.assertEqual((done.returncode, done.stderr), (3, b""))

    def test_what_cannot_be_made_is_a_warning(self):
        (self.folder / "run.sqlite").mkdir()
        done = self.recorded("--export=sqlite,hdf")
        self.assertEqual(done.returncode, 3)
        self.assertIn(b"warning: export failed: ", done.stderr)
        self.assertIn(b"warning: --export=hdf: this format is not supported", done.stderr)

    def test_nothing_recorded_makes_nothing(self):
        done = self.profile("--stats", "--export=sqlite", "-s", "none", "true")
        self.assertEqual((done.returncode, done.stdout), (0, b""))
        self.assertEqual([path.name for path in self.folder.iterdir()], ["run.trace"])


class LastLine(LauncherTest):
    def last_line(self, *words):
        done = self.profile(*words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stderr.decode().splitlines()[-1]

    def test_what_was_recorded_and_what_to_type_next(self):
        good = self.folder / "good"
        good.write_bytes(self.trace_bytes())
        line = self.last_line("-o", "my run.trace", "sh", "-c", f"cat {good} >> \"$GPROF_OUTPUT\"")
        self.assertIn("1 process, 1 kernel, 1 copy", line)
        self.assertTrue(line.endswith("Next: gprof-cli report 'my run.trace'"), line)

    def test_nothing(self):
        self.assertIn("nothing was recorded: 'true' made no CUDA or NVTX call", self.last_line("-s", "none", "true"))
        self.assertIn("(-t none)", self.last_line("-f", "--only-trace", "-t", "none", "true"))

    def test_the_program_may_take_the_file_away(self):
        self.assertIn("nothing was recorded", self.last_line("rm", "run.trace"))

    def test_next_command_works(self):
        good = self.folder / "good"
        good.write_bytes(self.trace_bytes())
        line = self.last_line("sh", "-c", f"cat {good} >> \"$GPROF_OUTPUT\"")
        command = line.split("Next: ")[1].replace("gprof-cli", str(self.cli), 1)
        self.assertEqual(self.run_in_folder("sh", "-c", command).returncode, 0)


if __name__ == "__main__":
    unittest.main()
