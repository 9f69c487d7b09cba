"""The program runs as if nobody stood beside it: streams, arguments, exit codes, scripts, descriptors."""

import os
import pathlib
import sys
import tempfile
import unittest

from launcher import LauncherTest, install

BINARY = bytes(range(256)) * 300


class Streams(LauncherTest):
    def test_stdin_and_stdout_pass_untouched(self):
        done = self.profile("cat", input=BINARY)
        self.assertEqual((done.returncode, done.stdout), (0, BINARY))

    def test_stderr_of_the_program_stays_on_stderr(self):
        done = self.profile("sh", "-c", "echo out; echo err >&2")
        self.assertEqual(done.stdout, b"out\n")
        self.assertTrue(done.stderr.startswith(b"err\ngprof-cli: "), done.stderr)

    def test_show_output_false_hides_both_and_keeps_stdin(self):
        done = self.profile("-w", "false", "sh", "-c", "cat > copy; echo out; echo err >&2; exit 5", input=b"text")
        self.assertEqual((done.returncode, done.stdout), (5, b""))
        self.assertNotIn(b"err\n", done.stderr)
        self.assertEqual((self.folder / "copy").read_bytes(), b"text")

    def test_show_output_true_is_the_default_spelled_out(self):
        done = self.profile("--show-output=true", "echo", "out")
        self.assertEqual(done.stdout, b"out\n")

    def test_quiet_reader_of_stderr_does_not_change_the_code(self):
        done = self.run_in_folder("bash", "-c", f"{self.cli} profile sh -c 'exit 9' 2> >(:); echo $?")
        self.assertEqual(done.stdout, b"9\n")


class Arguments(LauncherTest):
    def test_every_argument_arrives(self):
        words = ["", "a b", "--output", "x", "-f", "--", "'", '"', "*", "$HOME", "\\", "\n", "é"]
        done = self.profile(sys.executable, "-c", "import sys; print(ascii(sys.argv[1:]))", *words)
        self.assertEqual(done.stdout.decode().strip(), ascii(words))

    def test_double_dash_ends_our_options(self):
        done = self.profile("-o", "x.trace", "--", "echo", "--", "-o")
        self.assertEqual(done.stdout, b"-- -o\n")
        self.assertTrue((self.folder / "x.trace").is_file())

    def test_program_named_like_a_command_of_ours(self):
        self.write("report", "#!/bin/sh\necho mine \"$@\"\n", 0o755)
        done = self.profile("-e", f"PATH={self.folder}:{self.env['PATH']}", "report", "dump")
        self.assertEqual(done.stdout, b"mine dump\n")

    def test_nsight_spelling_of_flags(self):
        (self.folder / "run.trace").write_bytes(b"old")
        done = self.profile("-f", "true", "echo", "x")
        self.assertEqual((done.returncode, done.stdout), (0, b"x\n"))
        done = self.profile("--force-overwrite", "false", "-o", "run.trace", "echo", "x")
        self.assertEqual(done.returncode, 125)
        done = self.profile("-f", "true")
        self.assertEqual((done.returncode, done.stdout), (0, b""))


class ExitCodes(LauncherTest):
    def test_code_of_the_program(self):
        for code in (0, 1, 2, 3, 70, 124, 125, 126, 127, 255):
            with self.subTest(code=code):
                self.assertEqual(self.profile("-f", "sh", "-c", f"exit {code}").returncode, code)

    def test_killed_by_a_signal(self):
        for number in (1, 2, 3, 6, 9, 10, 11, 15):
            with self.subTest(signal=number):
                done = self.profile("-f", "sh", "-c", f"ulimit -c 0; kill -{number} $$")
                self.assertEqual(done.returncode, 128 + number)
        self.assertIn(b"was killed by SIGTERM", done.stderr)

    def assert_refused(self, code, word, *words):
        done = self.profile(*words)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn(word, done.stderr.decode())
        self.assertIn(words[-1], done.stderr.decode())
        self.assertEqual(list(self.folder.glob("*.trace*")), [])

    def test_not_found(self):
        self.assert_refused(127, "not in any folder of PATH", "no-such-program-of-ours")
        self.assert_refused(127, "spelling", "./nothing-here")
        self.assert_refused(127, "No such file", "")

    def test_found_here_but_not_in_path(self):
        self.write("here", "#!/bin/sh\n", 0o755)
        self.assert_refused(127, "run ./here", "here")

    def test_not_executable(self):
        self.write("plain.sh", "#!/bin/sh\n")
        self.assert_refused(126, "chmod +x", "./plain.sh")
        (self.folder / "sub").mkdir()
        self.assert_refused(126, "folder", "./sub")
        self.assert_refused(126, "Not a directory", "./plain.sh/x")

    def test_missing_interpreter_is_named(self):
        self.write("odd", "#!/no/such/interpreter\n", 0o755)
        self.assert_refused(127, "interpreter", "./odd")

    def test_missing_tracer(self):
        with tempfile.TemporaryDirectory(prefix="gprof-launcher-") as name:
            cli = install(pathlib.Path(name), with_tracer=False)
            done = self.run_in_folder(cli, "profile", "touch", "ran")
        self.assertEqual(done.returncode, 125)
        self.assertIn(b"cannot find the tracer", done.stderr)
        self.assertEqual(list(self.folder.iterdir()), [])


class Programs(LauncherTest):
    def test_found_through_path(self):
        self.assertEqual(self.profile("echo", "x").stdout, b"x\n")

    def test_search_skips_what_may_not_run(self):
        for name, mode in (("first", 0o644), ("second", 0o755)):
            (self.folder / name).mkdir()
            self.write(f"{name}/tool", f"#!/bin/sh\necho {name}\n", mode)
        path = f"{self.folder}/first:{self.folder}/second:{self.env['PATH']}"
        self.assertEqual(self.profile("-e", f"PATH={path}", "tool").stdout, b"second\n")

    def test_script(self):
        self.write("script", "#!/bin/sh\necho script \"$1\"\n", 0o755)
        self.assertEqual(self.profile("./script", "a").stdout, b"script a\n")

    def test_script_without_a_first_line(self):
        self.write("bare", "echo bare \"$1\"\n", 0o755)
        self.assertEqual(self.profile("./bare", "a").stdout, b"bare a\n")

    def test_python(self):
        self.write("x.py", "import sys\nprint(sys.argv)\nsys.exit(4)\n")
        done = self.profile(sys.executable, "x.py", "a")
        self.assertEqual((done.returncode, done.stdout), (4, b"['x.py', 'a']\n"))


class Descriptors(LauncherTest):
    LIST = ("sh", "-c", "exec ls /proc/self/fd")

    def test_none_of_ours_leaks(self):
        bare = self.run_in_folder(*self.LIST)
        self.assertEqual(self.profile(*self.LIST).stdout, bare.stdout)

    def test_inherited_ones_are_passed_on(self):
        read_end, write_end = os.pipe()
        try:
            done = self.profile("sh", "-c", f"echo through >&{write_end}", pass_fds=(write_end,))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(os.read(read_end, 100), b"through\n")
        finally:
            os.close(read_end)
            os.close(write_end)

    def test_closed_ones_stay_closed_and_no_warning_lands_in_the_trace(self):
        look = "for i in 0 1 2; do [ -e /proc/$$/fd/$i ] && echo $i >> open; done; :"
        script = f"exec {self.cli} profile -o x.trace -s none sh -c '{look}'"
        self.env["CUDA_INJECTION64_PATH"] = "/elsewhere.so"
        done = self.run_in_folder("sh", "-c", script + " <&- >&- 2>&-")
        self.assertEqual(done.returncode, 0)
        self.assertFalse((self.folder / "open").exists())
        self.assertEqual(self.recorded("x.trace"), b"")


if __name__ == "__main__":
    unittest.main()
