#!/usr/bin/env python3
"""Stands in for `nsys`: asks a database what the report scripts and rules of Nsight Systems ask it, and writes CSV as they do.

The queries are ours. What they have in common with the originals is which tables are joined how, as NVIDIA documents it:
names are ids of StringIds, a GPU operation belongs to the call with its correlation id in its process, and an operation
belongs to a range when its call lies within it on the same thread.
"""

import csv
import pathlib
import sqlite3
import sys

PROCESS = 0x00FFFFFFFF000000 | 0x7F << 56
RANGES = "(59, 60)"

OPERATIONS = """
    SELECT start, end, correlationId AS correlation, globalPid, '[CUDA memcpy ' || e.label || ']' AS name, bytes
    FROM CUPTI_ACTIVITY_KIND_MEMCPY JOIN ENUM_CUDA_MEMCPY_OPER e ON e.id = copyKind
    UNION ALL SELECT start, end, correlationId, globalPid, '[CUDA memset]', bytes FROM CUPTI_ACTIVITY_KIND_MEMSET"""

NVTX = f"""
    SELECT n.start, COALESCE(n.end, (SELECT MAX(MAX(start), MAX(end)) FROM NVTX_EVENTS)) AS end, n.globalTid, n.endGlobalTid,
           n.eventType, COALESCE(d.text, '') || ':' || COALESCE(n.text, s.value, '') AS name
    FROM NVTX_EVENTS n LEFT JOIN StringIds s ON s.id = n.textId
    LEFT JOIN NVTX_EVENTS d ON d.eventType = 75 AND d.domainId = n.domainId
                            AND d.globalTid & {PROCESS} = n.globalTid & {PROCESS}
    WHERE n.eventType IN {RANGES}"""

QUERIES = {
    "cuda_gpu_kern_sum": (
        ("CUPTI_ACTIVITY_KIND_KERNEL",),
        """SELECT SUM(end - start) AS "Total Time (ns)", COUNT(*) AS "Instances", MIN(end - start) AS "Min (ns)",
                  MAX(end - start) AS "Max (ns)", value AS "Name"
           FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds ON StringIds.id = demangledName GROUP BY value"""),
    "cuda_api_sum": (
        ("CUPTI_ACTIVITY_KIND_RUNTIME",),
        """SELECT SUM(end - start) AS "Total Time (ns)", COUNT(*) AS "Num Calls", MIN(end - start) AS "Min (ns)",
                  MAX(end - start) AS "Max (ns)", value AS "Name"
           FROM CUPTI_ACTIVITY_KIND_RUNTIME JOIN StringIds ON StringIds.id = nameId GROUP BY value"""),
    "cuda_gpu_mem_time_sum": (
        ("CUPTI_ACTIVITY_KIND_MEMCPY|CUPTI_ACTIVITY_KIND_MEMSET",),
        f'SELECT SUM(end - start) AS "Total Time (ns)", COUNT(*) AS "Count", name AS "Operation" FROM ({OPERATIONS}) '
        "GROUP BY name"),
    "cuda_gpu_mem_size_sum": (
        ("CUPTI_ACTIVITY_KIND_MEMCPY|CUPTI_ACTIVITY_KIND_MEMSET",),
        f'SELECT ROUND(SUM(bytes) / 1e6, 3) AS "Total (MB)", COUNT(*) AS "Count", name AS "Operation" FROM ({OPERATIONS}) '
        "GROUP BY name"),
    "nvtx_sum": (
        ("NVTX_EVENTS",),
        f"""SELECT SUM(end - start) AS "Total Time (ns)", COUNT(*) AS "Instances",
                   CASE eventType WHEN 59 THEN 'PushPop' ELSE 'StartEnd' END AS "Style", name AS "Range"
            FROM ({NVTX}) GROUP BY name, eventType"""),
    "nvtx_gpu_proj_sum": (
        ("NVTX_EVENTS", "CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_KERNEL|CUPTI_ACTIVITY_KIND_MEMCPY"),
        f"""SELECT name AS "Range", SUM(span) AS "Total Proj Time (ns)", COUNT(*) AS "Range Instances",
                   SUM(ops) AS "Total GPU Ops"
            FROM (SELECT n.name, MAX(o.end) - MIN(o.start) AS span, COUNT(DISTINCT r.start) AS ops
                  FROM (SELECT *, ROW_NUMBER() OVER () AS number FROM ({NVTX})) n
                  JOIN CUPTI_ACTIVITY_KIND_RUNTIME r
                    ON r.globalTid = n.globalTid AND r.start >= n.start AND r.end <= n.end
                  JOIN (SELECT start, end, correlation, globalPid FROM ({OPERATIONS})
                        UNION ALL SELECT start, end, correlationId, globalPid FROM CUPTI_ACTIVITY_KIND_KERNEL
                        UNION ALL SELECT start, end, correlationId, globalPid FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE) o
                    ON o.correlation = r.correlationId AND o.globalPid = r.globalTid & {PROCESS}
                  WHERE n.endGlobalTid IS NULL OR n.endGlobalTid = n.globalTid
                  GROUP BY n.number)
            GROUP BY name"""),
    "cuda_memcpy_async": (
        ("CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_MEMCPY"),
        """SELECT m.end - m.start AS "Duration (ns)", m.start AS "Start (ns)", value AS "API Name"
            FROM CUPTI_ACTIVITY_KIND_MEMCPY m
            JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON r.correlationId = m.correlationId
            JOIN StringIds s ON s.id = r.nameId
            JOIN ENUM_CUDA_MEM_KIND src ON src.id = m.srcKind JOIN ENUM_CUDA_MEM_KIND dst ON dst.id = m.dstKind
            WHERE value LIKE 'cudaMemcpy%Async%' AND 'Pageable' IN (src.label, dst.label)"""),
    "cuda_api_sync": (
        ("CUPTI_ACTIVITY_KIND_RUNTIME",),
        """SELECT end - start AS "Duration (ns)", start AS "Start (ns)", value AS "API Name"
           FROM CUPTI_ACTIVITY_KIND_RUNTIME JOIN StringIds ON StringIds.id = nameId
           WHERE value LIKE 'cudaDeviceSynchronize%' OR value LIKE 'cudaStreamSynchronize%'"""),
}
# Empty, so that a query names all tables whatever the database has.
TABLES = {
    "CUPTI_ACTIVITY_KIND_MEMCPY": "start, end, correlationId, globalPid, bytes, copyKind, srcKind, dstKind",
    "CUPTI_ACTIVITY_KIND_MEMSET": "start, end, correlationId, globalPid, bytes",
    "CUPTI_ACTIVITY_KIND_KERNEL": "start, end, correlationId, globalPid",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": "start, end, correlationId, globalPid",
}


def run(database, script, base):
    needed, query = QUERIES[script]
    there = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    for choice in needed:
        if not there & set(choice.split("|")):
            print(f"SKIPPED: {script}: the database does not contain {choice}")
            return
    for name, columns in TABLES.items():
        if name not in there:
            database.execute(f"CREATE TEMP TABLE IF NOT EXISTS {name} ({columns})")
    cursor = database.execute(query)
    with open(f"{base}_{script}.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([column[0] for column in cursor.description])
        writer.writerows(cursor)


def main():
    if sys.argv[1] == "--version":
        print("double of nsys")
        return
    options = dict(zip(sys.argv[2:-1:2], sys.argv[3:-1:2]))
    path = pathlib.Path(sys.argv[-1])
    with sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True) as database:
        for script in (options.get("--report") or options["--rule"]).split(","):
            name = script.partition(":")[0]
            if name in QUERIES:
                run(database, name, options["--output"])


if __name__ == "__main__":
    main()
