"""Hooks of serving engines: what they tell of stubs of three published versions each, and that engines are untouched."""
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ENGINES = HERE / "engines"
SOURCE = HERE.parents[2] / "src"
HOOKS = SOURCE / "launch" / "hooks"
SERVING = SOURCE / "python" / "gprof_cli" / "serving.py"
VERSIONS = {"vllm": ("0.9.2", "0.20.2", "0.33.0"), "sglang": ("0.4.10", "0.5.13", "0.5.23"),
            "transformers": ("5.0.0", "5.10.4", "5.24.0")}
PLAIN = {"vllm": ("local",), "sglang": (), "transformers": ()}

# A row is REQUEST:TOKENS+CACHED, p for its prompt or d for decoding, and how many tokens it got.
VLLM = """
arrived long 6 long ago
arrived short 3 long ago
begin 1
end 1 long:4+0p0 waiting=1 used=4/11
arrived unwanted 3 long ago
begin 2
end 2 long:2+4p1 short:2+0p0 waiting=1 used=8/11
tokens long:1
aborted unwanted
forget unwanted
begin 3
end 3 long:1+6d1 short:1+2p1 waiting=0 used=10/11
tokens long:1 short:1
preempted short
begin 4
end 4 long:1+7d1 waiting=1 used=8/11
tokens long:1
begin 5
end 5 long:1+8d1 waiting=1 used=9/11
tokens long:1
finished long
forget long
begin 6
end 6 short:4+0p1 waiting=0 used=4/11
tokens short:1
begin 7
end 7 short:1+4d1 waiting=0 used=5/11
tokens short:1
finished short
forget short
"""
SGLANG = """
arrived long 6
arrived short 2
begin 1
end 1 long:4+0p0 waiting=1 used=4/12
begin 2
end 2 long:2+4p1 waiting=1 used=6/12
tokens long:1
begin 3
end 3 short:2+0p1 waiting=0 used=8/12
tokens short:1
arrived queued 20
arrived patient 1
aborted queued
begin 4
end 4 patient:1+0p1 waiting=0 used=9/12
tokens patient:1
finished patient
begin 5
end 5 long:1+6d1 short:1+2d1 waiting=0 used=10/12
tokens long:1 short:1
begin 6
end 6 long:1+7d1 short:1+3d1 waiting=0 used=12/12
tokens long:1 short:1
preempted short
begin 7
end 7 long:1+8d1 waiting=1 used=9/12
tokens long:1
finished long
arrived unwanted 1
begin 8
end 8 short:4+0p0 waiting=1 used=4/12
begin 9
end 9 short:1+4p1 waiting=1 used=5/12
tokens short:1
finished short
begin 10
end 10 unwanted:1+0p1 waiting=0 used=1/12
tokens unwanted:1
begin 11
end 11 unwanted:1+1d1 waiting=0 used=2/12
tokens unwanted:1
begin 12
end 12 unwanted:1+2d1 waiting=0 used=3/12
tokens unwanted:1
aborted unwanted
"""
SGLANG_MIXED = """
arrived long 6
arrived short 2
begin 1
end 1 long:4+0p0 waiting=1 used=4/12
begin 2
end 2 long:2+4p1 waiting=1 used=6/12
tokens long:1
begin 3
end 3 short:2+0p1 long:1+6d1 waiting=0 used=9/12
tokens short:1 long:1
arrived queued 20
arrived patient 1
aborted queued
begin 4
end 4 long:1+7d1 short:1+2d1 waiting=1 used=11/12
tokens long:1 short:1
preempted short
begin 5
end 5 long:1+8d1 waiting=2 used=9/12
tokens long:1
finished long
begin 6
end 6 short:4+0p1 waiting=1 used=4/12
tokens short:1
begin 7
end 7 patient:1+0p1 short:1+4d1 waiting=0 used=6/12
tokens patient:1 short:1
finished patient
finished short
arrived unwanted 1
begin 8
end 8 unwanted:1+0p1 waiting=0 used=1/12
tokens unwanted:1
begin 9
end 9 unwanted:1+1d1 waiting=0 used=2/12
tokens unwanted:1
begin 10
end 10 unwanted:1+2d1 waiting=0 used=3/12
tokens unwanted:1
begin 11
end 11 unwanted:1+3d1 waiting=0 used=4/12
tokens unwanted:1
begin 12
end 12 unwanted:1+4d1 waiting=0 used=5/12
tokens unwanted:1
aborted unwanted
"""
SGLANG_OVERLAPPED = """
arrived long 6
arrived short 2
begin 1
end 1 long:4+0p0 waiting=1 used=4/12
begin 2
end 2 long:2+4p1 waiting=1 used=6/12
begin 3
end 3 short:2+0p1 waiting=0 used=8/12
tokens long:1
arrived queued 20
arrived patient 1
aborted queued
begin 4
end 4 patient:1+0p1 waiting=0 used=9/12
tokens short:1
begin 5
end 5 long:1+6d1 short:1+2d1 patient:1+0d1 waiting=0 used=12/12
tokens patient:1
finished patient
begin 6
end 6 long:1+6d1 short:1+2d1 waiting=0 used=12/12
tokens long:1 short:1
preempted short
begin 7
end 7 long:1+7d1 waiting=1 used=9/12
tokens long:1
arrived unwanted 1
begin 8
end 8 long:1+8d1 waiting=2 used=10/12
tokens long:1
finished long
begin 9
end 9 short:4+0p1 waiting=1 used=4/12
begin 10
end 10 unwanted:1+0p1 waiting=0 used=5/12
tokens short:1
begin 11
end 11 short:1+4d1 unwanted:1+0d1 waiting=0 used=7/12
tokens unwanted:1
begin 12
end 12 short:1+4d1 unwanted:1+1d1 waiting=0 used=9/12
tokens short:1 unwanted:1
finished short
aborted unwanted
"""
SGLANG_IN_A_PIPELINE = """
arrived long 6
arrived short 2
begin 1
end 1 long:4+0p0 waiting=1 used=4/12
begin 2
end 2 long:2+4p1 waiting=1 used=6/12
tokens long:1
begin 3
end 3 short:2+0p1 waiting=0 used=8/12
begin 4
end 4 long:1+6d1 short:1+1d1 waiting=0 used=10/12
tokens short:1
tokens long:1 short:1
begin 5
preempted short
end 5 long:1+7d1 short:1+3d1 waiting=0 used=12/12
begin 6
end 6 long:1+7d1 waiting=1 used=9/12
tokens long:1
tokens long:1
finished long
arrived queued 20
arrived patient 1
aborted queued
begin 7
end 7 short:4+0p1 waiting=1 used=4/12
begin 8
end 8 patient:1+0p1 waiting=0 used=5/12
tokens short:1
tokens patient:1
finished patient
begin 9
end 9 short:1+4d1 waiting=0 used=5/12
begin 10
end 10 short:1+4d1 waiting=0 used=6/12
tokens short:1
finished short
arrived unwanted 1
begin 11
end 11 unwanted:1+0p1 waiting=0 used=1/12
begin 12
end 12 unwanted:1+0d1 waiting=0 used=2/12
tokens unwanted:1
tokens unwanted:1
begin 13
end 13 unwanted:1+2d1 waiting=0 used=3/12
begin 14
end 14 unwanted:1+2d1 waiting=0 used=4/12
tokens unwanted:1
tokens unwanted:1
begin 15
end 15 unwanted:1+4d1 waiting=0 used=5/12
begin 16
end 16 unwanted:1+4d1 waiting=0 used=6/12
tokens unwanted:1
tokens unwanted:1
begin 17
end 17 unwanted:1+6d1 waiting=0 used=7/12
begin 18
end 18 unwanted:1+6d1 waiting=0 used=8/12
tokens unwanted:1
tokens unwanted:1
begin 19
end 19 unwanted:1+8d1 waiting=0 used=9/12
begin 20
end 20 unwanted:1+8d1 waiting=0 used=10/12
tokens unwanted:1
aborted unwanted
"""
TRANSFORMERS = """
arrived long 6 long ago
arrived short 2 long ago
begin 1
end 1 long:4+0p0 waiting=1 used=0/11
arrived unwanted 9 long ago
begin 2
end 2 long:2+4p1 short:2+0p1 waiting=1 used=4/11
tokens long:1 short:1
aborted unwanted
begin 3
end 3 long:1+6d1 short:1+2d1 waiting=0 used=8/11
tokens long:1 short:1
preempted short
begin 4
end 4 long:1+7d1 short:3+0p0 waiting=0 used=7/11
tokens long:1
preempted short
begin 5
end 5 long:1+8d1 waiting=1 used=8/11
tokens long:1
finished long
begin 6
end 6 short:4+0p1 waiting=0 used=0/11
tokens short:1
begin 7
end 7 short:1+4d1 waiting=0 used=4/11
tokens short:1
finished short
arrived failing 1 long ago
begin 8
aborted failing
"""
TRANSFORMERS_ASYNCHRONOUS = """
arrived long 6 long ago
arrived short 2 long ago
begin 1
end 1 long:4+0p0 waiting=1 used=0/11
arrived unwanted 9 long ago
begin 2
end 2 long:2+4p1 short:2+0p1 waiting=1 used=4/11
aborted unwanted
preempted short
tokens long:1
begin 3
end 3 long:1+6d1 short:2+0p1 waiting=0 used=6/11
tokens long:1 short:1
begin 4
end 4 long:1+7d1 short:1+2d1 waiting=0 used=9/11
tokens long:1 short:1
preempted short
begin 5
end 5 long:1+8d1 waiting=1 used=8/11
tokens long:1
finished long
begin 6
end 6 short:4+0p1 waiting=0 used=0/11
tokens short:1
begin 7
end 7 short:1+4d1 waiting=0 used=4/11
tokens short:1
finished short
arrived failing 1 long ago
begin 8
aborted failing
"""


class ServingHooks(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.hooks = self.folder / "hooks"
        self.hooks.mkdir()
        for name in ("sitecustomize.py", "gprof_engines.py"):
            shutil.copy(HOOKS / name, self.hooks)
        shutil.copy(ENGINES / "gprof_serving.py", self.hooks)

    def run_engine(self, engine, version, *options, lacks="", hooked=True, code=None):
        """The finished program, with what was told as .told."""
        told = self.folder / "told"
        told.unlink(missing_ok=True)
        path = [str(self.hooks)] * hooked + [str(ENGINES)]
        env = {name: value for name, value in os.environ.items() if not name.startswith(("GPROF", "PYTHON"))}
        env.update(STUB_VERSION=version, STUB_LACKS=lacks, TOLD=str(told), PYTHONPATH=os.pathsep.join(path),
                   PYTHONDONTWRITEBYTECODE="1", PYTHONHASHSEED="0", **{"GPROF_SERVING": "1"} if hooked else {})
        command = [sys.executable, str(ENGINES / f"run_{engine}.py"), *options]
        done = subprocess.run(command if code is None else [sys.executable, "-c", code], env=env, capture_output=True,
                              text=True, check=False, timeout=60)
        done.told = told.read_text().splitlines() if told.exists() else []
        return done

    def check(self, engine, version, *options, expected):
        with self.subTest(engine=engine, version=version, options=options):
            plain = self.run_engine(engine, version, *options, hooked=False)
            self.assertEqual((plain.returncode, plain.told, plain.stderr), (0, [], ""))
            done = self.run_engine(engine, version, *options)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, plain.stdout, ""))
            self.assertEqual(done.told, expected.strip().splitlines())

    def test_vllm(self):
        for version in VERSIONS["vllm"]:
            self.check("vllm", version, "local", expected=VLLM)
            self.check("vllm", version, "local", "async", expected=VLLM)

    def test_vllm_with_its_worker_in_another_process(self):
        for version in VERSIONS["vllm"]:
            for method in ("spawn", "fork"):
                self.check("vllm", version, method, expected=VLLM)

    def test_drafted_tokens_count_where_they_are_known(self):
        for version in VERSIONS["vllm"]:
            told = self.run_engine("vllm", version, "local", "drafts").told
            self.assertIn("end 3 long:2+6d2 short:1+2p2 waiting=0 used=11/11", told, version)
            self.assertIn("tokens long:2 short:2", told, version)

    def test_sglang(self):
        for version in VERSIONS["sglang"]:
            self.check("sglang", version, expected=SGLANG)
            self.check("sglang", version, "mixed", expected=SGLANG_MIXED)
            self.check("sglang", version, "overlap", expected=SGLANG_OVERLAPPED)
            self.check("sglang", version, "pipeline", expected=SGLANG_IN_A_PIPELINE)
            self.check("sglang", version, "fork", expected=SGLANG)

    def test_of_sglangs_ranks_the_first_one_tells_of_requests(self):
        ended = {"finished": "forget", "aborted": "forget"}
        lines = [line.split() for line in SGLANG.strip().splitlines()]
        expected = [" ".join([ended.get(first, first), *rest]) for first, *rest in lines
                    if first not in ("arrived", "tokens", "preempted")]
        for version in VERSIONS["sglang"]:
            self.check("sglang", version, "rank1", expected="\n".join(expected))

    def test_transformers(self):
        for version in VERSIONS["transformers"]:
            expected = TRANSFORMERS
            if version == "5.24.0":  # its blocks have no common number
                expected = "\n".join(line.split(" used=")[0] + " used=0/0" * (" used=" in line)
                                     for line in TRANSFORMERS.splitlines())
            self.check("transformers", version, expected=expected)
            self.check("transformers", version, "fork", expected=expected)
        self.check("transformers", "5.10.4", "async", expected=TRANSFORMERS_ASYNCHRONOUS)

    def check_refused(self, engine, version, *options, why, told=(), **settings):
        with self.subTest(engine=engine, version=version, options=options, **settings):
            options = (*PLAIN[engine], *options)
            plain = self.run_engine(engine, version, *options, hooked=False, **settings)
            done = self.run_engine(engine, version, *options, **settings)
            self.assertEqual((done.returncode, done.stdout), (plain.returncode, plain.stdout), done.stderr)
            lines = [line for line in done.stderr.splitlines() if line.startswith("gprof-cli: ")]
            self.assertEqual(len(lines), 1, done.stderr)
            self.assertRegex(lines[0], rf"^gprof-cli: requests of \w+ {version} are not recorded: {why}; known are ")
            self.assertEqual(done.told, list(told))

    def test_a_version_that_nobody_has_read_is_refused(self):
        for engine, versions in (("vllm", ("0.9.1", "0.34.0", "1.0")), ("sglang", ("0.4.9", "0.5.24")),
                                 ("transformers", ("4.57.6", "5.25.0"))):
            for version in versions:
                self.check_refused(engine, version, why="nobody has read this version")

    def test_a_part_that_is_not_there_is_refused(self):
        lacking = {"vllm": ("Scheduler.update_from_output", "Scheduler.get_request_counts", "Scheduler._free_request"),
                   "sglang": ("Scheduler.process_batch_result", "Req.reset_for_retract", "Scheduler.abort_request"),
                   "transformers": ("ContinuousBatchProcessor._handle_request_error", "ContinuousBatchProcessor.update_batch",
                                    "Scheduler.add_waiting_request", "FIFOScheduler.schedule_batch")}
        for engine, parts in lacking.items():
            for version in VERSIONS[engine]:
                for part in parts:
                    kind, _, name = part.partition(".")
                    self.check_refused(engine, version, why=f"{kind} has no {name}", lacks=part)

        for version in VERSIONS["transformers"]:
            name = "transformers.generation.continuous_batching.scheduler"
            self.check_refused("transformers", version, lacks="PrefillFirstScheduler",
                               why=f"AttributeError: module '{name}' has no attribute 'PrefillFirstScheduler'")

    def test_a_field_that_is_not_there_is_refused_when_it_is_missed(self):
        for version in VERSIONS["vllm"]:
            self.check_refused("vllm", version, "no-field", told=["arrived long 6 long ago"],
                               why="AttributeError: 'Request' object has no attribute 'arrival_time'")
        for version in VERSIONS["sglang"]:
            self.check_refused("sglang", version, "no-field", told=["arrived long 6", "arrived short 2", "begin 1"],
                               why="AttributeError: 'Scheduler' object has no attribute 'enable_overlap'")
        for version in VERSIONS["transformers"]:
            self.check_refused("transformers", version, "no-field",
                               why="AttributeError: 'RequestState' object has no attribute 'created_time'")

    def test_what_an_engine_raises_passes_through(self):
        for engine, versions in VERSIONS.items():
            for version in versions:
                options = (*PLAIN[engine], "explode")
                plain = self.run_engine(engine, version, *options, hooked=False)
                done = self.run_engine(engine, version, *options)
                self.assertEqual((done.returncode, done.stdout), (1, plain.stdout), done.stderr)
                self.assertEqual(done.stderr.splitlines()[-1], "MemoryError: out of memory, says the engine")
                self.assertEqual(plain.stderr.splitlines()[-1], done.stderr.splitlines()[-1])
                self.assertNotIn("gprof-cli:", done.stderr)
                self.assertIn("begin 1", done.told)
                self.assertFalse([line for line in done.told if line.startswith("end")], done.told)

    def test_signatures_are_what_they_were(self):
        code = """
            import inspect, sys
            from vllm.v1.core.sched.scheduler import Scheduler
            from vllm.v1.worker.gpu_worker import Worker
            print([(name, str(inspect.signature(call)), call.__module__, call.__doc__)
                   for kind in (Scheduler, Worker) for name, call in inspect.getmembers(kind, inspect.isfunction)])
            print(sys.modules[Worker.__module__].__spec__.loader.__class__.__name__)
        """
        plain, done = (self.run_engine("vllm", "0.33.0", hooked=hooked, code=textwrap.dedent(code)) for hooked in (False, True))
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, plain.stdout, ""))

    def test_nothing_is_hooked_without_the_variable(self):
        code = "import os, sys; os.environ.pop('GPROF_SERVING', 0); import run_vllm; run_vllm.main('local'); print([name for name in sys.modules if name.startswith('gprof')])"
        path = os.pathsep.join([str(self.hooks), str(ENGINES)])
        env = {"PYTHONPATH": path, "STUB_VERSION": "0.33.0", "TOLD": str(self.folder / "told")}
        done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout.splitlines()[-1], done.stderr), (0, "[]", ""))
        self.assertFalse((self.folder / "told").exists())

    def test_where_there_is_no_tracer_the_real_functions_do_nothing(self):
        shutil.copy(SERVING, self.hooks / "gprof_serving.py")
        for engine, versions in VERSIONS.items():
            plain = self.run_engine(engine, versions[-1], *PLAIN[engine], hooked=False)
            done = self.run_engine(engine, versions[-1], *PLAIN[engine])
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, plain.stdout, ""))


class FakeTracer:
    """Takes what serving.py gives to the tracer."""

    def __init__(self, serving):
        self.calls, self._serving = [], serving
        self.begin = lambda: 5
        self.tell = self._tell
        self.end = self._end
        self.tokens = self._tokens

    def _tell(self, reference):
        call = self._serving._EventCall.from_address(reference) if isinstance(reference, int) else reference._obj
        self.calls.append((call.event, call.request, call.tokens, call.name))
        return 1

    def _tokens(self, count, requests, tokens):
        for request, number in zip(self._column(requests, count), self._column(tokens, count)):
            self.calls.append((self._serving.TOKENS_OUT, request, number, None))

    def _end(self, reference):
        call = reference._obj
        self.calls.append(("end", *(self._column(getattr(call, name), call.requests) for name in ("request", "tokens"))))

    def _column(self, address, count):
        return list((self._serving.ctypes.c_uint64 * count).from_address(address))


class Serving(unittest.TestCase):
    """What serving.py has for hooks."""

    def setUp(self):
        spec = importlib.util.spec_from_file_location("serving_under_test", SERVING)
        self.serving = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.serving)
        self.serving._tracer = self.tracer = FakeTracer(self.serving)

    def test_tokens_of_many_requests_are_an_event_each(self):
        self.serving.request_by_ns("a", self.serving.ARRIVED, 3, 0)
        self.serving.handed_out(("a", "b"), (2, 1))
        self.assertEqual(self.tracer.calls, [(0, 1, 0, b"a"), (1, 1, 3, None), (0, 2, 0, b"b"), (2, 1, 2, None),
                                             (2, 2, 1, None)])

    def test_a_forgotten_request_gets_another_number(self):
        self.serving.end_step(self.serving.begin_step(), ["a"], [4], [0], [1], [1])
        self.serving.forget("a")
        self.serving.forget("never seen")
        self.serving.end_step(self.serving.begin_step(), ["a", "b"], [4, 5], [0, 0], [1, 1], [1, 0])
        self.assertEqual(self.tracer.calls, [(0, 1, 0, b"a"), ("end", [1], [4]), (0, 2, 0, b"a"), (0, 3, 0, b"b"),
                                             ("end", [2, 3], [4, 5])])

    def test_the_child_of_a_fork_names_its_requests_itself(self):
        self.serving.handed_out(("a",), (1,))
        child = os.fork()
        if child == 0:
            try:
                del self.tracer.calls[:]
                self.serving.handed_out(("a",), (1,))
                os._exit(0 if [call[0] for call in self.tracer.calls] == [0, 2] else 1)
            finally:
                os._exit(2)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)


class ServingEngine(unittest.TestCase):
    """tests/gpu/programs/serving_engine.py knows the truth of itself: here that it agrees with itself."""

    PLANTS = ("long-prefill", "slow-tokeniser", "stalled-scheduler", "preemption", "gpu-hog", "slow-detokeniser")

    def run_engine(self, *options):
        program = HERE.parents[1] / "gpu" / "programs" / "serving_engine.py"
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(SERVING, pathlib.Path(folder) / "gprof_serving.py")
            log = pathlib.Path(folder) / "log.json"
            subprocess.run([sys.executable, program, "--cpu", "--log", log, *options], check=True, capture_output=True,
                           timeout=60, env={"PYTHONPATH": folder})
            return json.loads(log.read_text())

    def check(self, log):
        found, requests, last_ns = {}, log["requests"], 0
        for step in log["steps"]:
            self.assertLessEqual(last_ns, step["begin_ns"])
            self.assertLess(step["begin_ns"], step["end_ns"])
            self.assertLessEqual(step["cache_used"], step["cache_blocks"])
            last_ns = step["end_ns"]
            for name, tokens, cached, tokens_out, _ in step["members"]:
                self.assertLessEqual(cached + tokens, requests[name]["prompt"] + found.get(name, 0))
                found[name] = found.get(name, 0) + tokens_out
        for name, request in requests.items():
            self.assertEqual(found[name], len(request["tokens_ns"]))
            self.assertLess(request["arrived_ns"], request["tokens_ns"][0])
            self.assertLess(request["tokens_ns"][-1], request["finished_ns"])

    def test_each_interference_is_logged_with_the_tokens_that_it_delayed(self):
        for plant in self.PLANTS:
            log = self.run_engine("--requests", "80", "--plant", plant)
            self.check(log)
            self.assertEqual({made["plant"] for made in log["plants"]}, {plant})
            for made in log["plants"]:
                for name, index in made["delayed"]:
                    self.assertLess(made["begin_ns"], log["requests"][name]["tokens_ns"][index], plant)

    def test_a_small_cache_makes_it_preempt(self):
        log = self.run_engine("--requests", "80", "--rate", "2000", "--blocks", "66")
        self.check(log)
        self.assertTrue(any(request["preempted_ns"] for request in log["requests"].values()))
        self.assertFalse(log["plants"])


if __name__ == "__main__":
    unittest.main()
