"""What a trace holds, as gprof-cli says it: the records of `dump`, and the report."""

import collections
import json
import os
import pathlib
import re
import subprocess

BUILD = pathlib.Path(os.environ.get("GPROF_TEST_BUILD", pathlib.Path(__file__).resolve().parents[2] / "build/release"))
COMMAND = BUILD.resolve() / "bin" / "gprof-cli"

# Numbers of include/gprof/trace/record.h
RUNTIME = 1
NVTX_MARK, NVTX_PUSH, NVTX_POP, NVTX_START, NVTX_END = 1, 2, 3, 4, 5
NAME_OF_THREAD, NAME_OF_STREAM = 1, 4
END_BY_EXIT = 1


def ask(*words, cwd=None):
    done = subprocess.run([str(word) for word in (COMMAND, *words)], capture_output=True, stdin=subprocess.DEVNULL,
                          timeout=240, cwd=cwd, env={**os.environ, "NO_COLOR": "1", "COLUMNS": "100"})
    if done.returncode != 0:
        raise RuntimeError(f"{words} ended with {done.returncode}: {done.stderr.decode(errors='replace')}")
    return done.stdout.decode(errors="replace")


def function(call):
    """Name of an API call without the version that CUPTI puts behind it: cudaLaunchKernel_v7000.

    Compilers since CUDA 13 launch kernels by __cudaLaunchKernel, which is the same function.
    """
    return re.sub(r"(_ptsz|_ptds)?(_v\d+)?(_ptsz|_ptds)?$", "", call["function"]).removeprefix("__")


# One field of a line of `dump`: a number, a quoted text, the shape of a kernel in braces, or the id of a lost text.
FIELD = re.compile(r' (\w+)=(?:(-?\d+)|"((?:[^"\\]|\\.)*)"|\{([^}]*)\}|(#\d+))')
ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|.)")
ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}
TEXTS = {"name", "message", "function", "text", "command_line", "tracer_version", "cupti_path", "uuid", "cache_path"}


def unquoted(text):
    def plain(match):
        code = match[1]
        return chr(int(code[1:], 16)) if len(code) == 3 else ESCAPED.get(code, code)

    return ESCAPE.sub(plain, text)


class Record(dict):
    """Fields of one record. `dump` leaves out those with their default value."""

    def __missing__(self, field):
        return "" if field in TEXTS else 0

    @classmethod
    def parse(cls, text):
        fields = cls()
        for name, number, quoted, braced, lost in FIELD.findall(" " + text):
            if number:
                fields[name] = int(number)
            elif braced:
                fields[name] = cls.parse(braced)
            else:
                fields[name] = lost or unquoted(quoted)
        return fields


class Records:
    """All records of a trace by their kind: records["kernel"] is a list."""

    def __init__(self, text):
        self.kinds = collections.defaultdict(list)
        self.problems = []  # comment lines: what could not be read
        process = ()
        for line in text.splitlines():
            kind, _, rest = line.partition(" ")
            if kind == "#":
                self.problems.append(rest)
                continue
            record = Record.parse(rest)
            if kind == "chunk":
                process = (record["host"], record["pid"], record["start_ticks"], record["image"])
                continue
            record["process"] = process
            self.kinds[kind].append(record)
        self.domain_names = {(domain["process"], domain["domain"]): domain["name"]
                             for domain in self.kinds["nvtx_domain"]}

    @classmethod
    def of(cls, trace):
        return cls(ask("dump", trace))

    def __getitem__(self, kind):
        return self.kinds[kind]

    def shape(self, kernel):
        return kernel["shape"] or Record()

    def domain(self, record):
        """Name of the NVTX domain of a record, empty for the default one."""
        return self.domain_names.get((record["process"], record["domain"]), "")


def kept(document):
    """Of a report what later versions must go on saying: its exact metrics and its findings, a line each."""
    exact = [{key: metric[key] for key in ("id", "scope", "value", "deterministic")} for metric in document["metrics"] if metric.get("deterministic")]
    rows = {"metrics": exact, "findings": [{"id": finding["id"]} for finding in document["findings"]]}
    parts = [f'"schema": {json.dumps(document["schema"])}']
    parts += [f'"{name}": [\n  ' + ",\n  ".join(map(json.dumps, of)) + "\n ]" for name, of in rows.items()]
    return "{" + ",\n ".join(parts) + "}\n"


def words_of(finding):
    """All that a finding says of the case."""
    return "\n".join([finding["message"], *finding["evidence"]])


class Report:
    """`report --format json`, schema gprof.report/1."""

    def __init__(self, document):
        if document["schema"] != "gprof.report/1":
            raise ValueError(f"unknown schema {document['schema']}")
        self.document = document
        self.metrics = {(metric["id"], metric["scope"]): metric["value"] for metric in document["metrics"]}

    @classmethod
    def of(cls, trace, *options):
        return cls(json.loads(ask("report", trace, *options, "--rows", "0", "--tables", "--format", "json")))

    def metric(self, name, scope=""):
        """0 for what the report leaves out because the trace has none of it."""
        return self.metrics.get((name, scope), 0)

    def totals(self):
        """(id, value) of the metrics of the whole trace."""
        return [(name, value) for (name, scope), value in self.metrics.items() if scope == ""]

    def deterministic(self):
        return {f"{metric['id']}@{metric['scope']}": metric["value"] for metric in self.document["metrics"]
                if metric.get("deterministic")}

    def finding_ids(self):
        return {finding["id"] for finding in self.document["findings"]}

    def findings_text(self):
        return "\n".join(f"{words_of(finding)} {finding['advice']}" for finding in self.document["findings"])

    def table(self, name):
        """The rows of a table; none where the report has no such table."""
        return [row for table in self.document["tables"] if table["id"] == name for row in table["rows"]]

    def table_text(self, name):
        return "\n".join(json.dumps(table) for table in self.document["tables"] if table["id"] == name)
