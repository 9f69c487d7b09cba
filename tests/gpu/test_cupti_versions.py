"""The facts of a program are the same with every libcupti that is there: the toolkit's, and those of Python wheels."""

import glob
import os
import pathlib
import sys
import sysconfig

import facts
import recorded
import support

# NVIDIA's wheels since CUDA 13 share one folder; before, every library had its own.
FOLDERS = ("nvidia/cuda_cupti/lib", "nvidia/cu13/lib", "nvidia/cu12/lib")


def copies():
    """Every libcupti that can be named, by its file; links to the same file are one."""
    roots = [*sys.path, sysconfig.get_paths()["purelib"], *os.environ.get("GPROF_TEST_CUPTI", "").split(":")]
    patterns = [f"{root}/{folder}/libcupti.so.*" for root in filter(None, roots) for folder in (*FOLDERS, "", "*/lib")]
    patterns += ["/usr/local/cuda*/targets/*/lib/libcupti.so.*", "/usr/local/cuda*/extras/CUPTI/lib64/libcupti.so.*"]
    found = {}
    for path in (path for pattern in patterns for path in glob.glob(pattern)):
        found[os.path.realpath(path)] = path
    return sorted(found)


class CuptiVersions(support.GpuTest):
    def check(self, cupti):
        path = self.folder / "facts.json"
        self.example("known_facts", "--facts", path, options=["--cupti", cupti])
        known, records = facts.Facts(support.read_json(path)), recorded.Records.of(self.trace)
        processes = [r for r in records["process"] if r["cupti_path"]]
        self.assertEqual(pathlib.Path(processes[-1]["cupti_path"]).resolve(), pathlib.Path(cupti).resolve())
        self.assertEqual(facts.differences(known, records), [])
        self.assertEqual(facts.report_differences(known, recorded.Report.of(self.trace)), [])
        return processes[-1]["cupti_version"]

    def test_every_libcupti(self):
        if not copies():
            self.skipTest("there is no libcupti with a name")
        versions = {}
        for cupti in copies():
            with self.subTest(cupti=cupti):
                versions[cupti] = self.check(cupti)
        print("versions:", versions)


if __name__ == "__main__":
    support.main()
