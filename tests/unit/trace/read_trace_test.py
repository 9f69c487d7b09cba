"""examples/read_trace.py reads what the C++ reader reads: read_trace_test.py ASSEMBLE DUMP READ_TRACE."""
import collections
import os
import random
import re
import subprocess
import sys
import tempfile
import unittest

ASSEMBLE, DUMP, READ_TRACE = sys.argv[1:4]


def text_of_a_trace():
    """Kernels whose columns take every encoding, in chunks of several processes, with other kinds between them."""
    rng = random.Random(5)
    lines = ['process pid=1 name="app"', 'thread tid=9 name="main"']
    for i in range(300):  # evenly stepped times, one name: runs of differences, constants
        lines.append(f'kernel start_ns={1000 + 10 * i} duration_ns=7 correlation={i + 1} name="even"')
    lines.append("chunk pid=2")
    for i in range(300):  # anything
        name = rng.choice(["a", "b", "_Z4longv", "caf\u00e9", "with \\\"quotes\\\""])
        lines.append(f'kernel start_ns={rng.randrange(1, 2**60)} duration_ns={rng.randrange(2**40)} name="{name}"')
    lines.append("chunk pid=1")
    for i in range(300):  # runs
        lines.append(f'kernel start_ns={i // 50 + 1} duration_ns={i // 100} name="run{i // 60}"')
    lines += ['kernel start_ns=5 duration_ns=3 name=#4000', 'end time_ns=9 reason=1']
    return "\n".join(lines) + "\n"


def run(*command, data=None):
    return subprocess.run(command, input=data, stdout=subprocess.PIPE, check=True).stdout


def kernels_of_dump(dump):
    kernels = collections.defaultdict(lambda: [0, 0])
    for line in dump.decode().splitlines():
        if line.startswith("kernel "):
            name = re.search(r' name=(?:"((?:[^"\\]|\\.)*)"|#(\d+))', line)
            key = f"<name #{name[2]}>" if name[2] else name[1].replace('\\"', '"')
            duration = re.search(r" duration_ns=(\d+)", line)
            kernels[key][0] += 1
            kernels[key][1] += int(duration[1]) if duration else 0
    return {name: tuple(v) for name, v in kernels.items()}


def kernels_of_example(output):
    lines = output.decode().splitlines()[1:]
    return {m[3]: (int(m[2]), int(m[1])) for m in (re.match(r" *(\d+) +(\d+)  (.*)", line) for line in lines)}


class ReadTrace(unittest.TestCase):
    def check(self, trace):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "run.trace")
            with open(path, "wb") as file:
                file.write(trace)
            environment = dict(os.environ, PYTHONIOENCODING="utf-8")
            output = subprocess.run([sys.executable, READ_TRACE, path], stdout=subprocess.PIPE, check=True,
                                    env=environment).stdout
            expected = kernels_of_dump(run(DUMP, path))
        self.assertEqual(kernels_of_example(output), expected)
        return expected

    def test_agrees_with_the_reader(self):
        kernels = self.check(run(ASSEMBLE, data=text_of_a_trace().encode()))
        self.assertEqual(kernels["even"], (300, 2100))
        self.assertEqual(kernels["<name #4000>"], (1, 3))
        self.assertEqual(len(kernels), 12)

    def test_agrees_about_damaged_traces(self):
        trace = bytearray(run(ASSEMBLE, data=text_of_a_trace().encode()))
        whole = self.check(bytes(trace))
        second = trace.find(b"\xa9gprof", len(trace) // 2)
        trace[second + 120] ^= 0xFF
        trace[0:0] = b"garbage"
        damaged = self.check(bytes(trace))
        self.assertNotEqual(whole, damaged)

    def run_on_compressed(self, *modules):
        """The example on a compressed trace, with these modules to be found before those that are installed."""
        text = "chunk pid=1 zstd=1\n" + "".join(f'kernel start_ns={10 * i} duration_ns=7 name="k"\n' for i in range(300))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "run.trace")
            with open(path, "wb") as file:
                file.write(run(ASSEMBLE, data=text.encode()))
            self.assertIn(b" zstd=1", run(DUMP, path))
            for name, code in modules:
                with open(os.path.join(folder, name + ".py"), "w", encoding="utf-8") as file:
                    file.write(code)
            return subprocess.run([sys.executable, "-B", READ_TRACE, path], capture_output=True, check=False,
                                  env=dict(os.environ, PYTHONPATH=folder))

    def test_says_what_compressed_traces_need(self):
        done = self.run_on_compressed(("compression", "raise ImportError"), ("zstandard", "raise ImportError"))
        self.assertEqual((done.returncode, done.stdout), (1, b""))
        self.assertEqual(done.stderr.count(b"\n"), 1)
        self.assertIn(b"pip install zstandard", done.stderr)

    def test_hands_compressed_bodies_to_the_module(self):
        """A double of it: what it is given is a zstd frame, and what it answers is read as the body."""
        double = ("class ZstdDecompressor:\n"
                  "    def decompress(self, body, max_output_size):\n"
                  "        assert body[:4] == bytes.fromhex('28b52ffd') and max_output_size > len(body)\n"
                  "        return b''\n")
        done = self.run_on_compressed(("compression", "raise ImportError"), ("zstandard", double))
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertEqual(len(done.stdout.splitlines()), 1)

    def test_reads_compressed_traces_where_the_module_is(self):
        try:
            import zstandard  # noqa: F401
        except ImportError:
            self.skipTest("the module zstandard is not installed")
        done = self.run_on_compressed()
        self.assertEqual(kernels_of_example(done.stdout), {"k": (300, 2100)})

    def rows_of_kind(self, text, kind):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "run.trace")
            with open(path, "wb") as file:
                file.write(run(ASSEMBLE, data=text.encode()))
            output = run(sys.executable, READ_TRACE, path, str(kind)).decode()
        return [line.split() for line in output.splitlines()]

    def test_reads_the_bytes_of_payloads(self):
        rows = self.rows_of_kind('nvtx_payload time_ns=9 tid=7 domain=1 schema=16777217 event=2 data="\\x00\\xffA"\n'
                                 "nvtx_payload time_ns=10 tid=7 domain=1 schema=16777218 event=1\n", 34)
        self.assertEqual(rows, [["1", "9", "7", "1", "0", "16777217", "2", "00ff41"],
                                ["1", "10", "7", "1", "0", "16777218", "1", "-"]])

    def test_reads_captures_of_every_process(self):
        rows = self.rows_of_kind("capture time_ns=5 event=1 trigger=4 number=1\ncapture time_ns=8 event=2 number=1\n"
                                 "chunk pid=3\ncapture time_ns=6 event=1 trigger=6 number=1\n", 26)
        self.assertEqual(rows, [["1", "5", "1", "4", "1"], ["1", "8", "2", "0", "1"], ["3", "6", "1", "6", "1"]])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
