"""The comparison of facts with records finds nothing where they agree, and every single difference. Needs no GPU."""

import copy
import unittest

import facts
import recorded
import soak

DUMP = """\
chunk kind=context pid=7 host=5 start_ticks=3
context context=1 null_stream=7
stream created_ns=5 context=1 stream=13 handle=4096
stream context=1 stream=13 priority=-5 is_non_blocking=1
stream context=1 stream=8 is_non_blocking=1
api tid=70 function="cudaLaunchKernel" domain=1
api tid=70 function="cudaLaunchKernel" domain=1
api tid=70 function="cudaMemcpy" domain=1
api tid=70 function="cudaGraphLaunch" domain=1
api tid=70 function="cudaStreamSynchronize" domain=1
api tid=70 function="cuLaunchKernel" domain=2
kernel context=1 stream=13 name="_ZN5gprof7kernels11EmptyKernelEv" shape={SHAPE grid_x=3 block_x=32}
kernel context=1 stream=7 name="_ZN5gprof7kernels10FillKernelEPfmf" shape={SHAPE grid_x=1 block_x=256}
memcpy size_bytes=100 copy_kind=1 source_memory=2 destination_memory=3 is_async=1
memcpy size_bytes=50 copy_kind=8 source_memory=5 destination_memory=3
memset size_bytes=10 memory=3
graph_launch stream=13
sync sync_kind=3
nvtx_domain domain=2 name="facts"
nvtx_category domain=2 category=7 name="checked"
nvtx event=2 domain=2 message="inner" color=255
nvtx event=3 domain=2
nvtx event=4 message="span" range=1
nvtx event=5 range=1
nvtx event=1 message="mark" payload_type=2 payload=9
nvtx_name object=1 handle=70 name="worker"
nvtx_name object=4 handle=4096 name="named"
""".replace("SHAPE", "grid_y=1 grid_z=1 block_y=1 block_z=1")

FACTS = {
    "api": {"cudaLaunchKernel": {"count": 2}, "cudaMemcpy": {"count": 1}, "cudaGraphLaunch": {"count": 1},
            "cudaStreamSynchronize": {"count": 1}},
    "api_queries": {"cudaGetDevice": {"count": 4}},
    "graphs": {"launches": {"count": 1}, "kernel_nodes": {"count": 2}, "memset_nodes": {"count": 1, "bytes": 8}},
    "kernels": {"EmptyKernel": {"count": 1}, "FillKernel": {"count": 1}},
    "memcpy": {"h2d/pinned/device/async": {"count": 1, "bytes": 100},
               "any/managed/device/sync": {"count": 1, "bytes": 50}},
    "memset": {"device/any": {"count": 1, "bytes": 10}},
    "nvtx": {"push_pop": {"count": 1}, "start_end": {"count": 1}, "mark": {"count": 1}},
    "nvtx_categories": {"facts|checked": {"count": 1}},
    "nvtx_colors": {"255": {"count": 1}},
    "nvtx_marks": {"|mark": {"count": 1}},
    "nvtx_payload_types": {"2": {"count": 1}},
    "nvtx_ranges": {"facts|inner": {"count": 1}},
    "nvtx_start_end": {"|span": {"count": 1}},
    "shapes": {"3x1x1/32x1x1/0": {"count": 1}},
    "streams": {"named": {"created": 1, "non_blocking": 1, "priority": -5, "kernels": 1}, "default": {"kernels": 1}},
    "syncs": {"stream": {"count": 1}},
    "thread_names": {"worker": {"count": 1}},
    "threads": {"worker": {"launches": 2}},
}
# What a program cannot miss in a trace of whole graphs, or the comparison reads only together with something else.
NOT_COMPARED = {("api_queries", "cudaGetDevice", "count"), ("graphs", "kernel_nodes", "count"),
                ("graphs", "memset_nodes", "count"), ("graphs", "memset_nodes", "bytes")}


def compare(sections, dump=DUMP):
    known = facts.Facts({"schema": "gprof.facts/1", "program": "none", "facts": sections})
    return facts.all_differences(known, recorded.Records(dump))


class Comparison(unittest.TestCase):
    def test_nothing_where_they_agree(self):
        self.assertEqual(compare(FACTS), [])

    def test_every_fact_matters(self):
        for section, items in FACTS.items():
            for item, fields in items.items():
                for field in fields:
                    with self.subTest(section=section, item=item, field=field):
                        changed = copy.deepcopy(FACTS)
                        changed[section][item][field] += 1
                        if (section, item, field) in NOT_COMPARED:
                            self.assertEqual(compare(changed), [])
                        else:
                            self.assertNotEqual(compare(changed), [])

    def test_every_record_matters(self):
        lines = DUMP.splitlines(keepends=True)
        for number, line in enumerate(lines):
            # Neither the chunk nor what the driver does for itself are facts.
            if not line.startswith("chunk") and "cuLaunchKernel" not in line and "stream=8" not in line:
                with self.subTest(line=line):
                    self.assertNotEqual(compare(FACTS, "".join(lines[:number] + lines[number + 1:])), [])

    def test_an_unknown_copy_is_a_difference(self):
        more = DUMP + "memcpy size_bytes=1 copy_kind=2 source_memory=3 destination_memory=1\n"
        self.assertNotEqual(compare(FACTS, more), [])

    def test_graph_nodes_are_kernels_and_fills(self):
        node = 'kernel context=1 stream=13 graph=4 name="_ZN5gprof7kernels11EmptyKernelEv"\n'
        dump = DUMP.replace("graph_launch stream=13\n", 2 * node + "memset size_bytes=8 memory=3 is_async=1\n")
        sections = copy.deepcopy(FACTS)
        sections["memset"]["device/async"] = {"count": 0, "bytes": 0}
        known = facts.Facts({"schema": "gprof.facts/1", "program": "none", "facts": sections})
        self.assertEqual(facts.differences(known, recorded.Records(dump), has_graph_nodes=True), [])
        self.assertNotEqual(facts.differences(known, recorded.Records(DUMP), has_graph_nodes=True), [])

    def test_queries_count_when_asked_for(self):
        known = facts.Facts({"schema": "gprof.facts/1", "program": "none", "facts": FACTS})
        dump = DUMP + 4 * 'api tid=70 function="cudaGetDevice" domain=1\n'
        self.assertEqual(facts.differences(known, recorded.Records(dump), has_queries=True), [])
        self.assertNotEqual(facts.differences(known, recorded.Records(dump)), [])

    def test_quoted_text_is_read(self):
        records = recorded.Records('nvtx event=1 message="a \\"b\\" c=1 \\\\ \\x07 \u00e9"\n# damaged chunks: 2\n')
        self.assertEqual(records["nvtx"][0]["message"], 'a "b" c=1 \\ \x07 \u00e9')
        self.assertEqual(records.problems, ["damaged chunks: 2"])

    def test_function_names_lose_their_version(self):
        for name in ("cudaMemcpyAsync", "cudaMemcpyAsync_v3020", "cudaMemcpyAsync_ptsz_v7000", "cudaMemcpyAsync_ptsz"):
            self.assertEqual(recorded.function({"function": name}), "cudaMemcpyAsync")
        self.assertEqual(recorded.function({"function": "__cudaLaunchKernel_v13000"}), "cudaLaunchKernel")


class Soak(unittest.TestCase):
    """What the soak test compares: the counts of workers with the records of their processes."""

    DUMP = ["chunk kind=kernel pid=7", "kernel start_ns=1", "kernel start_ns=2", "chunk kind=nvtx pid=8",
            'nvtx event=2 message="round"', 'nvtx event=2 message="other"', "chunk kind=memset pid=8", "memset start_ns=5",
            "chunk kind=api pid=9", 'api start_ns=1 function="cudaLaunchKernel" domain=1', "kernel start_ns=7"]

    def told(self, pid, end, counts, due=None, what="Load"):
        return {"pid": pid, "end": end, "what": what, "counts": counts, "due": counts if due is None else due}

    def differences(self, dump, kernels_due=2):
        workers = [self.told(7, "kill", {"kernel": 2}, {"kernel": kernels_due}), self.told(8, "_exit", {"push": 1}),
                   self.told(8, "return", {"memset": 1}), self.told(9, "return", {}, what="Training")]  # 8 came again
        found, calls, unwritten, losses = soak.recorded(dump)
        self.assertEqual((unwritten, losses), ({}, []))
        return soak.differences(workers, found, calls)

    def test_equal(self):
        self.assertEqual(self.differences(self.DUMP), ([], 0))

    def test_every_difference(self):
        for line, kind in ((1, "kernel"), (4, "push"), (7, "memset"), (9, "kernel"), (10, "kernel")):
            wrong, _ = self.differences(self.DUMP[:line] + self.DUMP[line + 1:])
            self.assertEqual([(w["kind"], abs(w["done"] - w["recorded"])) for w in wrong], [(kind, 1)])
        self.assertEqual([w["recorded"] for w in self.differences(self.DUMP + self.DUMP[-1:])[0]], [2])
        self.assertEqual(len(self.differences([])[0]), 3)

    def test_last_work_of_a_killed_worker_is_counted_apart(self):
        without_one = self.DUMP[:1] + self.DUMP[2:]
        self.assertEqual(self.differences(without_one, kernels_due=1), ([], 1))
        self.assertEqual(len(self.differences(self.DUMP[:1] + self.DUMP[3:], kernels_due=1)[0]), 1)

    def test_losses(self):
        _, _, unwritten, losses = soak.recorded(["# chunk 3 is damaged", "loss time_ns=1 reason=3 count=4", "chunk pid=7",
                                                 "loss time_ns=1 reason=2 lost_kind=19 count=5"])
        self.assertEqual((len(losses), unwritten), (2, {7: {"nvtx": 5}}))


if __name__ == "__main__":
    unittest.main(verbosity=2)
