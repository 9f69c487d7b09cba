"""The SQLite export: the tables and columns of real exports, the figures of our report, and names as they were."""

import functools
import json
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import unittest

import exporting

sys.path.insert(0, str(exporting.ROOT / "tests" / "gpu"))

# The generation that we follow; others have columns more or less.
GENERATION = "testcuda_4streams_r1.sqlite"


def connect(path):
    return sqlite3.connect(f"{pathlib.Path(path).resolve().as_uri()}?mode=ro&immutable=1", uri=True)


def tables(database):
    """{table: [(column, type, not null, primary key)]}"""
    names = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return {name: [(row[1], row[2], row[3], row[5]) for row in database.execute(f"PRAGMA table_info({name})")]
            for name in names}


EXPORTED = tempfile.TemporaryDirectory(prefix="gprof-sqlite-")


@functools.cache
def exported(trace):
    """Path of the export of a recorded trace, made once for all tests."""
    path = pathlib.Path(EXPORTED.name) / f"{trace.stem}.sqlite"
    exporting.ask("export", trace, "-o", path)
    return path


@functools.cache
def metrics_of(trace):
    """{id: value} of a report, for the whole trace."""
    return {metric["id"]: metric["value"] for metric in exporting.report(trace)["metrics"] if not metric["scope"]}


class Sqlite(exporting.ExportTest):
    def database(self, trace):
        database = connect(exported(trace) if trace in exporting.TRACES else self.export(trace, "sqlite"))
        self.addCleanup(database.close)
        return database

    def test_every_trace_makes_a_sound_database(self):
        for trace in exporting.TRACES:
            with self.subTest(trace=trace.stem):
                database = self.database(trace)
                self.assertEqual(database.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
                self.assertEqual(database.execute("SELECT name FROM sqlite_master WHERE type != 'table'").fetchall(), [])
                empty = [name for name in tables(database)
                         if database.execute(f"SELECT COUNT(*) FROM {name}").fetchone() == (0,)]
                self.assertEqual(empty, [], "readers take a table that is there for data")

    def test_nothing_refers_to_what_is_not_there(self):
        for trace in exporting.TRACES:
            database = self.database(trace)
            there = tables(database)
            for table, column, other in (
                    ("CUPTI_ACTIVITY_KIND_KERNEL", "demangledName", "StringIds"),
                    ("CUPTI_ACTIVITY_KIND_KERNEL", "shortName", "StringIds"),
                    ("CUPTI_ACTIVITY_KIND_KERNEL", "mangledName", "StringIds"),
                    ("CUPTI_ACTIVITY_KIND_KERNEL", "cacheConfig", "ENUM_CUDA_FUNC_CACHE_CONFIG"),
                    ("CUPTI_ACTIVITY_KIND_RUNTIME", "nameId", "StringIds"),
                    ("CUPTI_ACTIVITY_KIND_RUNTIME", "eventClass", "ENUM_NSYS_EVENT_CLASS"),
                    ("CUPTI_ACTIVITY_KIND_MEMCPY", "copyKind", "ENUM_CUDA_MEMCPY_OPER"),
                    ("CUPTI_ACTIVITY_KIND_MEMCPY", "srcKind", "ENUM_CUDA_MEM_KIND"),
                    ("CUPTI_ACTIVITY_KIND_MEMCPY", "dstKind", "ENUM_CUDA_MEM_KIND"),
                    ("CUPTI_ACTIVITY_KIND_MEMSET", "memKind", "ENUM_CUDA_MEM_KIND"),
                    ("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "syncType", "ENUM_CUPTI_SYNC_TYPE"),
                    ("PROFILER_OVERHEAD", "overheadType", "ENUM_CUPTI_OVERHEAD_TYPE"),
                    ("CUDA_GPU_MEMORY_USAGE_EVENTS", "memoryOperationType", "ENUM_CUDA_DEV_MEM_EVENT_OPER"),
                    ("TARGET_INFO_CUDA_STREAM", "flag", "ENUM_CUPTI_STREAM_TYPE"),
                    ("ThreadNames", "nameId", "StringIds"),
                    ("NVTX_EVENTS", "eventType", "ENUM_NSYS_EVENT_TYPE")):
                if table in there:
                    with self.subTest(trace=trace.stem, table=table, column=column):
                        lost = database.execute(f"SELECT COUNT(*) FROM {table} WHERE {column} IS NULL OR {column} NOT IN "
                                                f"(SELECT id FROM {other})").fetchone()
                        self.assertEqual(lost, (0,))

    def test_counts_and_sums_are_those_of_the_report(self):
        for trace in exporting.TRACES:
            with self.subTest(trace=trace.stem):
                database = self.database(trace)
                there = tables(database)
                metrics = metrics_of(trace)

                def sums(table, what="SUM(end - start)", where="1"):
                    if table not in there:
                        return 0, 0
                    return database.execute(f"SELECT COUNT(*), COALESCE({what}, 0) FROM {table} WHERE {where}").fetchone()

                own = "copyKind <= 10"
                expected = {
                    "kernels": sums("CUPTI_ACTIVITY_KIND_KERNEL"), "memcpy": sums("CUPTI_ACTIVITY_KIND_MEMCPY", where=own),
                    "memset": sums("CUPTI_ACTIVITY_KIND_MEMSET"), "api": sums("CUPTI_ACTIVITY_KIND_RUNTIME"),
                    "bytes": sums("CUPTI_ACTIVITY_KIND_MEMCPY", "SUM(bytes)", own)[1],
                    "pageable": sums("CUPTI_ACTIVITY_KIND_MEMCPY", where=f"{own} AND 0 IN (srcKind, dstKind)")}
                ours = {"kernels": (metrics.get("kernels.count", 0), metrics.get("kernels.total_ns", 0)),
                        "memcpy": (metrics.get("memcpy.count", 0), metrics.get("memcpy.total_ns", 0)),
                        "memset": (metrics.get("memset.count", 0), metrics.get("memset.total_ns", 0)),
                        "api": (metrics.get("api.calls", 0), metrics.get("api.total_ns", 0)),
                        "bytes": metrics.get("memcpy.bytes", 0),
                        "pageable": (metrics.get("memcpy.pageable_count", 0), metrics.get("memcpy.pageable_ns", 0))}
                self.assertEqual(ours, expected)

    def test_times_are_those_of_the_records(self):
        trace = exporting.DATA / "known_facts.trace"
        database = self.database(trace)
        shift, = database.execute("SELECT systemClockNs FROM TARGET_INFO_SESSION_START_TIME").fetchone()
        records = exporting.recorded.Records.of(trace)
        for kind, table in (("kernel", "KERNEL"), ("memcpy", "MEMCPY"), ("api", "RUNTIME"), ("sync", "SYNCHRONIZATION")):
            theirs = sorted(database.execute(f"SELECT start + ?, end - start FROM CUPTI_ACTIVITY_KIND_{table}", (shift,)))
            self.assertEqual(sorted((r["start_ns"], r["duration_ns"]) for r in records[kind]), theirs)

    def test_ids_of_processes_and_threads(self):
        database = self.database(exporting.DATA / "nccl_after.trace")
        pids = {pid for (pid,) in database.execute("SELECT pid FROM PROCESSES")}
        self.assertEqual(len(pids), 2)
        for table, column in (("PROCESSES", "globalPid"), ("CUPTI_ACTIVITY_KIND_KERNEL", "globalPid"),
                              ("CUPTI_ACTIVITY_KIND_RUNTIME", "globalTid"), ("NVTX_EVENTS", "globalTid")):
            ids = {number for (number,) in database.execute(f"SELECT DISTINCT {column} FROM {table}")}
            self.assertEqual({number >> 24 & 0xFFFFFF for number in ids}, pids, table)
            self.assertEqual({number >> 48 for number in ids}, {1})

    def test_work_joins_with_its_call(self):
        for trace in exporting.TRACES:
            database = self.database(trace)
            if "CUPTI_ACTIVITY_KIND_KERNEL" not in tables(database):
                continue
            # The process is part of the join: numbers begin at 1 in each.
            joined, = database.execute("SELECT COUNT(*) FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN CUPTI_ACTIVITY_KIND_RUNTIME r "
                                       "ON r.correlationId = k.correlationId AND r.globalTid >> 24 = k.globalPid >> 24").fetchone()
            metrics = metrics_of(trace)
            self.assertEqual(joined, metrics["kernels.count"] - metrics["health.unmatched_ops"], trace.stem)

    def test_hostile_names(self):
        database = self.database(self.hostile())
        names = {*exporting.HOSTILE.values(), exporting.BROKEN}
        self.assertEqual({name for (name,) in database.execute("SELECT text FROM NVTX_EVENTS")}, names)
        kernels = database.execute("SELECT value, k.end - k.start FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds s "
                                   "ON s.id = mangledName").fetchall()
        self.assertEqual({name for name, _ in kernels}, names)
        self.assertEqual(sorted(time for _, time in kernels), list(range(100, 100 + len(names))))

    def test_read_again_the_report_has_the_same_figures(self):
        same = ("kernels.", "memcpy.", "memset.", "api.", "sync.", "nvtx.ranges", "nvtx.marks", "managed.")
        over_time = ("gpu.busy", "gpu.idle", "gpu.window", "idle.", "gaps.", "streams.max", "streams.overlap", "launches.count",
                     "balance.peer_bytes")
        elsewhere = ("memcpy.link_bytes_per_second",)  # the generation of the PCIe link is not in the schema
        for trace in exporting.TRACES:
            with self.subTest(trace=trace.stem):
                # When the recording was on is not in the schema, and idle time is told by it.
                wanted = same if trace.stem == "captures" else same + over_time
                ours = {name: value for name, value in metrics_of(trace).items()
                        if name.startswith(wanted) and name not in elsewhere}
                theirs = {name: value for name, value in metrics_of(exported(trace)).items() if name in ours}
                self.assertEqual({name: ours[name] for name in theirs}, theirs)
                # Whole graphs leave open which kernels ran; other figures are never missing.
                self.assertGreaterEqual(len(theirs), len(ours) - (12 if trace.stem == "known_facts" else 2))

    def test_names_of_streams(self):
        for trace in ("known_facts", "normalise_v3_streams"):
            rows = exporting.csv_rows(self.export(exporting.DATA / f"{trace}.trace", "csv", "--kind", "stream",
                                                  name=f"{trace}.csv"))
            named = {(int(row["context"]), int(row["stream"]), row["name"]) for row in rows if row["name"]}
            self.assertTrue(named)
            theirs = self.database(exporting.DATA / f"{trace}.trace").execute(
                "SELECT uint32Value, uint64Value, text FROM NVTX_EVENTS WHERE eventType = 99")
            self.assertEqual(set(theirs), named)

    def test_copies_between_gpus_have_their_ends(self):
        trace = exporting.DATA / "peer_copy.trace"
        facts = json.loads((exporting.DATA / "peer_copy.facts.json").read_text(encoding="utf-8"))["facts"]["peer_copies"]
        theirs = self.database(trace).execute(
            "SELECT srcDeviceId || '>' || dstDeviceId, SUM(bytes), COUNT(*) FROM CUPTI_ACTIVITY_KIND_MEMCPY "
            "WHERE copyKind = 10 GROUP BY 1").fetchall()
        self.assertEqual({ends: {"bytes": size, "count": count} for ends, size, count in theirs}, facts)
        others, = self.database(trace).execute("SELECT COUNT(*) FROM CUPTI_ACTIVITY_KIND_MEMCPY WHERE copyKind != 10 "
                                               "AND COALESCE(srcDeviceId, dstDeviceId) IS NOT NULL").fetchone()
        self.assertEqual(others, 0)

    def test_payloads(self):
        trace = exporting.DATA / "nccl_after.trace"
        texts = [json.loads(text) for (text,) in
                 self.database(trace).execute("SELECT jsonText FROM NVTX_EVENTS WHERE jsonText IS NOT NULL")]
        rows = exporting.csv_rows(self.export(trace, "csv", "--kind", "nvtx_payload"))
        sizes = sorted(int(row["integer"]) for row in rows if row["key"] == "Message size [bytes]")
        self.assertTrue(sizes)
        self.assertEqual(sorted(text["Message size [bytes]"] for text in texts if "Message size [bytes]" in text), sizes)

    def test_what_was_sampled(self):
        trace = exporting.case_trace("report/sampled.test", self.folder / "sampled.trace")
        database = self.database(trace)
        means = database.execute("SELECT metricName, typeId & 255, COUNT(*), AVG(value) FROM GPU_METRICS "
                                 "JOIN TARGET_INFO_GPU_METRICS USING (typeId, metricId) GROUP BY 1 ORDER BY 1").fetchall()
        self.assertEqual([(name, gpu, count) for name, gpu, count, _ in means],
                         [("GPC Clock Frequency [MHz]", 0, 117), ("SMs Active [Throughput %]", 0, 117)])
        figures = {metric["id"]: metric["value"] for metric in exporting.report(trace)["metrics"] if not metric["scope"]}
        host = database.execute("SELECT SUM(value * (end - start)) / (MAX(end) - MIN(start)) FROM HOST_METRICS "
                                "JOIN TARGET_INFO_HOST_METRICS s ON s.id = sourceId WHERE name = 'CPU' AND pid = 7").fetchone()
        self.assertAlmostEqual(host[0], figures["host.cpu_percent"])
        again = exporting.report(self.export(trace, "sqlite", name="again.sqlite"))
        read = {metric["id"]: metric["value"] for metric in again["metrics"] if not metric["scope"]}
        for name in ("gpu.sm_active_percent", "gpu.clock_sm_mhz_p50"):
            self.assertAlmostEqual(read[name], figures[name], places=4)  # the first sample has no length there

    def test_what_threads_did_between_calls(self):
        database = self.database(exporting.case_trace("cli/host_records.test", self.folder / "host.trace"))
        calls = database.execute("SELECT value, end - start, globalTid & 0xFFFFFF, returnValue, eventClass FROM OSRT_API "
                                 "JOIN StringIds ON id = nameId").fetchall()
        self.assertEqual(calls, [("pthread_cond_timedwait", 80, 70, 0, 27), ("read", 90, 71, -1, 27)])
        frames = database.execute("SELECT c.stackDepth, value, e.globalTid & 0xFFFFFF FROM COMPOSITE_EVENTS e JOIN SAMPLING_CALLCHAINS c "
                                  "USING (id) JOIN StringIds s ON s.id = symbol ORDER BY e.id, 1").fetchall()
        self.assertEqual(frames, [(0, "libwork.so+0x200", 70), (1, "step(int)", 70), (2, "Net.forward (train.py:10)", 70), (0, "Net.forward (train.py:10)", 71)])
        switches = database.execute("SELECT start, isSchedIn, globalTid & 0xFFFFFF FROM SCHED_EVENTS").fetchall()
        self.assertEqual(switches, [(370, 0, 70), (400, 1, 70)])

    def test_calls_of_mpi(self):
        trace = exporting.case_trace("report/mpi_calls.test", self.folder / "mpi.trace")
        database = self.database(trace)
        sends = database.execute("SELECT value, COUNT(*), SUM(size), MIN(remoteRank), MAX(remoteRank), SUM(end - start) "
                                 "FROM MPI_P2P_EVENTS JOIN StringIds ON id = textId GROUP BY 1").fetchall()
        self.assertEqual(sends, [("MPI_Isend", 8, 8 * 65536, 0, 1, 16000)])
        collectives = database.execute("SELECT value, COUNT(*), SUM(size), SUM(recvSize), COUNT(rootRank), SUM(end - start) "
                                       "FROM MPI_COLLECTIVES_EVENTS JOIN StringIds ON id = textId GROUP BY 1").fetchall()
        self.assertEqual(collectives, [("MPI_Allreduce", 8, 64, 64, 0, 960000)])
        self.assertNotIn("MPI_OTHER_EVENTS", tables(database))
        figures = {m["id"]: m["value"] for m in exporting.report(trace)["metrics"] if m["id"].startswith("mpi.") and not m["scope"]}
        again = exporting.report(self.export(trace, "sqlite", name="again.sqlite"))
        read = {metric["id"]: metric["value"] for metric in again["metrics"] if not metric["scope"]}
        for name in ("mpi.calls", "mpi.call_ns", "mpi.sent_bytes"):
            self.assertEqual(read[name], figures[name])

    def test_operations_of_nccl(self):
        database = self.database(exporting.case_trace("report/nccl_operations.test", self.folder / "nccl.trace"))
        communicator = 9205357638345293825
        self.assertEqual(database.execute("SELECT globalPid >> 24 & 0xFFFFFF, communicatorId, name, rank, size, nodes FROM NCCL_COMMUNICATORS").fetchall(),
                         [(7, communicator, "default_pg", 0, 2, 1), (8, communicator, "default_pg", 1, 2, 1)])
        sums = database.execute("SELECT value, COUNT(*), SUM(size), SUM(end - start), MAX(sequence), MIN(algorithm), MIN(protocol), "
                                "MIN(datatype), MAX(channels), COUNT(remoteRank), SUM(isCaptured) FROM NCCL_EVENTS "
                                "JOIN StringIds ON id = nameId GROUP BY 1").fetchall()
        self.assertEqual(sums, [("AllGather", 8, 8 << 20, 160000, 3, "RING", "LL128", "ncclInt8", 8, 0, 0),
                                ("AllReduce", 8, 8 * 67108864, 96000, 3, "NVLS", "SIMPLE", "ncclBfloat16", 16, 0, 0),
                                ("ReduceScatter", 8, 8 << 20, 144000, 3, "RING", "LL128", "ncclInt8", 8, 0, 0)])
        # Each is joined to its kernel; the two of a group share one.
        kernels = database.execute("SELECT e.nameId, COUNT(DISTINCT k.rowid) FROM NCCL_EVENTS e JOIN CUPTI_ACTIVITY_KIND_KERNEL k ON k.start = "
                                   "e.kernelStart AND k.end = e.kernelEnd AND k.deviceId = e.deviceId GROUP BY 1").fetchall()
        self.assertEqual([count for _, count in kernels], [8, 8, 8])
        self.assertEqual(database.execute("SELECT COUNT(DISTINCT deviceId * 1000000000 + kernelStart) FROM NCCL_EVENTS").fetchone(), (16,))

    def test_the_query_of_the_docs_finds_the_late_rank(self):
        database = self.database(exporting.case_trace("report/nccl_operations.test", self.folder / "nccl.trace"))
        page = (exporting.ROOT / "docs" / "export.md").read_text(encoding="utf-8")
        rows = database.execute(page.split("```sql\n", 1)[1].split("```", 1)[0]).fetchall()
        self.assertEqual(rows[0][0], "AllReduce")
        self.assertEqual({row[2] for row in rows[:4]}, {8})  # rank 1 is the process 8

    def test_an_empty_trace(self):
        database = self.database(self.empty())
        self.assertEqual(database.execute("SELECT pid, name FROM PROCESSES").fetchall(), [(7, "app")])
        self.assertFalse([name for name in tables(database) if name.startswith("CUPTI_ACTIVITY_KIND")])

    def test_what_does_not_work_leaves_nothing_behind(self):
        with self.assertRaisesRegex(RuntimeError, "cannot|exists"):
            exporting.ask("export", exporting.TRACES[0], "--format", "sqlite", "-o", self.folder / "nowhere" / "x.sqlite")
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_the_scripts_of_nsys_would_print_the_figures_of_the_report(self):
        done = subprocess.run([exporting.ROOT / "tests" / "gpu" / "run_nsys_scripts.sh", self.folder / "out",
                               exporting.recorded.BUILD], capture_output=True, text=True, timeout=280,
                              env={**os.environ, "GPROF_TEST_NSYS": str(exporting.HERE / "nsys_double.py")})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("all as expected", done.stdout)
        self.assertGreaterEqual(done.stdout.count(" equal "), 8 * len(exporting.TRACES))


@unittest.skipUnless(exporting.SAMPLES.is_dir(), "the real exports (../shared/samples) are not here")
class RealExports(exporting.ExportTest):
    """Beside exports that Nsight Systems itself made."""

    @classmethod
    def setUpClass(cls):
        cls.theirs = {path.name: connect(path) for path in sorted((exporting.SAMPLES / "nsys").glob("*.sqlite"))}

    @classmethod
    def tearDownClass(cls):
        for database in cls.theirs.values():
            database.close()

    def setUp(self):
        super().setUp()
        self.ours = {}
        for trace in exporting.TRACES:
            database = connect(exported(trace))
            self.addCleanup(database.close)
            self.ours.update(tables(database))

    def test_columns_are_theirs(self):
        theirs = tables(self.theirs[GENERATION])
        common = set(theirs) & set(self.ours)
        self.assertGreater(len(common), 30)
        for table in sorted(common):
            with self.subTest(table=table):
                self.assertEqual(self.ours[table], theirs[table])

    def test_columns_of_what_threads_did_are_theirs(self):
        trace = exporting.case_trace("cli/host_records.test", self.folder / "host.trace")
        ours, theirs = tables(connect(self.export(trace, "sqlite"))), tables(self.theirs[GENERATION])
        for table in ("OSRT_API", "COMPOSITE_EVENTS", "SAMPLING_CALLCHAINS", "SCHED_EVENTS"):
            with self.subTest(table=table):
                self.assertEqual([column[:3] for column in ours[table]], [column[:3] for column in theirs[table]])

    def test_later_and_earlier_generations_have_our_columns_in_the_same_order(self):
        for name, database in self.theirs.items():
            theirs = tables(database)
            for table in sorted(set(theirs) & set(self.ours)):
                with self.subTest(file=name, table=table):
                    common = [column for column, *_ in theirs[table] if column in {column for column, *_ in self.ours[table]}]
                    self.assertEqual([column for column, *_ in self.ours[table] if column in common], common)

    def test_enumerations_are_theirs(self):
        database = connect(exported(exporting.TRACES[0]))
        self.addCleanup(database.close)
        theirs = self.theirs[GENERATION]
        for table in sorted(name for name in tables(database) if name.startswith("ENUM_")):
            with self.subTest(table=table):
                rows = set(database.execute(f"SELECT * FROM {table}"))
                self.assertEqual(rows - set(theirs.execute(f"SELECT * FROM {table}")), set())


if __name__ == "__main__":
    exporting.main()
