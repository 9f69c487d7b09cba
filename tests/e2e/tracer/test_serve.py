"""Metrics, profiles and snapshots of recorded programs over HTTP, against what the programs know of themselves."""
import gzip
import json
import re
import signal
import subprocess
import urllib.error
import urllib.request

import harness
import recorder_case

SAMPLE = re.compile(r'^(\w+)\{(.*)\} (\S+)$')


def samples(text):
    """{(name, label, …): value}; each line is a comment or a sample."""
    found = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        name, labels, value = SAMPLE.match(line).groups()
        key = (name, *sorted(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels)))
        assert key not in found, line
        found[key] = float(value)
    return found


class Serve(recorder_case.RecorderCase):
    def serve(self, *options):
        self.server = subprocess.Popen([str(harness.GPROF), "serve", "--listen", "0", "--interval", "100ms", *map(str, options)], cwd=self.folder,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=self.environment(None, None), text=True)
        self.addCleanup(self.server.stderr.close)
        self.addCleanup(self.server.wait)
        self.addCleanup(self.server.kill)
        self.url = re.search(r"http://127.0.0.1:\d+", self.server.stderr.readline()).group()

    def ask(self, path, method="GET", **headers):
        request = urllib.request.Request(self.url + path, method=method, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=harness.DEADLINE_S) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read()

    def metrics(self, name):
        """By their labels, the recorder left out."""
        status, body = self.ask("/metrics")
        self.assertEqual(status, 200)
        return {tuple(value for label, value in key[1:] if label != "recorder"): value
                for key, value in samples(body.decode()).items() if key[0] == "gprof_program_" + name}

    def wait_for_total(self, name, wanted):
        harness.wait_for(lambda: sum(self.metrics(name).values()) >= wanted, f"{wanted} of {name}")
        self.assertEqual(sum(self.metrics(name).values()), wanted)

    def ready(self, *options):
        """A program that waits for `first`, with the server looking at it."""
        first, second, last = self.gate(), self.gate(), self.gate()
        steps = ["push", "step", "launch", "2", "pop", "step"]
        self.record("launch", "1", "say", "ready", "wait", first, *steps * 8, "say", "half", "wait", second, *steps * 5, "say", "done", "wait", last)
        self.read_until("ready")
        self.serve(*options)
        harness.wait_for(lambda: self.metrics("info"), "the program")
        return first, second, last

    def test_counters_count_each_event_once(self):
        first, second, last = self.ready()
        first.touch()
        self.read_until("half")
        self.wait_for_total("kernels_total", 16)
        second.touch()
        self.read_until("done")
        self.wait_for_total("kernels_total", 26)
        harness.wait_for(lambda: self.metrics("step_seconds_count") == {("step",): 13}, "13 steps")
        buckets = self.metrics("step_seconds_bucket")
        self.assertEqual(buckets["+Inf", "step"], 13)
        in_order = [value for _, value in sorted((float(key[0].replace("+Inf", "inf")), value) for key, value in buckets.items())]
        self.assertEqual(in_order, sorted(in_order))
        busy, idle = self.metrics("gpu_busy_seconds_total"), self.metrics("gpu_idle_seconds_total")
        observed = self.metrics("observed_seconds_total")[()]
        self.assertLess(0, sum(busy.values()))
        self.assertLessEqual(sum(busy.values()) + sum(idle.values()), observed * 1.001)
        (info,) = self.metrics("info")
        self.assertTrue(info[1].endswith("scripted"), info)
        last.touch()
        self.finish()
        harness.wait_for(lambda: not self.metrics("info"), "the end of the program")

    def test_openmetrics(self):
        _, _, last = gates = self.ready()
        _, body = self.ask("/metrics", Accept="application/openmetrics-text; version=1.0.0")
        text = body.decode()
        self.assertTrue(text.endswith("# EOF\n"))
        families = re.findall(r"^# TYPE (\w+) (\w+)$", text, re.M)
        self.assertIn(("gprof_program_kernels", "counter"), families)
        self.assertEqual(len(families), len(set(families)))
        _, body = self.ask("/metrics")
        self.assertIn("# TYPE gprof_program_kernels_total counter\n", body.decode())
        for gate in gates:
            gate.touch()
        self.finish()

    def test_a_profile_has_the_time_of_the_gpu(self):
        gates = self.ready()
        status, body = self.ask("/pprof?seconds=60")
        self.assertEqual(status, 200)
        profile = gzip.decompress(body)
        status, other = self.ask("/otlp?seconds=60")
        self.assertEqual(status, 200)
        for word in (b"samples", b"cpu", b"gpu", b"gpu_idle", b"nanoseconds"):
            self.assertIn(word, profile)
            self.assertIn(word, other)
        self.assertEqual(self.ask("/pprof?seconds=soon")[0], 400)
        self.assertEqual(self.ask("/pprof?recorder=nobody")[0], 400)
        for gate in gates:
            gate.touch()
        self.finish()

    def test_a_snapshot_needs_the_token(self):
        token = self.folder / "token"
        token.write_text("sesame\n")
        gates = self.ready()
        self.assertEqual(self.ask("/snapshot", "POST")[0], 403)
        self.assertEqual(self.ask("/snapshot")[0], 405)
        self.server.send_signal(signal.SIGTERM)
        self.assertEqual(self.server.wait(harness.DEADLINE_S), 0)
        self.serve("--token-file", token)
        for path, method in (("/snapshot", "POST"), ("/metrics", "GET"), ("/pprof", "GET"), ("/otlp", "GET")):
            self.assertEqual(self.ask(path, method)[0], 401)
            self.assertEqual(self.ask(path, method, Authorization="Bearer guessed")[0], 401)
        status, body = self.ask("/snapshot", "POST", Authorization="Bearer sesame")
        self.assertEqual(status, 200, body)
        facts = json.loads(body)
        self.assertEqual((facts["reason"], facts["output"]), ("an HTTP request", "snapshot.trace"))
        self.assertEqual(self.reason(self.load("snapshot.trace")), "an HTTP request")
        for gate in gates:
            gate.touch()
        self.finish()

    def test_who_is_not_served(self):
        self.serve()
        self.assertEqual(self.ask("/metrics", Host="example.com")[0], 403)
        self.assertEqual(self.ask("/etc/passwd")[0], 404)
        self.assertEqual(self.ask("/metrics", "POST")[0], 405)
        self.assertEqual(self.ask("/pprof")[0], 400)  # of nobody
        self.assertEqual(self.ask("/")[0], 200)
        err = self.cli("serve", "--listen", self.url.rsplit(":", 1)[1], code=2)
        self.assertIn("cannot serve on 127.0.0.1:", err)
        self.assertIn("is not an address", self.cli("serve", "--listen", "here", code=2))
        self.assertIn("too short", self.cli("serve", "--interval", "1ms", code=2))


if __name__ == "__main__":
    harness.main()
