"""A program that is recorded, or its recorder, or both are killed at any moment: the next command finds the last seconds.

GPROF_TEST_KILLS is how often, GPROF_TEST_KEEP_S how much is kept, GPROF_TEST_KILLS_AT_A_TIME how many side by side: 200, 10
and 6 take about ten minutes on a quiet machine. Then each kill is told as it ends, and one that fails does not stop the others.
"""
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import time

import harness

KILLS = int(os.environ.get("GPROF_TEST_KILLS", "6"))
KEEP_S = float(os.environ.get("GPROF_TEST_KEEP_S", "1"))
LEAST = 0.95  # of what is kept, that is found
AT_A_TIME = int(os.environ.get("GPROF_TEST_KILLS_AT_A_TIME", "6"))
NS = 1e9
MARK = re.compile(rb"^nvtx time_ns=(\d+) .*event=1 ", re.M)


class Kills(harness.Case):
    cupti = "13.0"  # of the doubles

    def tried(self, number):
        """What became of it, or why it failed."""
        try:
            end = self.one(number)
        except Exception as error:  # the other kills are still wanted
            end = (None, None, None, f"{type(error).__name__}: {error}")
        if "GPROF_TEST_KILLS" in os.environ:
            print(number, *end, flush=True)
        return end

    def one(self, number):
        chance = random.Random(number)
        victims = ("program", "recorder and program", "program and recorder", "supervised recorder")[number % 4]
        folder, base = self.folder / str(number), pathlib.Path(self.run_base) / str(number)
        folder.mkdir()
        base.mkdir()
        env = {**self.environment(self.cupti, None), "GPROF_RUN_BASE": str(base)}
        script = self.command("scripted", ["say", "ready", "work", folder / "gate", "exit", 3])
        options = ["--supervise"] if victims.startswith("supervised") else []
        with open(folder / "out", "wb") as out, open(folder / "err", "wb") as err:
            first = subprocess.Popen([harness.GPROF, "record", "--keep", f"{KEEP_S}s", "-t", "cuda,nvtx", "--only-trace", *options, "--", *script],
                                     stdout=out, stderr=err, cwd=folder, env=env)

        def facts():
            return [json.loads(line) for line in (folder / "out").read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]
        program = harness.wait_for(lambda: next((f["pid"] for f in facts() if "pid" in f), None), "the program")
        time.sleep(KEEP_S * chance.uniform(1.2, 1.6))
        parent = int(pathlib.Path(f"/proc/{program}/stat").read_text().rsplit(") ", 1)[1].split()[1])
        for victim in victims.replace("supervised ", "").split(" and "):
            os.kill(program if victim == "program" else parent, signal.SIGKILL)
        if options:
            time.sleep(KEEP_S * chance.uniform(0, 0.5))
            (folder / "gate").touch()  # its exit code makes the supervisor take a snapshot
        first.wait(harness.DEADLINE_S)
        harness.wait_for(lambda: not pathlib.Path(f"/proc/{program}").exists(), "the end of the program")
        subprocess.run([harness.GPROF, "profile", "-t", "nvtx", "--only-trace", "-o", folder / "other.trace", "true"], check=True, capture_output=True, env=env,
                       timeout=harness.DEADLINE_S, cwd=folder)
        return victims, self.share_kept(folder, facts()), first.returncode, [p for p in base.glob("*/*") if p.is_dir()]

    def share_kept(self, folder, facts):
        """Of the time that was to be kept. All marks of that are there, each once."""
        dump = subprocess.run([harness.GPROF, "dump", "--kind", "nvtx", folder / "snapshot.trace"], capture_output=True, check=True, timeout=harness.DEADLINE_S).stdout
        found = sorted(int(time_ns) for time_ns in MARK.findall(dump))
        self.assertTrue(found, (folder / "err").read_text())
        made = [(f["before_ns"], f["after_ns"]) for f in facts if f["fact"] == "mark"]
        within = [before for before, after in made if found[0] <= before and after <= found[-1]]
        self.assertIn(len(found) - len(within), range(3))  # those at both ends may be cut
        return (found[-1] - found[0]) / NS / KEEP_S

    def test_kills_at_random(self):
        with concurrent.futures.ThreadPoolExecutor(min(AT_A_TIME, KILLS)) as pool:
            ends = list(pool.map(self.tried, range(KILLS)))
        shares = collections.defaultdict(list)
        failures = [left for victims, _, _, left in ends if victims is None]
        for victims, share, code, left in (end for end in ends if end[0] is not None):
            shares[victims].append(share)
            self.assertEqual(left, [], victims)
            self.assertIn(code, (3,) if victims.startswith("supervised") else (-signal.SIGKILL, 128 + signal.SIGKILL), victims)
        for victims, found in shares.items():
            print(f"{victims}: {len(found)} kills, at least {100 * min(found):.1f} % of {KEEP_S:g} s found")
        self.assertEqual(failures, [])
        # How much that is depends on how busy the machine is, so that a suite beside others only sees that nothing is missing in between.
        if "GPROF_TEST_KILLS" in os.environ:
            self.assertGreaterEqual(min(min(found) for found in shares.values()), LEAST)


if __name__ == "__main__":
    harness.main()
