"""A program that was prepared for being attached to: without a request it is as it was, and with one it is recorded without ptrace."""
import os
import pathlib
import signal
import subprocess
import time

import attach_case
import harness
import recorder_case

MEMORY_KB = 300  # that being armed may take (docs/attach.md)


class Armed(attach_case.AttachCase):
    load, marks = recorder_case.RecorderCase.load, recorder_case.RecorderCase.marks

    def arming(self):
        done = subprocess.run([harness.GPROF, "env", "--format", "plain"], capture_output=True, check=True, text=True, timeout=harness.DEADLINE_S,
                              env=self.environment(None, None))
        return dict(line.split("=", 1) for line in done.stdout.splitlines())

    def arm(self, *script, folder=None):
        """No thread of the driver could be borrowed."""
        folder = {} if folder is None else {"GPROF_ARMED": str(folder)}
        self.begin(*script, env={**self.arming(), **folder, "MOCK_DRIVER_THREAD": "0"})

    def proc(self, name):
        return pathlib.Path(f"/proc/{self.program.pid}/{name}")

    def threads(self):
        return sorted((task / "comm").read_text().strip() for task in self.proc("task").iterdir())

    def status(self):
        return dict(line.split(":\t") for line in self.proc("status").read_text().splitlines() if ":\t" in line)

    def portrait(self, env):
        gate = self.folder / "gate"
        self.begin("mark", "one", "launch", 3, "push", "range@domain", "pop", "range@domain", "malloc", 1000, "run", "env > child.env", "say", "ready",
                   "wait", gate, "mark", "after", "exit", 3, env=env)  # with a thread of the driver: libc has handlers for threads
        if env:
            harness.wait_for(lambda: "gprof-armed" in self.threads(), "the thread that waits")
        status = self.status()
        signals = {name: status[name] for name in ("SigPnd", "ShdPnd", "SigBlk", "SigIgn", "SigCgt")}
        files = sorted(os.readlink(fd) for fd in self.proc("fd").iterdir())
        files = [name.split(":")[0] for name in files]  # pipes have numbers
        maps = self.proc("maps").read_text()
        memory_kb = int(status["RssAnon"].split()[0])
        child = dict(line.split("=", 1) for line in (self.folder / "child.env").read_text().splitlines() if "=" in line)
        facts = [(fact["fact"], fact.get("name")) for fact in self.finish(gate, 3)]
        gate.unlink()
        return {"signals": signals, "files": files, "facts": facts}, maps, memory_kb, child

    def test_without_a_request_the_program_is_as_it_was(self):
        arming = self.arming()
        self.assertEqual(sorted(arming), ["CUDA_INJECTION64_PATH", "GPROF_ARMED", "NVTX_INJECTION64_PATH"])
        plain, _, plain_kb, plain_child = self.portrait({})
        armed, maps, armed_kb, armed_child = self.portrait(arming)
        self.assertEqual(armed, plain)
        self.assertEqual({name: value for name, value in armed_child.items() if plain_child.get(name) != value}, arming)
        self.assertIn("libgprof-tracer.so", maps)
        self.assertNotIn("libcupti", maps)
        self.assertLess(armed_kb - plain_kb, MEMORY_KB)
        self.assertEqual(list(pathlib.Path(self.run_base).iterdir()), [])

    def test_one_thread_sleeps_and_that_from_the_first_use_of_cuda_on(self):
        cuda, gate = self.folder / "cuda", self.folder / "gate"
        self.arm("mark", "before", "say", "ready", "wait", cuda, "launch", 1, "wait", gate, "exit", 0)
        self.assertEqual(self.threads(), ["scripted"])
        cuda.touch()
        harness.wait_for(lambda: "gprof-armed" in self.threads(), "the thread that waits")
        self.assertEqual(len(self.threads()), 2)
        (own,) = [task for task in self.proc("task").iterdir() if (task / "comm").read_text().strip() == "gprof-armed"]

        def switches():
            return [line for line in (own / "status").read_text().splitlines() if "ctxt_switches" in line]
        harness.wait_for(lambda: (own / "wchan").read_text().startswith(("futex", "0")), "it to wait")
        time.sleep(0.2)
        before = switches()
        time.sleep(1.5)
        self.assertEqual(switches(), before)
        self.finish(gate, 0)

    def test_attach_needs_no_thread_to_borrow(self):
        gate = self.folder / "gate"
        self.arm("mark", "before", "launch", 2, "say", "ready", "work", gate, "exit", 3)
        err = self.attach(self.program.pid, "-d", "0.5", "-o", "a.trace")
        self.assertIn("the program goes on", err)
        self.assertNotIn("gprof-armed", self.threads())
        self.attach(self.program.pid, "-d", "0.3", "-o", "b.trace")
        facts = self.finish(gate, 3)
        for name in ("a.trace", "b.trace"):
            trace = self.check_trace(name, facts)
            # Its NVTX began before, and each launch is followed by a mark.
            calls = [call["start_ns"] for call in trace.calls("cudaLaunchKernel")]
            marks = [mark["time_ns"] for mark in trace.of("nvtx", event=1) if calls[0] <= mark["time_ns"] <= calls[-1]]
            self.assertEqual(len(marks), len(calls) - 1)
            self.assertEqual(set(self.marks(trace)), {"work"})
        self.assertEqual([path for path in pathlib.Path(self.run_base).iterdir() if path.is_file()], [])

    def test_before_the_first_use_of_cuda_it_is_told_so(self):
        gate = self.folder / "gate"
        self.arm("mark", "before", "say", "ready", "wait", gate, "exit", 0)
        self.assertIn("has not loaded the CUDA driver", self.attach(self.program.pid, code=125))
        self.finish(gate, 0)

    def test_a_recorder_on_it(self):
        gate = self.folder / "gate"
        self.arm("launch", 2, "say", "ready", "work", gate, "exit", 0)
        env = self.environment("13.0", None)
        recorder = subprocess.Popen([str(harness.GPROF), "record", "--attach", str(self.program.pid), "--experimental", "--flush-ms", "20", "--keep", "10s"],
                                    stderr=subprocess.PIPE, cwd=self.folder, env=env)
        self.addCleanup(recorder.stderr.close)
        self.addCleanup(recorder.kill)
        self.assertIn(b"recording", recorder.stderr.readline())
        time.sleep(0.5)

        def cli(*words):
            return subprocess.run([str(harness.GPROF), *map(str, words)], capture_output=True, check=True, cwd=self.folder, env=env, timeout=harness.DEADLINE_S)
        cli("snapshot", self.program.pid, "-o", "s.trace")
        trace = self.load("s.trace")
        self.assertGreater(len(trace.of("kernel")), 3)
        self.assertEqual(set(self.marks(trace)), {"work"})
        reading = cli("top", self.program.pid, "--count", "1", "--interval", "300ms", "--format", "jsonl").stdout
        self.assertIn(b'"gpus"', reading)
        self.assertIn("is being recorded already", self.attach(self.program.pid, code=125))
        cli("detach", self.program.pid)
        self.assertEqual(recorder.wait(harness.DEADLINE_S), 0, recorder.stderr.read())
        self.attach(self.program.pid, "-d", "0.3", "-o", "a.trace")
        self.check_trace("a.trace", self.finish(gate, 0))

    def test_two_who_attach_and_one_who_dies(self):
        gate = self.folder / "gate"
        self.arm("launch", 2, "say", "ready", "work", gate, "exit", 0)
        for delay_s in (0, 0.003, 0.03, 0.3):
            attached = subprocess.Popen(self.attach_command(self.program.pid, "-f", "-o", "a.trace"), stderr=subprocess.DEVNULL, cwd=self.folder,
                                        env=self.environment("13.0", None))
            time.sleep(delay_s)
            attached.kill()
            attached.wait()
            self.assertIsNone(self.program.poll())
        first = subprocess.Popen(self.attach_command(self.program.pid, "-f", "-o", "b.trace"), stderr=subprocess.PIPE, cwd=self.folder,
                                 env=self.environment("13.0", None))
        self.addCleanup(first.stderr.close)
        self.assertIn(b"recording", first.stderr.readline())
        self.assertIn("is being recorded already", self.attach(self.program.pid, "-o", "c.trace", code=125))
        time.sleep(0.3)
        first.send_signal(signal.SIGINT)
        self.assertEqual(first.wait(harness.DEADLINE_S), 0)
        self.check_trace("b.trace", self.finish(gate, 0))

    def test_a_recording_whose_gprof_cli_was_killed_is_ended_by_detach(self):
        gate = self.folder / "gate"
        self.arm("launch", 2, "say", "ready", "work", gate, "exit", 0)
        attached = subprocess.Popen(self.attach_command(self.program.pid, "-o", "a.trace"), stderr=subprocess.PIPE, cwd=self.folder, env=self.environment("13.0", None))
        self.addCleanup(attached.stderr.close)
        self.assertIn(b"recording", attached.stderr.readline())
        attached.kill()
        attached.wait()
        env = self.environment(None, None)
        subprocess.run([harness.GPROF, "detach", str(self.program.pid)], check=True, capture_output=True, env=env, timeout=harness.DEADLINE_S)
        size = harness.wait_for(lambda: (self.folder / "a.trace").stat().st_size, "the trace")
        time.sleep(1)
        later = (self.folder / "a.trace").stat().st_size
        time.sleep(0.5)
        self.assertEqual((self.folder / "a.trace").stat().st_size, later, size)
        self.finish(gate, 0)

    def test_the_program_ends_meanwhile(self):
        gate = self.folder / "gate"
        self.arm("launch", 2, "say", "ready", "work", gate, "exit", 5)
        attached = subprocess.Popen(self.attach_command(self.program.pid, "-o", "a.trace"), stderr=subprocess.PIPE, cwd=self.folder, env=self.environment("13.0", None))
        self.addCleanup(attached.stderr.close)
        self.assertIn(b"recording", attached.stderr.readline())
        time.sleep(0.2)
        self.finish(gate, 5)
        self.assertEqual(attached.wait(harness.DEADLINE_S), 0)
        self.assertIn(b"the program has ended", attached.stderr.read())
        self.assertGreater(len(harness.Trace(self.folder / "a.trace").of("kernel")), 3)

    def test_the_child_of_a_fork_and_an_exec(self):
        gate = self.folder / "gate"
        self.arm("launch", 2, "run", f"{harness.PROGRAMS / 'scripted'} launch 1 exit 0 > /dev/null", "say", "ready", "wait", gate, "exit", 0)
        self.finish(gate, 0)

    def test_the_child_of_a_fork_that_uses_cuda_alone(self):
        """The library came to its parent by NVTX, which is as far as that one goes."""
        gate = self.folder / "gate"
        self.arm("mark", "before", "fork", "launch", 2, "say", "ready", "work", gate, "exit", 3)
        (child,) = self.proc(f"task/{self.program.pid}/children").read_text().split()
        self.attach(child, "-d", "0.3", "-o", "a.trace")
        self.check_trace("a.trace", self.finish(gate, 3))

    def test_no_folder_for_requests(self):
        gate = self.folder / "gate"
        self.arm("launch", 2, "say", "ready", "work", gate, "exit", 0, folder=self.folder / "nowhere")
        err = self.attach(self.program.pid, code=125)
        self.assertIn("nowhere", err)
        self.finish(gate, 0)

    @harness.unittest.skipUnless(os.geteuid() == 0, "only root may mount")
    def test_a_full_disk(self):
        small = self.folder / "small"
        small.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "none", small], capture_output=True, check=False).returncode != 0:
            self.skipTest("may not mount")
        self.addCleanup(subprocess.run, ["umount", "-l", small], check=True)
        (small / "filler").write_bytes(b"x" * 4096)
        gate = self.folder / "gate"
        self.arm("launch", 2, "say", "ready", "work", gate, "exit", 0, folder=small)
        err = self.attach(self.program.pid, code=125)
        self.assertIn("No space left", err)
        (small / "filler").unlink()
        self.finish(gate, 0)

    def test_somebody_elses_request_is_not_carried_out(self):
        if os.geteuid() != 0:
            self.skipTest("only root can make a file of somebody else")
        gate = self.folder / "gate"
        self.arm("launch", 2, "say", "ready", "work", gate, "exit", 0)
        ticks = self.proc("stat").read_text().rsplit(") ", 1)[1].split()[19]
        request = pathlib.Path(self.run_base) / f"gprof-cli-request-{self.program.pid}-{ticks}"
        request.write_text("GPROF_OUTPUT=/tmp/trap.trace\0")
        os.chown(request, 12345, 12345)
        # A mapping of the same page wakes it, whoever has that.
        wake = ("import ctypes, mmap, os, sys; f = open(sys.argv[1], 'r+b'); m = mmap.mmap(f.fileno(), 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE);"
                "a = ctypes.addressof(ctypes.c_char.from_buffer(m)); sys.exit(ctypes.CDLL(None).syscall(202, ctypes.c_void_p(a), 1, 1000, None, None, 0) < 1)")
        harness.wait_for(lambda: subprocess.run(["python3", "-c", wake, harness.TRACER], check=False, capture_output=True).returncode == 0 or os.uname().machine != "x86_64",
                         "somebody who was woken")
        time.sleep(0.2)
        self.assertTrue(request.exists())
        self.assertIn("gprof-armed", self.threads())
        self.finish(gate, 0)

    def test_formats(self):
        env = self.environment(None, {"CUDA_INJECTION64_PATH": "/other/tool.so"})

        def lines(*options):
            return subprocess.run([harness.GPROF, "env", *options], capture_output=True, check=True, text=True, env=env, timeout=harness.DEADLINE_S).stdout.splitlines()
        self.assertIn("export GPROF_NEXT_CUDA_INJECTION=/other/tool.so", lines())
        self.assertIn(f'ENV GPROF_ARMED="{self.run_base}"', lines("--format", "docker"))
        self.assertIn(f'Environment="GPROF_ARMED={self.run_base}"', lines("--format", "systemd"))
        yaml = lines("--format", "k8s", "--library", "/opt/gprof/tracer.so")
        self.assertIn('  value: "/opt/gprof/tracer.so"', yaml)
        self.assertEqual(yaml[0::2], ["- name: " + name for name in ("GPROF_NEXT_CUDA_INJECTION", "CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", "GPROF_ARMED")])
        shell = subprocess.run(["sh", "-c", f'eval "$({harness.GPROF} env)"; env'], capture_output=True, check=True, text=True, env=env, timeout=harness.DEADLINE_S)
        self.assertIn(f"CUDA_INJECTION64_PATH={harness.TRACER}", shell.stdout)


if __name__ == "__main__":
    harness.main()
