"""Two ranks on two GPUs: what NCCL told the tracer, and what `ranks` says of ranks that were slowed on purpose."""

import collections
import json
import re
import socket
import subprocess
import sys

import recorded
import support
from test_frameworks import PROGRAMS, FrameworkTest, needs

PROGRAM = PROGRAMS / "torch_ranks_program.py"
ASSEMBLE = support.PROGRAMS / "assemble_trace"
STEPS = 100
SKEW_NS = 20_000_000
STRAGGLERS = {"fleet.slow_gpu", "fleet.more_work", "fleet.slow_copies", "fleet.late_host", "fleet.skewed_clock", "fleet.turns"}
# Data goes through NCCL's network threads even between two GPUs of a host, and no more of it than was asked for.
BY_NETWORK = {"NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "1", "NCCL_NET": "Socket", "NCCL_SOCKET_IFNAME": "lo", "NCCL_ALGO": "Ring", "NCCL_PROTO": "Simple"}


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return str(one.getsockname()[1])


@needs("torch")
class RanksTest(FrameworkTest):
    gpus = 2

    def run_ranks(self, how, steps=STEPS, options=(), **more):
        """Starts both ranks, each in a profile of its own: what rank 0 printed. The traces are rank0.trace and rank1.trace."""
        shared = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port(), "PYTHONPATH": support.python_path(), **more}
        running = []
        for rank in range(2):
            words = [support.COMMAND, "profile", "-f", "-o", self.folder / f"rank{rank}.trace", *options, "--", sys.executable, "-B", PROGRAM, how, steps]
            env = support.environment(RANK=str(rank), LOCAL_RANK=str(rank), **shared)
            running.append(subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env))
        self.addCleanup(lambda: [process.kill() for process in running if process.poll() is None])
        said = [process.communicate(timeout=support.TIMEOUT_S) for process in running]
        for process, (output, errors) in zip(running, said):
            self.assertEqual(process.returncode, 0, f"{output}\n{errors[-2000:]}")
        self.traces = [self.folder / f"rank{rank}.trace" for rank in range(2)]
        return json.loads(said[0][0].splitlines()[-1])

    def records(self):
        found = [recorded.Records.of(trace) for trace in self.traces]
        for one in found:
            self.assertEqual((one.problems, one["loss"]), ([], []))
        return found

    def analyze(self, *traces):
        return json.loads(recorded.ask("ranks", *(traces or self.traces), "--rows", 0, "--format", "json"))

    def named(self, verdict):
        """{id: finding} of the findings that name a rank, a host or a clock."""
        self.assertEqual((verdict["ranks"], verdict["world_size"], verdict["missing"]), (2, 2, []))
        return {finding["id"]: finding for finding in verdict["findings"] if finding["id"] in STRAGGLERS}


class Slowed(RanksTest):
    def test_of_two_equal_ranks_nobody_is_named_and_a_clock_that_is_off_is(self):
        self.run_ranks("equal")
        verdict = self.analyze()
        self.assertEqual(self.named(verdict), {})
        self.assertEqual({entry["rank"] for entry in verdict["steps"]["ranks"]}, {0, 1})
        self.assertEqual(len(verdict["steps"]["median_own_ns"]), STEPS)
        self.assertEqual(self.named(self.analyze(self.traces[0], self.trace_with_clock_ahead())).keys(), {"fleet.skewed_clock"})
        offsets = [row["offset_ns"] for table in self.verdict["tables"] if table["id"] == "hosts" for row in table["rows"]]
        self.assertEqual(len(offsets), 2)
        # Both hosts are as many: either may be taken for the one that is right.
        self.assertAlmostEqual(max(offsets) - min(offsets), SKEW_NS, delta=200_000)

    def trace_with_clock_ahead(self):
        """Rank 1 as if it had run on another host, whose clock is ahead."""
        text = recorded.ask("dump", self.traces[1])
        text = re.sub(r'(^process .* host=")', r"\1other-", text, flags=re.M)
        text = re.sub(r"(^chunk .* host=)(\d+)", lambda m: f"{m[1]}{int(m[2]) ^ 1}", text, flags=re.M)
        text = re.sub(r"( realtime_ns=)(\d+)", lambda m: f"{m[1]}{int(m[2]) + SKEW_NS}", text)
        path = self.folder / "ahead.trace"
        path.write_bytes(subprocess.run([ASSEMBLE], input=text.encode(), capture_output=True, check=True).stdout)
        return path

    def analyze(self, *traces):
        self.verdict = super().analyze(*traces)
        return self.verdict

    def test_more_work(self):
        self.run_ranks("more_work")
        found = self.named(self.analyze())
        self.assertEqual({key: finding["about"] for key, finding in found.items()}, {"fleet.more_work": "rank 1"})

    def test_a_host_that_sleeps(self):
        self.run_ranks("late_host")
        found = self.named(self.analyze())
        self.assertEqual({key: finding["about"] for key, finding in found.items()}, {"fleet.late_host": "rank 1"})
        self.assertRegex(found["fleet.late_host"]["message"], r"load_batch|torch_ranks_program\.py|sleep")


    def test_ranks_that_take_turns(self):
        self.run_ranks("turns")
        verdict = self.analyze()
        self.assertEqual(self.named(verdict).keys(), {"fleet.turns"})
        turns = verdict["critical_path"]["turns"]
        self.assertEqual([turn["ranks"] for turn in turns["turns"]], [[0], [1]])
        # Both multiply the same matrices, and each waits meanwhile.
        for turn in turns["turns"]:
            self.assertGreater(100 * turn["path_ns"], 35 * turns["path_ns"], turns)
            self.assertGreater(100 * turn["waiting_ns"], 30 * turns["path_ns"], turns)


class Operations(RanksTest):
    def test_what_nccl_told(self):
        known = self.run_ranks("operations", 5)
        ranks = [one["collective"] for one in self.records()]
        of_all = [[(r["communicator"], r["function"], r["sequence"], r["size_bytes"]) for r in rows if r["function"] not in ("Send", "Recv")] for rows in ranks]
        with self.subTest("the same on both ranks"):
            self.assertEqual(sorted(of_all[0]), sorted(of_all[1]))
        for rank, rows in enumerate(ranks):
            functions = collections.Counter(r["function"] for r in rows)
            said = f"rank {rank}: {functions}"
            sizes = collections.Counter(r["size_bytes"] for r in rows if r["function"] == "AllReduce")
            for size in known["sizes"]:
                with self.subTest(f"reductions of {size} bytes"):
                    self.assertEqual(sizes[size], known["reductions"] + 1, said)
            with self.subTest("functions"):
                self.assertEqual({name: functions[name] for name in ("AllGather", "ReduceScatter", "Broadcast")},
                                 dict.fromkeys(("AllGather", "ReduceScatter", "Broadcast"), len(known["sizes"])), said)
            with self.subTest("sequence"):
                numbers = collections.defaultdict(list)
                for r in rows:
                    if r["function"] == "AllReduce":
                        numbers[r["communicator"]].append(r["sequence"])
                for found in numbers.values():
                    self.assertEqual(found, list(range(found[0], found[0] + len(found))))
            with self.subTest("peers"):
                found = [(r["function"], r["size_bytes"], r["peer"]) for r in rows if r["function"] in ("Send", "Recv")]
                self.assertEqual(found, [("Send" if rank == 0 else "Recv", size, 1 - rank) for size in known["sizes"]])
            with self.subTest("communicators"):
                self.assertGreaterEqual(len({r["communicator"] for r in rows}), 2)
                self.assertEqual({(r["ranks"], r["rank"]) for r in rows}, {(2, rank)})
            with self.subTest("how"):
                reduced = [r for r in rows if r["function"] == "AllReduce"]
                self.assertTrue(all(r["algorithm"] and r["protocol"] and r["channels"] and r["duration_ns"] for r in reduced), reduced[:1])
        report = recorded.Report.of(self.traces[0])
        self.assertEqual(report.metric("nccl.operations"), len(ranks[0]))
        self.assertEqual(report.metric("nccl.bytes"), sum(r["size_bytes"] for r in ranks[0]))
        self.assertGreater(report.metric("nccl.bus_bytes_per_second"), 0)

    def test_a_host_that_calls_late(self):
        steps = 20
        self.run_ranks("late_call", steps)
        report = json.loads(recorded.ask("report", *self.traces, "--only", "nccl", "--rows", 0, "--format", "json"))
        found = {metric["id"]: metric["value"] for metric in report["metrics"] if metric["scope"] == ""}
        self.assertGreater(found.get("nccl.late_host_ns", 0), 0.8 * steps * 3_000_000)

    def test_what_went_through_the_network(self):
        self.run_ranks("operations", 3, options=["--only-trace", "-t", "cuda,nvtx,nccl-proxy"], **BY_NETWORK)
        sent, received, reduced = ([collections.Counter(), collections.Counter()] for _ in range(3))
        for rank, one in enumerate(self.records()):
            operations = {(r["communicator"], r["function"], r["sequence"]): r for r in one["collective"] if r["function"] == "AllReduce"}
            for (communicator, function, _), r in operations.items():
                reduced[rank][communicator, function] += r["size_bytes"]
            rows = one["nccl_transfer"]
            with self.subTest("transfers", rank=rank):
                self.assertTrue(rows)
                self.assertTrue(all(r["function"] and r["communicator"] and r["steps"] and r["size_bytes"] for r in rows), rows[:3])
                self.assertEqual({(r["rank"], r["peer"]) for r in rows}, {(rank, 1 - rank)})
            with self.subTest("waits", rank=rank):
                for r in rows:
                    self.assertLessEqual(sum(r[wait] for wait in ("gpu_ns", "peer_ns", "network_ns", "flush_ns")), r["duration_ns"])
            for r in (r for r in rows if r["function"] == "AllReduce"):
                with self.subTest("operation", rank=rank):
                    self.assertIn((r["communicator"], r["function"], r["sequence"]), operations)
                (sent if r["is_send"] else received)[rank][r["communicator"], r["function"]] += r["size_bytes"]
        for rank in range(2):
            with self.subTest("bytes", rank=rank):
                self.assertEqual(sent[rank], received[1 - rank])
                # In a ring of two, each sends half of it twice.
                for key, size in reduced[rank].items():
                    self.assertGreaterEqual(sent[rank][key], size)
                    self.assertLess(sent[rank][key], 1.1 * size)
        self.assertTrue(recorded.Report.of(self.traces[0]).table("nccl_network"))


class Torchrun(RanksTest):
    def test_data_parallel_training(self):
        """As docs/cluster.md records it, with all defaults: the same losses as untraced, and both ranks are in the verdict."""
        steps = 40
        torchrun = [sys.executable, "-B", "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", 2, "--no-python"]
        program = [sys.executable, "-B", PROGRAM, "train", steps]
        env = support.environment(PYTHONPATH=support.python_path(), OMP_NUM_THREADS="1")
        plain = support.run(*torchrun, *program, env=env)
        self.assertEqual(plain.returncode, 0, plain.stderr[-2000:])
        done = support.run(*torchrun, support.COMMAND, "profile", "-f", "-o", self.folder / "rank%q{RANK}.trace", "--", *program, env=env)
        self.assertEqual((done.returncode, done.stdout), (0, plain.stdout), done.stderr[-2000:])
        self.traces = [self.folder / f"rank{rank}.trace" for rank in range(2)]
        for one in self.records():
            reductions = [r for r in one["collective"] if r["function"] == "AllReduce"]
            self.assertGreaterEqual(len(reductions), steps)
        verdict = self.analyze()
        self.assertEqual((verdict["ranks"], verdict["world_size"], verdict["missing"], verdict["incomplete"]), (2, 2, [], []))
        self.assertEqual(len(verdict["steps"]["median_own_ns"]), steps)
        self.assertTrue(verdict["critical_path"]["ranks_wait_for_one_another"])
        report = recorded.Report.of(self.traces[0])
        self.assertEqual(report.metric("health.unmatched_launches"), 0)
        self.assertGreater(report.metric("nccl.bus_bytes_per_second"), 0)
        self.assertRegex(recorded.ask("ranks", *self.traces), r"Ranks +2 of 2")
        parts = self.folder / "all.gpart"
        recorded.ask("partial", *self.traces, "-o", parts)
        self.assertEqual(self.analyze(parts), verdict)
        self.assertIn("of 2 traces", recorded.ask("report", parts))


if __name__ == "__main__":
    support.main(gpus=2)
