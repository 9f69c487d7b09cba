"""What a page carries, read from the file alone: the events of the trace, the report, and nothing that runs but its own script."""

import base64
import collections
import hashlib
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import page_reader

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("GPROF_TEST_BUILD", ROOT / "build" / "release"))
CLI = str(BUILD / "bin" / "gprof-cli")
DATA = ROOT / "tests" / "data"
JUDGEMENT = ROOT / "tests" / "judgement" / "data"
TRACES = sorted(DATA.glob("*.trace"))
FOLDER = tempfile.TemporaryDirectory(prefix="gprof-page-")
WORK = pathlib.Path(FOLDER.name)


def run(*words, code=0):
    done = subprocess.run([CLI, *map(str, words)], capture_output=True, timeout=300, env={**os.environ, "TMPDIR": str(WORK)})
    if code is not None and done.returncode != code:
        raise AssertionError(f"{words} ended with {done.returncode}: {done.stderr.decode()}")
    return done


def page_of(trace, *options):
    path = WORK / "page.html"
    run("report", trace, "--format", "html", "-o", path, *options)
    return page_reader.read(path)


def records(trace):
    folder = WORK / "records"
    run("export", trace, "--format", "jsonl", "-f", "-o", folder)
    return {path.stem: [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] for path in folder.glob("*.jsonl")}


def times(events, start="start_ns"):
    return collections.Counter((event[start], event.get("duration_ns", 0)) for event in events)


class Events(unittest.TestCase):
    """Every event of every recorded trace is in its page, as `export --format jsonl` has it."""

    def check(self, page, facts):
        timeline = page.timelines[0]
        of = collections.defaultdict(list)
        for event in timeline.events:
            of[event["kind"]].append(event)
        copies = [event for kind, events in of.items() if kind.startswith(("copy_", "pageable_")) for event in events]
        calls = [event for kind, events in of.items() if kind.startswith("api_") for event in events]
        ranges = of["nvtx_range"] + of["nvtx_start_end"]
        for events, table in ((of["kernel"], "kernel"), (copies, "memcpy"), (of["memset"], "memset"), (of["graph"], "graph_launch"),
                              (calls, "api"), (ranges, "nvtx_range"), (of["overhead"], "overhead")):
            with self.subTest(table=table):
                self.assertEqual(times(events), times(facts[table]))
        self.assertEqual(times(of["nvtx_mark"]), times(facts["nvtx_mark"], "time_ns"))

        def named(events, *fields):
            return collections.Counter(tuple(event[field] for field in fields) for event in events)
        self.assertEqual(named(of["kernel"], "start_ns", "name", "correlation"), named(facts["kernel"], "start_ns", "name", "correlation"))
        self.assertEqual(named(calls, "start_ns", "name", "correlation", "result"),
                         collections.Counter((c["start_ns"], c["function"], c["correlation"], c["result"] & 0xFFFFFFFF) for c in facts["api"]))
        self.assertEqual(named(ranges, "start_ns", "name"), named(facts["nvtx_range"], "start_ns", "name"))
        self.assertEqual(named(copies, "start_ns", "bytes", "source", "destination"),
                         collections.Counter((c["start_ns"], c["size_bytes"], c["source_memory"], c["destination_memory"])
                                             for c in facts["memcpy"]))
        self.assertEqual(len(of["pageable_h2d"]) + len(of["pageable_d2h"]), sum(c["is_pageable"] for c in facts["memcpy"]))
        self.check_links(timeline, of["kernel"] + copies + of["memset"], facts)
        self.check_shapes(timeline, of["kernel"], facts)

    def check_links(self, timeline, operations, facts):
        """The call of an operation, and the range of a call."""
        expected = {(o["start_ns"], o["correlation"]): (o["function"], o["call_start_ns"])
                    for table in ("kernel", "memcpy", "memset") for o in facts[table]}
        for event in operations:
            function, start_ns = expected[event["start_ns"], event["correlation"]]
            if not function:
                self.assertEqual(event["call"], -1)
                continue
            call = timeline.events[event["call"]]
            self.assertEqual((call["name"], call["start_ns"]), (function, start_ns))
            self.assertTrue(call["kind"].startswith("api_"))
        for event in timeline.events:
            if event["kind"] == "gap" and event["next"] >= 0:
                self.assertGreaterEqual(timeline.events[event["next"]]["start_ns"], event["start_ns"] + event["duration_ns"])
            if event["range"] >= 0:
                around = timeline.events[event["range"]]
                self.assertEqual(around["kind"], "nvtx_range")
                self.assertLessEqual(around["start_ns"], event["start_ns"])

    def check_shapes(self, timeline, kernels, facts):
        expected = {(k["start_ns"], k["correlation"], k["name"]): k for k in facts["kernel"]}
        for event in kernels:
            kernel = expected[event["start_ns"], event["correlation"], event["name"]]
            if event["shape"] < 0:
                continue
            shape = timeline.description["shapes"][event["shape"]]
            self.assertEqual(shape["grid"], [kernel[f"grid_{axis}"] for axis in "xyz"])
            self.assertEqual(shape["block"], [kernel[f"block_{axis}"] for axis in "xyz"])
            self.assertEqual(shape["registers"], kernel["registers_per_thread"])

    def test_all_traces(self):
        self.assertGreater(len(TRACES), 10)
        for trace in TRACES:
            with self.subTest(trace=trace.name):
                page = page_of(trace)
                self.check(page, records(trace))
                timeline = page.timelines[0]
                self.assertEqual(timeline.description["event_count"], len(timeline.events))
                self.assertEqual(timeline.description["trace_event_count"], len(timeline.events))

    def test_idle_time_is_that_of_the_report(self):
        for name in ("normalise_v1", "normalise_v3_bug", "starved_loader"):
            page = page_of(DATA / f"{name}.trace")
            drawn = collections.Counter()
            for event in page.timelines[0].of_tracks("gaps"):
                drawn[event["name"]] += event["duration_ns"]
            table = next(t for t in page.data["report"]["tables"] if t["id"] == "idle")
            self.assertEqual(dict(drawn), {row["cause"]: row["idle_ns"] for row in table["rows"]})

    def test_counters(self):
        timeline = page_of(DATA / "normalise_v3_streams.trace").timelines[0]
        counters = {t["label"]: timeline.counter(t) for t in timeline.description["tracks"] if t["kind"] == "counter"}
        changes = collections.Counter()
        for event in timeline.of_tracks("stream"):
            changes[event["start_ns"]] += 1
            changes[event["start_ns"] + event["duration_ns"]] -= 1
        level, points = 0, []
        for time_ns in sorted(changes):
            if changes[time_ns]:
                level += changes[time_ns]
                points.append((time_ns, level))
        self.assertEqual(counters["operations running"], points)

    def test_few_events(self):
        whole = page_of(DATA / "normalise_v1.trace").timelines[0]
        part = page_of(DATA / "normalise_v1.trace", "--html-events", 200).timelines[0]
        self.assertGreater(part.description["merged_below_ns"], 0)
        self.assertLessEqual(len(part.events), 200)
        self.assertEqual(part.description["trace_event_count"], len(whole.events))

        def busy(timeline, field):
            sums = collections.Counter()
            for event in timeline.events:
                sums[timeline.description["tracks"][event["track"]]["label"]] += event[field]
            return sums
        self.assertEqual(busy(part, "busy"), busy(whole, "duration_ns"))
        self.assertEqual(sum(event["count"] for event in part.events), len(whole.events))

    def test_selection(self):
        page = page_of(DATA / "normalise_v2.trace", "--nvtx", "round")
        self.assertIn("round", page.data["report"]["selected"])
        whole = page_of(DATA / "normalise_v2.trace")
        self.assertLess(len(page.timelines[0].events), len(whole.timelines[0].events))


class Documents(unittest.TestCase):
    def test_report_is_that_in_json(self):
        for trace in TRACES[:6]:
            page = page_of(trace, "--rows", 7)
            report = json.loads(run("report", trace, "--format", "json", "--rows", 7).stdout)
            self.assertEqual(page.data["report"], report)
            self.assertEqual(page.data["kind"], "report")
            for place in page.data["places"]:
                self.assertLess(place["finding"], len(report["findings"]))

    def test_places_match_events(self):
        page = page_of(DATA / "normalise_v1.trace")
        places = {page.data["report"]["findings"][p["finding"]]["id"]: p["query"] for p in page.data["places"]}
        self.assertEqual(places["idle.copy"], "cause:copy")
        self.assertTrue(any(event["name"] == "copy" for event in page.timelines[0].of_tracks("gaps")))
        name = re.search(r'name:"(.*)"', places["occupancy.small_grid"]).group(1)
        self.assertTrue(any(event["name"] == name for event in page.timelines[0].events))

    def test_places_are_of_the_findings_in_their_order(self):
        page = page_of(DATA / "normalise_v1.trace")
        for place in page.data["places"]:
            finding = page.data["report"]["findings"][place["finding"]]
            if finding["id"] == "memcpy.pageable":
                self.assertIn("pageable", place["query"])
            if finding["id"].startswith("idle."):
                self.assertEqual(place["query"], "cause:" + finding["id"][5:])

    def test_flame_graphs_have_the_sums_of_the_report(self):
        for name in ("starved_loader", "known_facts", "python_v3_bug"):
            page = page_of(DATA / f"{name}.trace")
            totals = {}
            for flame in page.data["flames"]:
                nodes, inside = flame["nodes"], [0] * len(flame["nodes"])
                for parent, _, value in nodes:
                    if parent >= 0:
                        inside[parent] += value
                self.assertEqual([i for i, (node, sum_) in enumerate(zip(nodes, inside)) if sum_ > node[2]], [])
                totals[flame["measure"], flame["by"]] = sum(value for parent, _, value in nodes if parent < 0)
            metrics = collections.Counter()
            for metric in page.data["report"]["metrics"]:
                metrics[metric["id"]] += metric["value"] if metric["scope"].startswith("gpu") else 0
            ways = [by for measure, by in totals if measure == "GPU idle time"]
            self.assertIn("cause", ways)
            self.assertGreater(len(ways), 1)
            for by in ways:  # without what is too narrow to be seen
                self.assertLessEqual(totals["GPU idle time", by], metrics["gpu.idle_ns"])
                self.assertGreater(totals["GPU idle time", by], 0.99 * metrics["gpu.idle_ns"])
            claims = sum(ns for finding in page.data["report"]["findings"] for ns in finding["claims"].values())
            if claims > 0:
                self.assertAlmostEqual(totals["Potential saving", "finding"] / claims, 1, delta=0.01)

    def test_steady_time(self):
        starts = set()
        for options in ((), ("--step", "step/load"), ("--step", "step/compute")):
            page = page_of(DATA / "starved_loader.trace", *options)
            iterations = next(table for table in page.data["report"]["tables"] if table["id"] == "step_iterations")["rows"]
            first = next(row for row in iterations if row["kind"] != "warm-up")
            steady = page.data["timelines"][0]["steady"]
            self.assertEqual(steady["start_ns"], first["start_ns"])
            self.assertEqual(steady["end_ns"], iterations[-1]["start_ns"] + iterations[-1]["duration_ns"])
            starts.add(steady["end_ns"])
        self.assertGreater(len(starts), 1)

    def test_idle_time_names_the_function_of_the_system(self):
        case = (ROOT / "tests" / "cases" / "report" / "os_waits.test").read_text(encoding="utf-8")
        trace = WORK / "os_waits.trace"
        trace.write_bytes(subprocess.run([os.environ["GPROF_TEST_ASSEMBLE"]], input=case.split("--- trace run.trace\n")[1].split("\n--- ")[0].encode() + b"\n",
                                         capture_output=True, check=True).stdout)
        page = page_of(trace)
        gaps = page.timelines[0].of_tracks("gaps")
        table = next(table for table in page.data["report"]["tables"] if table["id"] == "idle_by_os")["rows"]
        named = {event["function"] for event in gaps if event["name"] == "os"}
        self.assertTrue(named - {None})
        self.assertLessEqual(named - {None}, {row["function"] for row in table})
        self.assertEqual({event["function"] for event in gaps if event["name"] != "os"}, {None})

    def test_the_page_is_little_more_than_its_events(self):
        """Beside the events there are the script, which is the same on each page, and the report, deflated."""
        for trace in (DATA / "known_facts.trace", JUDGEMENT / "torch_decode_eager.trace", JUDGEMENT / "torch_good_train.whole.trace"):
            page = page_of(trace)
            parts = {attrs.get("id"): len(body) for attrs, body in page.elements.scripts}
            script = sum(map(len, page.programs)) + parts["style"] + parts["program"]
            self.assertLess(script, 90_000)
            self.assertLess(len(page.text) - script, parts["events-0"] + 0.12 * len(json.dumps(page.data["report"])) + 40_000, trace.name)

    def test_large_page_is_at_most_1_3_of_its_deflated_events(self):
        trace, path = WORK / "large.trace", WORK / "large.html"
        subprocess.run([BUILD / "tests" / "bin" / "synthetic_trace", "-n", "250000", "--out", trace], check=True, timeout=300)
        run("report", trace, "--format", "html", "-o", path)
        text = path.read_text(encoding="utf-8")
        events = re.search(r'id="events-0">([^<]*)<', text).group(1)
        septets = len(events) + len(re.findall("[\u0100-\u027f]", events))
        self.assertGreater(septets * 7 // 8, 1_000_000)
        self.assertLess(path.stat().st_size, 1.3 * (septets * 7 // 8))

    def test_several_traces(self):
        path = WORK / "nccl.html"
        run("report", DATA / "nccl_beside.trace", DATA / "nccl_after.trace", "--format", "html", "-o", path)
        page = page_reader.read(path)
        self.assertEqual(len(page.data["report"]["traces"]), 2)
        self.assertEqual(len(page.timelines), 1)

    def test_foreign_capture(self):
        path = WORK / "run.json"
        run("export", DATA / "normalise_v1.trace", "--format", "chrome", "-f", "-o", path)
        page = page_of(path)
        self.assertEqual(sum(event["kind"] == "kernel" for event in page.timelines[0].events), 240)

    def test_stdout(self):
        done = run("report", DATA / "normalise_v2.trace", "--format", "html")
        self.assertEqual(done.stderr, b"")
        self.assertEqual(page_reader.Page(done.stdout.decode()).data["kind"], "report")

    def test_diff(self):
        path = WORK / "diff.html"
        before, after = DATA / "normalise_v1.trace", DATA / "normalise_v2.trace"
        run("diff", before, after, "--format", "html", "-o", path)
        page = page_reader.read(path)
        self.assertEqual(page.data["kind"], "diff")
        self.assertIsNone(page.data["report"])
        self.assertEqual(page.data["diff"], json.loads(run("diff", before, after, "--format", "json").stdout))
        self.assertEqual([t.description["label"] for t in page.timelines], [f"base: {before}", f"new: {after}"])
        for timeline, trace in zip(page.timelines, (before, after)):
            self.assertEqual(len(timeline.events), len(page_of(trace).timelines[0].events))

    def test_diff_with_a_report_has_one_timeline(self):
        report = WORK / "report.json"
        run("report", DATA / "normalise_v1.trace", "--format", "json", "-o", report)
        path = WORK / "diff.html"
        run("diff", report, DATA / "normalise_v2.trace", "--format", "html", "-o", path)
        self.assertEqual([t.description["label"].split(":")[0] for t in page_reader.read(path).timelines], ["new"])

    def test_exit_codes(self):
        page = WORK / "none.html"
        self.assertIn(b"--html-events requires", run("report", TRACES[0], "--html-events", 9, code=2).stderr)
        run("report", WORK / "no.trace", "--format", "html", "-o", page, code=3)
        self.assertFalse(page.exists())
        run("report", TRACES[0], "--format", "html", "-o", WORK / "no" / "folder.html", code=3)


class Safety(unittest.TestCase):
    def test_policy_is_of_exactly_what_is_there(self):
        page = page_of(TRACES[0])

        def source(text):
            return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"
        self.assertEqual(len(page.programs), 1)
        directives = dict(part.strip().split(" ", 1) for part in page.policy.split(";"))
        self.assertEqual(directives["default-src"], "'none'")
        self.assertEqual(directives["script-src"], f"{source(page.programs[0])} {source(page.program)}")
        self.assertEqual(directives["style-src"], source(page.style))
        self.assertNotIn("unsafe", page.policy)

    def test_nothing_is_fetched(self):
        text = page_of(TRACES[0]).text
        markup = re.sub(r"<(script|style)\b[^>]*>.*?</\1>", "", text, flags=re.S)
        self.assertEqual(re.findall(r"""(?:src|href)\s*=\s*["'](?!data:)[^"']*""", markup), [])
        self.assertEqual(re.findall(r"\son\w+\s*=", markup), [])
        self.assertEqual(re.findall(r"\sstyle\s*=", markup), [])

    def test_text_of_the_page_is_plain_utf8(self):
        path = WORK / "page.html"
        run("report", TRACES[0], "--format", "html", "-o", path)
        path.read_bytes().decode("utf-8")


if __name__ == "__main__":
    unittest.main()
