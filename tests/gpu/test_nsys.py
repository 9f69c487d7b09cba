"""Nsight Systems and we, on the same program in the same minute: equal counts, kernel time within 1 %."""

import collections
import re
import statistics
import unittest

import nsys
import recorded
import support

ROUNDS = 3
TOLERANCE = 0.01
LONG_NS = 1_000_000  # times below are too short for a tolerance of one percent


def short_name(mangled):
    """`SaxpyKernel` of `_ZN5gprof7kernels11SaxpyKernelEfPKfPfm`: the names of our kernels are simple."""
    return re.search(r"\d([A-Z][A-Za-z]*Kernel)E", mangled).group(1)


def kernels(records):
    """{short name: [ns, ...]}"""
    found = collections.defaultdict(list)
    for kernel in records["kernel"]:
        found[short_name(kernel["name"])].append(kernel["duration_ns"])
    return found


def copies(records):
    counts, sizes = collections.Counter(), collections.Counter()
    for copy in records["memcpy"]:
        counts[copy["copy_kind"]] += 1
        sizes[copy["copy_kind"]] += copy["size_bytes"]
    return {kind: (counts[kind], sizes[kind]) for kind in counts}


@unittest.skipUnless(nsys.find(), "Nsight Systems was not found (GPROF_TEST_NSYS names it)")
class Nsys(support.GpuTest):
    def ours(self, name, *arguments):
        self.example(name, *arguments)
        return recorded.Records.of(self.trace)

    def check_counts(self, records, capture):
        ours, theirs = kernels(records), capture.kernels()
        self.assertEqual({name: len(times) for name, times in ours.items()},
                         {name: len(times) for name, times in theirs.items()})
        self.assertEqual(copies(records), capture.copies())
        fills = records["memset"]
        self.assertEqual((len(fills), sum(fill["size_bytes"] for fill in fills)), capture.fills())
        self.assertEqual(len(records["graph_launch"]), capture.graphs())
        events = collections.Counter(event["event"] for event in records["nvtx"])
        theirs = capture.nvtx()
        self.assertEqual((events[recorded.NVTX_MARK], events[recorded.NVTX_PUSH], events[recorded.NVTX_START]),
                         (theirs[nsys.MARK], theirs[nsys.NVTX_PUSH_POP], theirs[nsys.NVTX_START_END]))

    def compare(self, name, *arguments, timed=None):
        """Both take turns. `timed`: kernel whose time is compared, by the median of its long launches in all rounds."""
        our_ns, their_ns = [], []
        for _ in range(ROUNDS if timed else 1):
            records = self.ours(name, *arguments)
            with nsys.Capture(nsys.find(), self.folder, support.EXAMPLES / name, *arguments) as capture:
                self.check_counts(records, capture)
                if timed:
                    our_ns += [time for time in kernels(records)[timed] if time > LONG_NS]
                    their_ns += [time for time in capture.kernels()[timed] if time > LONG_NS]
        if timed:
            ratio = statistics.median(our_ns) / statistics.median(their_ns)
            print(f"{timed}: {our_ns} ns, nsys {their_ns} ns, ratio of the medians {ratio:.5f}")
            self.assertEqual(len(our_ns), len(their_ns))
            self.assertAlmostEqual(ratio, 1, delta=TOLERANCE)

    def test_known_facts(self):
        self.compare("known_facts", timed="SpinKernel")

    def test_streams(self):
        self.compare("normalise_v3_streams")

    def test_many_small_copies(self):
        self.compare("many_small_copies")


if __name__ == "__main__":
    support.main()
