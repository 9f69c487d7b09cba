"""Nsight Systems as a second opinion: finds it, records with it, reads its SQLite export."""

import collections
import glob
import os
import shutil
import sqlite3

import support

NVTX_PUSH_POP, NVTX_START_END = 59, 60
MARK = 34


def find():
    """Path of nsys, None when there is none. GPROF_TEST_NSYS names one."""
    places = [os.environ.get("GPROF_TEST_NSYS", ""), shutil.which("nsys") or ""]
    for pattern in ("/opt/nvidia/nsight-systems/*/bin/nsys", "/opt/nvidia/nsight-compute/*/host/target-linux-x64/nsys"):
        places += sorted(glob.glob(pattern), reverse=True)
    return next((place for place in places if place and os.access(place, os.X_OK)), None)


def environment():
    """GPROF_TEST_NSYS_LIBS: folder with libdw.so.1 and libelf.so.1, which nsys needs to make its report."""
    libraries = [os.environ.get("GPROF_TEST_NSYS_LIBS", ""), os.environ.get("LD_LIBRARY_PATH", "")]
    return support.environment(LD_LIBRARY_PATH=":".join(filter(None, libraries)))


class Capture:
    """One run of a program under nsys, as an open SQLite database."""

    def __init__(self, nsys, folder, *program):
        stem = folder / "nsys"
        recorded = support.run(nsys, "profile", "-t", "cuda,nvtx", "-s", "none", "--cpuctxsw", "none", "-f", "true",
                               "-o", stem, *program, env=environment())
        if recorded.returncode != 0:
            raise RuntimeError(f"nsys profile: {recorded.stdout}\n{recorded.stderr}")
        exported = support.run(nsys, "export", "--type", "sqlite", "--force-overwrite", "true", "-o", f"{stem}.sqlite",
                               f"{stem}.nsys-rep", env=environment())
        if exported.returncode != 0:
            raise RuntimeError(f"nsys export: {exported.stdout}\n{exported.stderr}")
        self.report_bytes = os.path.getsize(f"{stem}.nsys-rep")
        self.database = sqlite3.connect(f"{stem}.sqlite")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.database.close()

    def rows(self, table, query):
        known = {name for (name,) in self.database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        return self.database.execute(query.format(table=table)).fetchall() if table in known else []

    def kernels(self):
        """{short name: [ns, ...]}"""
        found = collections.defaultdict(list)
        for name, duration_ns in self.rows("CUPTI_ACTIVITY_KIND_KERNEL",
                                           "SELECT s.value, k.end - k.start FROM {table} k "
                                           "JOIN StringIds s ON s.id = k.shortName"):
            found[name].append(duration_ns)
        return found

    def copies(self):
        """{CUPTI copy kind: (count, bytes)}"""
        rows = self.rows("CUPTI_ACTIVITY_KIND_MEMCPY",
                         "SELECT copyKind, COUNT(*), SUM(bytes) FROM {table} GROUP BY copyKind")
        return {kind: (count, size) for kind, count, size in rows}

    def fills(self):
        """(count, bytes)"""
        rows = self.rows("CUPTI_ACTIVITY_KIND_MEMSET", "SELECT COUNT(*), COALESCE(SUM(bytes), 0) FROM {table}")
        return rows[0] if rows else (0, 0)

    def graphs(self):
        rows = self.rows("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "SELECT COUNT(*) FROM {table}")
        return rows[0][0] if rows else 0

    def nvtx(self):
        """{event type: count}"""
        rows = self.rows("NVTX_EVENTS", "SELECT eventType, COUNT(*) FROM {table} GROUP BY eventType")
        return collections.Counter(dict(rows))
