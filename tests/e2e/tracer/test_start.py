"""What happens between a program's first NVTX call and the tracer's being ready: the program runs as it does without us."""

import pathlib

import harness

OWN_CODE = 7
FORKS = 80
FORKERS = 3
MOST_ADDRESS_SPACE_KB = 128 << 10


def threads_of(trace, message):
    return len(trace.of("nvtx", message=message))


class StartCase(harness.Case):
    def both(self, program, *arguments, **more):
        """With and without us: the same code and the same output."""
        if not (harness.PROGRAMS / program).exists():
            self.skipTest(f"{program} was not built: the compiler cannot link it here")
        plain = self.run_plain(program, *arguments, version=None, **more)
        traced = self.profile(program, *arguments, version=None, **more)
        self.assertEqual((traced.code, traced.out), (plain.code, plain.out), traced.err)
        return plain, traced


class Forks(StartCase):
    """A child that is forked while another thread is within the start of NVTX waits for it for ever."""

    def check(self, where, silent=0):
        run = self.profile("fork_races", where, FORKS, version=None)
        self.assertEqual(run.code, OWN_CODE, run.err)
        self.assertEqual(threads_of(run.trace, "parent"), 1)
        self.assertEqual(threads_of(run.trace, "child"), FORKS - silent)
        self.assertEqual(run.trace.problems, [])
        messages = {notice["message"] for notice in run.trace.of("notice")}
        return [message for message in messages if "was forked while another thread" in message]

    def test_while_the_tracer_is_loaded(self):
        """Nothing of ours can hold back forks before the loader is done with us: such children are freed from outside."""
        scope = pathlib.Path("/proc/sys/kernel/yama/ptrace_scope")
        if scope.exists() and int(scope.read_text(encoding="ascii")) > 1:
            self.skipTest("this machine lets no process write to its children")
        self.assertEqual(len(self.check("loading", silent=FORKERS)), FORKERS)

    def test_while_nvtx_starts(self):
        self.check("settings")

    def test_while_the_tracer_starts(self):
        self.check("memory")


class AddressSpace(StartCase):
    def test_little_is_added(self):
        plain = int(self.run_plain("short_lived", "size", version=None).out)
        traced = int(self.profile("short_lived", "size", version=None).out)
        self.assertLess(traced - plain, MOST_ADDRESS_SPACE_KB, (plain, traced))

    def test_a_limit_that_the_program_sets_itself(self):
        plain, traced = self.both("short_lived", "limit")
        self.assertEqual(plain.code, OWN_CODE)
        self.assertEqual(len(traced.trace.of("nvtx", event=1)), 2)


class Sandbox(StartCase):
    def test_strict_mode_of_seccomp(self):
        for pause_ms in (0, 100):
            with self.subTest(pause_ms=pause_ms):
                plain, traced = self.both("short_lived", "strict", pause_ms)
                if plain.code == 77:
                    self.skipTest("this kernel has no strict mode of seccomp")
                self.assertEqual((plain.code, plain.out), (OWN_CODE, "strict\n"))
                self.assertEqual(len(traced.trace.of("nvtx", event=2, message="before")), 1)
                self.assertIn("strict mode", traced.err)
                self.assertEqual(len([r for r in traced.trace.of("notice") if "strict mode" in r["message"]]), 1)


class OtherLibraries(StartCase):
    def test_statically_linked_program(self):
        plain, traced = self.both("short_lived_static", "range")
        self.assertEqual(plain.code, OWN_CODE)
        self.assertIn("statically linked", traced.err)
        self.assertEqual(len([r for r in traced.trace.of("notice") if "statically linked" in r["message"]]), 1)

    def test_address_sanitizer_and_fork(self):
        plain, traced = self.both("short_lived_fsanitize_address", "fork")
        self.assertEqual((plain.code, plain.out), (OWN_CODE, "child 0\n"), plain.err)
        self.assertNotIn("Sanitizer", traced.err)
        self.assertEqual(threads_of(traced.trace, "child"), 1)


if __name__ == "__main__":
    harness.main()
