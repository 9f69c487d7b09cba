"""The program must not notice us: its streams, its exit code and everything that it can see of its own process."""
import os
import re
import signal
import subprocess

import harness

# What the launcher sets for the tracer; nothing else of the environment may differ.
OURS = re.compile(r"env (GPROF_\w+|CUDA_INJECTION64_PATH|NVTX_INJECTION64_PATH|NCCL_PROFILER_PLUGIN)=")


def portrait(run):
    """The lines about the process, without those that we are allowed to change."""
    lines = [line for line in run.out.splitlines() if not OURS.match(line) and not line.startswith(("fd ", "threads "))]
    return lines


def descriptors(run):
    return {line.split(" ", 2)[1]: line for line in run.out.splitlines() if line.startswith("fd ")}


def threads(run):
    return int(re.search(r"^threads (\d+)$", run.out, re.M).group(1))


class SelfPortrait(harness.Case):
    def pair(self, **more):
        plain = self.run_plain("self_portrait", "an argument", **more)
        return plain, self.profile("self_portrait", "an argument", **more)

    def test_same_portrait(self):
        for version in (None, "13.0"):
            with self.subTest(version=version):
                plain, traced = self.pair(version=version)
                self.assertEqual((plain.code, traced.code), (42, 42), traced.err)
                self.assertEqual(portrait(traced), portrait(plain))
                self.assertIn("errno 1234 1234 1234 1234 1234", traced.out)
                self.assertEqual(plain.err, "to stderr\n")
                # All that we add is the line of `profile` at the end.
                added = [line for line in traced.err.splitlines() if line != "to stderr"]
                self.assertEqual([line.split(":")[0] for line in added], ["gprof-cli"], traced.err)

    def test_descriptors_are_hidden_from_children(self):
        plain, traced = self.pair()
        extra = {fd: line for fd, line in descriptors(traced).items() if fd not in descriptors(plain)}
        self.assertLessEqual(len(extra), 3, extra)
        for fd, line in extra.items():
            self.assertIn(" cloexec ", line)
            self.assertGreater(int(fd), 2)
        for fd in "012":
            self.assertEqual(descriptors(traced)[fd].split()[2], descriptors(plain)[fd].split()[2])

    def test_one_thread_of_ours_at_most(self):
        plain, traced = self.pair()
        self.assertEqual(threads(plain), 1)
        self.assertLessEqual(threads(traced), 2)

    def test_mask_and_dispositions_are_inherited(self):
        def unusual():
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGRTMIN})
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        plain, traced = self.pair(preexec_fn=unusual)
        lines = [line for line in portrait(plain) if line.startswith("signal ")]
        self.assertIn("signal 1 ignored open", lines)
        self.assertIn("signal 10 default blocked", lines)
        self.assertEqual([line for line in portrait(traced) if line.startswith("signal ")], lines)

    def test_streams_pass_through(self):
        trace, command = self.profile_command("/bin/sh", ["-c", "cat; echo error >&2; exit 5"], [])
        data = os.urandom(200000)
        done = subprocess.run(command, input=data, capture_output=True, timeout=harness.DEADLINE_S, check=False,
                              env=self.environment(None, None), cwd=self.folder)
        self.assertEqual((done.returncode, done.stdout), (5, data))
        self.assertTrue(done.stderr.startswith(b"error\n") or b"\nerror\n" in done.stderr)
        self.assertTrue(trace.exists())


if __name__ == "__main__":
    harness.main()
