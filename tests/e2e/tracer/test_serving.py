"""Requests of a serving engine that knows the truth: what is recorded and what `requests` makes of it."""
import json
import pathlib
import subprocess
import sys

import harness

SOURCE = pathlib.Path(__file__).resolve().parents[3]
ENGINE = SOURCE / "tests" / "gpu" / "programs" / "serving_engine.py"
HOOKS = harness.TRACER.parent / "hooks"  # has gprof_serving.py
# What `requests` may say of tokens that were delayed so. On a CPU all steps are host code.
REASONS = {
    "long-prefill": ("host code in prefill of others",),
    "slow-tokeniser": ("host code",),
    "preemption": ("preemption", "its prompt, computed again"),
    "stalled-scheduler": ("host code",),
    "slow-detokeniser": ("output",),
}
CLOCK_READS_NS = 500_000  # between what the engine notes and what it tells, on a busy machine more


class Serving(harness.Case):
    def serve(self, *options):
        log = self.folder / "truth.json"
        run = self.profile(sys.executable, ENGINE, "--cpu", "--log", log, *options, version=None,
                           env={"PYTHONPATH": str(HOOKS), "PYENV_VERSION": None})
        self.assertEqual(run.code, 0, run.err)
        self.trace_path = run.trace_path
        return run.trace, json.loads(log.read_text())

    def tokens_of(self, request):
        done = subprocess.run([harness.GPROF, "requests", self.trace_path, "--request", request, "--rows", "0",
                               "--format", "json"], capture_output=True, text=True, check=True)
        table, = (t for t in json.loads(done.stdout)["tables"] if t["id"] == "request_tokens")
        return {int(row["token"]) - 1: row for row in table["rows"]}

    def test_everything_that_was_told_is_in_the_trace(self):
        trace, truth = self.serve("--requests", "100")
        names = {e["request"]: e["name"] for e in trace.of("request_event") if e["name"]}
        told = {name: {"arrived": [], "tokens": []} for name in truth["requests"]}
        for event in trace.of("request_event"):
            if event["event"] == 1:
                told[names[event["request"]]]["arrived"].append(event["tokens"])
            elif event["event"] == 2:
                told[names[event["request"]]]["tokens"] += [event["time_ns"]] * event["tokens"]
        for name, request in truth["requests"].items():
            self.assertEqual(told[name]["arrived"], [request["prompt"]])
            self.assertEqual(len(told[name]["tokens"]), len(request["tokens_ns"]), name)
        steps = {s["step"]: s for s in trace.of("engine_step")}
        members = {}
        for m in trace.of("step_request"):
            members.setdefault(m["step"], []).append(
                [names[m["request"]], m["tokens"], m["cached"], m["tokens_out"], bool(m["is_prefill"])])
        self.assertEqual(len(steps), len(truth["steps"]))
        for step, known in zip(sorted(steps), truth["steps"]):
            wanted = [[*m[:4], bool(m[4])] for m in known["members"]]
            self.assertEqual(members[step], wanted)
            self.assertEqual(steps[step]["requests"], len(wanted))
            for field in ("waiting", "cache_used", "cache_blocks"):
                self.assertEqual(steps[step][field], known[field])

    def test_latencies_are_sums_and_those_of_the_engine(self):
        _, truth = self.serve("--requests", "60")
        late = looked_at = 0
        for name in list(truth["requests"])[::6]:
            request = truth["requests"][name]
            times = [request["arrived_ns"], *request["tokens_ns"]]
            rows = self.tokens_of(name)
            self.assertEqual(sorted(rows), list(range(len(request["tokens_ns"]))))
            for token, row in rows.items():
                parts = sum(v for k, v in row.items() if k.endswith("_ns") and k != "latency_ns")
                self.assertEqual(parts, row["latency_ns"])
                looked_at += 1
                late += abs(row["latency_ns"] - (times[token + 1] - times[token])) > CLOCK_READS_NS
        self.assertLess(late, looked_at / 4)  # where the engine was interrupted between the call and its own clock

    def count_named(self, plant):
        """(how many of its occurrences have a token whose reason is the plant, occurrences)"""
        _, truth = self.serve("--requests", "120", "--plant", plant)
        rows, named = {}, 0
        occurrences = [one["delayed"] for one in truth["plants"] if one["plant"] == plant]
        for delayed in occurrences:
            reasons = set()
            for name, token in delayed:
                if name not in rows:
                    rows[name] = self.tokens_of(name)
                if token in rows[name] and token > 0:
                    reasons.add(rows[name][token].get("late_because") or "")
            named += any(reason.startswith(REASONS[plant]) for reason in reasons)
        return named, len(occurrences)

    def test_late_tokens_have_the_reason_that_was_planted(self):
        """On a busy machine others may hold the engine up for longer than what is planted, or until requests come one by one
        and there is nothing to delay: then it runs again."""
        for plant in REASONS:
            with self.subTest(plant):
                for _ in range(5):
                    named, occurrences = self.count_named(plant)
                    if named == occurrences == 3:
                        break
                self.assertEqual((named, occurrences), (3, 3), plant)

    def test_the_line_of_host_code_is_named(self):
        self.serve("--requests", "120", "--plant", "stalled-scheduler")
        done = subprocess.run([harness.GPROF, "requests", self.trace_path, "--format", "json"], capture_output=True,
                              text=True, check=True)
        findings = {f["id"]: f for f in json.loads(done.stdout)["findings"]}
        self.assertIn("requests.host", findings)
        self.assertIn("serving_engine.py", findings["requests.host"]["message"])


if __name__ == "__main__":
    harness.unittest.main()
