"""Where a program cannot be attached to: one clear line, and the program is as it was."""
import ctypes
import os
import pathlib
import signal
import struct
import subprocess
import sys
import time

import attach_case
import harness

HOLD = """
import ctypes, sys, time
libc, pid = ctypes.CDLL(None, use_errno=True), int(sys.argv[1])
sys.exit(1) if libc.ptrace(0x4206, pid, 0, 0) != 0 else print("holding", flush=True)
sys.stdin.read()
"""

PTRACE_CALL = {"x86_64": 101, "aarch64": 117}


def forbid_ptrace():
    """A seccomp filter, as that of a container: ptrace answers EPERM."""
    load, jump_equal, give = 0x20, 0x15, 0x06
    allowed, refused = 0x7fff0000, 0x00050001
    code = [(load, 0, 0, 0), (jump_equal, 0, 1, PTRACE_CALL[os.uname().machine]), (give, 0, 0, refused), (give, 0, 0, allowed)]
    text = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in code))
    program = struct.pack("HxxxxxxP", len(code), ctypes.addressof(text))
    libc = ctypes.CDLL(None, use_errno=True)
    no_new_privileges, set_seccomp, with_filter = 38, 22, 2
    assert libc.prctl(no_new_privileges, 1, 0, 0, 0) == 0
    assert libc.prctl(set_seccomp, with_filter, program, 0, 0) == 0, ctypes.get_errno()


def can_mount():
    return subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, check=False).returncode == 0


@harness.unittest.skipUnless(attach_case.may_trace(), "ptrace is not permitted here")
class Failures(attach_case.AttachCase):
    def refuse(self, words, **more):
        """It is said in one line, with a hint below, and nothing has changed."""
        before = harness.wait_for(self.driver_thread, "the thread of the driver")
        err = self.attach(self.program.pid, code=125, **more)
        self.assertEqual([line.split(":")[0] for line in err.splitlines()], ["gprof-cli", "hint"], err)
        self.assertIn(words, err)
        self.assertEqual(self.driver_thread(), before)
        self.assertNotIn("libgprof-tracer", pathlib.Path(f"/proc/{self.program.pid}/maps").read_text())
        self.assertEqual(list(self.folder.glob("*.trace")), [])
        self.assertEqual([path for path in pathlib.Path(self.run_base).glob("*/*") if path.is_dir()], [])

    def test_a_debugger_is_attached(self):
        gate = self.folder / "gate"
        self.begin("launch", 2, "say", "ready", "work", gate, "exit", 3)
        debugger = subprocess.Popen([sys.executable, "-c", HOLD, str(self.program.pid)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.assertEqual(debugger.stdout.readline(), b"holding\n")
        self.refuse(f"a debugger (pid {debugger.pid}) is attached to it")
        debugger.communicate()
        self.attach(self.program.pid, "-d", "0.3", "-o", "a.trace")
        self.check_trace("a.trace", self.finish(gate, 3))

    def test_it_is_stopped(self):
        gate = self.folder / "gate"
        self.begin("launch", 2, "say", "ready", "work", gate, "exit", 3)
        self.program.send_signal(signal.SIGSTOP)
        harness.wait_for(lambda: self.state() == "T", "it to stop")
        err = self.attach(self.program.pid, code=125)
        self.assertIn(f"it is stopped\nhint: continue it: kill -CONT {self.program.pid}", err)
        self.assertEqual(self.state(), "T")
        self.program.send_signal(signal.SIGCONT)
        self.finish(gate, 3)

    @harness.unittest.skipUnless(os.uname().machine in PTRACE_CALL, "the number of ptrace is not known here")
    def test_seccomp_forbids_ptrace(self):
        gate = self.folder / "gate"
        self.begin("launch", 2, "say", "ready", "work", gate, "exit", 3)
        self.refuse("CAP_SYS_PTRACE", preexec_fn=forbid_ptrace)
        self.finish(gate, 3)

    def test_a_static_program(self):
        program = harness.PROGRAMS / "short_lived_static"
        if not program.exists():
            self.skipTest("no static programs here")
        sleeper = subprocess.Popen([program, "sleep"], stdout=subprocess.PIPE)
        self.addCleanup(sleeper.stdout.close)
        self.addCleanup(sleeper.wait)
        self.addCleanup(sleeper.kill)
        self.assertEqual(sleeper.stdout.readline(), b"asleep\n")
        self.assertIn("it is statically linked", self.attach(sleeper.pid, code=125))
        self.assertIsNone(sleeper.poll())

    def test_it_ends_at_any_moment(self):
        """Either the program was recorded, or one line says that it has ended."""
        for delay_s in (0, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1):
            gate = self.folder / "gate"
            self.begin("launch", 2, "say", "ready", "work", gate, "exit", 3)
            attached = subprocess.Popen(self.attach_command(self.program.pid, "-f", "-o", "a.trace"), stderr=subprocess.PIPE, cwd=self.folder,
                                        env=self.environment("13.0", None), text=True)
            time.sleep(delay_s)
            self.finish(gate, 3)
            _, err = attached.communicate(timeout=harness.DEADLINE_S)
            self.assertIn(attached.returncode, (0, 2, 125), err)
            if attached.returncode != 0:
                self.assertLessEqual(len(err.splitlines()), 2, err)
            gate.unlink()

    def test_its_exit_waits_for_a_start_of_cupti(self):
        gate = self.folder / "gate"
        self.begin("launch", 2, "say", "ready", "work", gate, "exit", 3, env={"MOCK_SUBSCRIBE_MS": "700"})
        attached = subprocess.Popen(self.attach_command(self.program.pid, "-o", "a.trace"), stderr=subprocess.PIPE, cwd=self.folder,
                                    env=self.environment("13.0", None), text=True)
        tasks = pathlib.Path(f"/proc/{self.program.pid}/task")
        harness.wait_for(lambda: any((task / "comm").read_text() == "gprof-attach\n" for task in tasks.iterdir()), "the thread that starts")
        self.finish(gate, 3)
        _, err = attached.communicate(timeout=harness.DEADLINE_S)
        self.assertIn(attached.returncode, (0, 125), err)

    @harness.unittest.skipUnless(os.geteuid() == 0 and can_mount(), "may not mount")
    def test_shared_memory_that_is_full_or_not_there(self):
        runtime = self.folder / "runtime"
        runtime.mkdir(mode=0o700)
        for name, prepare in (("full", "mount -t tmpfs -o size=64k none /dev/shm && dd if=/dev/zero of=/dev/shm/filler bs=64k count=1 2> /dev/null"),
                              ("none", "mount -t tmpfs -o size=64k none /dev/shm && chmod 0 /dev/shm && mount -o remount,ro /dev/shm")):
            with self.subTest(name):
                gate = self.folder / f"gate-{name}"
                env = {**self.environment("13.0", {"MOCK_DRIVER_THREAD": "1"}), "XDG_RUNTIME_DIR": str(runtime)}
                env.pop("GPROF_RUN_BASE")
                script = self.command("scripted", ["launch", 2, "say", "ready", "work", gate, "exit", 3])
                self.program = subprocess.Popen(["unshare", "-m", "sh", "-c", prepare + ' && exec "$0" "$@"', *script], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                                cwd=self.folder, env=env)
                self.follow()
                done = subprocess.run(["nsenter", "-t", str(self.program.pid), "-m", f"--wd={self.folder}", *self.attach_command(self.program.pid, "-d", "1", "-o", f"{name}.trace")],
                                      capture_output=True, env=env, check=False, timeout=harness.DEADLINE_S)
                self.assertEqual(done.returncode, 0, done.stderr.decode())
                self.check_trace(f"{name}.trace", self.finish(gate, 3))


if __name__ == "__main__":
    harness.main()
