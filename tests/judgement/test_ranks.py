"""Is the late rank named, with its reason? Jobs whose delays are known (rank_labels.json), made anew and given to `ranks`.

    GPROF_TEST_BUILD=build/release python3 -B tests/judgement/test_ranks.py        # prints what was missed, too

A label is strict: the finding has to be one of `first` and its message has to have every word of `says`; with `among`, the
words may be spread over so many findings. `wrong` may not be among the first three.
"""

import concurrent.futures
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import rank_jobs

HERE = pathlib.Path(__file__).parent
BUILD = pathlib.Path(os.environ.get("GPROF_TEST_BUILD", "build/release"))
CLI, ASSEMBLE = (BUILD / "bin/gprof-cli").resolve(), (BUILD / "tests/bin/assemble_trace").resolve()
RIGHT_AMONG_THREE, RIGHT_FIRST, MISLEADING = 95, 85, 2  # percent


def findings_of(job, folder):
    rank_jobs.write(folder, ASSEMBLE, job)
    done = subprocess.run([CLI, "ranks", folder, "--format", "json", "--workers", "1"], capture_output=True, text=True, timeout=240, check=True)
    return json.loads(done.stdout)["findings"]


def text_of(finding):
    return " ".join([finding["message"], *finding.get("evidence", [])])


def is_right(job, findings):
    if job["first"] == ["none"]:
        return not findings
    named = [finding for finding in findings if finding["id"] in job["first"]]
    texts = [" ".join(map(text_of, named))] if job.get("among") else [text_of(finding) for finding in named]
    return any(all(word in text for word in job["says"]) for text in texts)


def judge(job):
    with tempfile.TemporaryDirectory(prefix="gprof-job-") as folder:
        findings = findings_of(job, pathlib.Path(folder))
    told = [finding for finding in findings if finding["id"] not in job["also"]]
    wrong = [finding["id"] for finding in findings[:3] if finding["id"] in job["wrong"]]
    return is_right(job, told[: job.get("among", 1)]), is_right(job, findings[:3]), wrong, findings


class Ranks(unittest.TestCase):
    def test_known_delays(self):
        jobs = json.loads((HERE / "rank_labels.json").read_text(encoding="utf-8"))
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            verdicts = list(pool.map(judge, jobs))
        for job, (first, three, wrong, findings) in zip(jobs, verdicts):
            if not first or wrong:
                print(f"\n{job['name']}: first {first}, three {three}, wrong {wrong}")
                for finding in findings[:3]:
                    print(f"   {finding['id']}: {finding['message']}")
        first, three, wrong = (100 * sum(map(bool, column)) / len(jobs) for column in list(zip(*verdicts))[:3])
        print(f"\n{len(jobs)} jobs: right first {first:.0f} %, among three {three:.0f} %, misleading {wrong:.0f} %")
        self.assertGreaterEqual(first, RIGHT_FIRST)
        self.assertGreaterEqual(three, RIGHT_AMONG_THREE)
        self.assertLessEqual(wrong, MISLEADING)


if __name__ == "__main__":
    unittest.main()
