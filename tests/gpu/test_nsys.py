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


def short_name(mangled):
    """`SaxpyKernel` of `_ZN5gprof7kernels11SaxpyKernelEfPKfPfm`: the names of our kernels are simple."""
    return re.search(r"([A-Z]\w*?Kernel)E", mangled).group(1)


def kernels(records):
    counts, totals = collections.Counter(), collections.Counter()
    for kernel in records["kernel"]:
        name = short_name(kernel["name"])
        counts[name] += 1
        totals[name] += kernel["duration_ns"]
    return {name: (counts[name], totals[name]) for name in counts}


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
        self.assertEqual({name: count for name, (count, _) in ours.items()},
                         {name: count for name, (count, _) in theirs.items()})
        self.assertEqual(copies(records), capture.copies())
        fills = records["memset"]
        self.assertEqual((len(fills), sum(fill["size_bytes"] for fill in fills)), capture.fills())
        self.assertEqual(len(records["graph_launch"]), capture.graphs())
        events = collections.Counter(event["event"] for event in records["nvtx"])
        theirs = capture.nvtx()
        self.assertEqual((events[recorded.NVTX_MARK], events[recorded.NVTX_PUSH], events[recorded.NVTX_START]),
                         (theirs[nsys.MARK], theirs[nsys.NVTX_PUSH_POP], theirs[nsys.NVTX_START_END]))

    def compare(self, name, *arguments, timed=None):
        """Both take turns. `timed`: kernel whose total time is compared, by the median of the rounds."""
        our_ns, their_ns = [], []
        for _ in range(ROUNDS if timed else 1):
            records = self.ours(name, *arguments)
            with nsys.Capture(nsys.find(), self.folder, support.EXAMPLES / name, *arguments) as capture:
                self.check_counts(records, capture)
                if timed:
                    our_ns.append(kernels(records)[timed][1])
                    their_ns.append(capture.kernels()[timed][1])
        if timed:
            ratio = statistics.median(our_ns) / statistics.median(their_ns)
            print(f"{timed}: {our_ns} ns, nsys {their_ns} ns, ratio of the medians {ratio:.5f}")
            self.assertAlmostEqual(ratio, 1, delta=TOLERANCE)

    def test_known_facts(self):
        self.compare("known_facts", timed="SpinKernel")

    def test_streams(self):
        self.compare("normalise_v3_streams")

    def test_many_small_copies(self):
        self.compare("many_small_copies")


if __name__ == "__main__":
    support.main()
