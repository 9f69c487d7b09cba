"""Trace Event JSON as other programs and other years write it: what gprof-cli makes of each.

usage: made_json_test.py GPROF_CLI
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

GPROF_CLI = sys.argv[1]

KERNEL = ('{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":20,"dur":5,'
          '"args":{"device":0,"context":1,"stream":7,"correlation":1}}')
CALL = '{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":99,"tid":99,"ts":10,"dur":3,"args":{"correlation":1}}'
LAUNCHED = {"kernels": 1, "api_calls": 1, "threads": 1, "streams": 1, "contexts": 1}
RANGES = {"threads": 1}


def both(kernel=KERNEL, call=CALL):
    return f"[{kernel},{call}]"


# name: (text, what info counts, are its records all there)
CASES = {
    "categories of PyTorch 1.9": (both(KERNEL.replace('"kernel"', '"Kernel"'), CALL.replace('"cuda_runtime"', '"Runtime"')), LAUNCHED, True),
    "copies of PyTorch 1.9": (
        '{"traceEvents":[{"ph":"X","cat":"Memcpy","name":"Memcpy HtoD (Pageable -> Device)","pid":0,"tid":"stream 7","ts":20,"dur":5,'
        '"args":{"device":0,"context":1,"stream":7,"correlation":1,"bytes":64}},{"ph":"X","cat":"Memset","name":"Memset (Device)","pid":0,'
        '"tid":"stream 7","ts":30,"dur":5,"args":{"device":0,"context":1,"stream":7,"bytes":64,"correlation":2}},'
        '{"ph":"X","cat":"Operator","name":"aten::mm","pid":1,"tid":"1","ts":1,"dur":50}]}',
        {"copies": 1, "memsets": 1, "nvtx_ranges": 1, "threads": 1, "streams": 1, "contexts": 1}, True),
    "times as texts": (both(KERNEL.replace('"dur":5', '"dur":"5.5"').replace('"ts":20', '"ts":"20.25"')), LAUNCHED, True),
    "no duration": (both(KERNEL.replace('"dur":5,', "")), LAUNCHED, True),
    "a negative duration": (both(KERNEL.replace('"dur":5', '"dur":-5')), {"api_calls": 1, "threads": 1}, False),
    "pids as texts": (both(call=CALL.replace('"pid":99', '"pid":"99"').replace('"tid":99', '"tid":"thread 99"')), LAUNCHED, True),
    "a byte order mark": ("\ufeff" + both(), LAUNCHED, True),
    "an array without its end": (f"[{KERNEL},\n{CALL},", LAUNCHED, True),
    "numbers that JSON has not": ('{"x":NaN,"traceEvents":%s,"y":-Infinity}' % both(KERNEL.replace('"stream":7,', '"stream":7,"occupancy":NaN,')),
                                  LAUNCHED, True),
    "an integer of 30 digits": (both(call=CALL.replace('"correlation":1}', '"correlation":1,"x":123456789012345678901234567890}')), LAUNCHED, True),
    "functions of AMD": (both(call=CALL.replace("cudaLaunchKernel", "hipLaunchKernel")), LAUNCHED, True),
    "arrows in place of correlations": (
        '[%s,%s,{"ph":"s","id":1,"pid":99,"tid":99,"ts":10,"cat":"ac2g","name":"ac2g"},'
        '{"ph":"f","id":1,"pid":0,"tid":7,"ts":20,"cat":"ac2g","name":"ac2g","bp":"e"}]'
        % (KERNEL.replace(',"correlation":1', ""), CALL.replace('"correlation":1', "")), LAUNCHED, True),
    "begin and end": ('[{"ph":"B","name":"f","pid":1,"tid":1,"ts":1},{"ph":"B","name":"g","pid":1,"tid":1,"ts":2},'
                      '{"ph":"E","pid":1,"tid":1,"ts":3},{"ph":"E","pid":1,"tid":1,"ts":9}]', {"nvtx_ranges": 2, **RANGES}, True),
    "async events": ('[{"ph":"b","cat":"c","id":"0x1","name":"f","pid":1,"tid":1,"ts":1},'
                     '{"ph":"n","cat":"c","id":"0x1","name":"f","pid":1,"tid":1,"ts":2},'
                     '{"ph":"e","cat":"c","id":"0x1","name":"f","pid":1,"tid":1,"ts":9}]', {"nvtx_ranges": 1, **RANGES}, True),
    "DevTools": ('{"traceEvents":[{"pid":1,"tid":2,"ts":500,"ph":"X","cat":"devtools.timeline","name":"RunTask","dur":40,"tdur":30,"tts":3,'
                 '"args":{}},{"pid":1,"tid":2,"ts":600,"ph":"I","s":"t","name":"m","args":{}},{"name":"n","ph":"C","pid":1,"ts":5,'
                 '"args":{"v":1}}],"metadata":{"source":"DevTools"}}', {"nvtx_ranges": 1, "nvtx_marks": 1, **RANGES}, True),
    "an empty array": ("[]", {}, True),
    "no events": ('{"traceEvents":[]}', {}, True),
}


class MadeJson(unittest.TestCase):
    def ask(self, command, text):
        with tempfile.TemporaryDirectory(prefix="gprof-made-") as folder:
            path = pathlib.Path(folder) / "made.json"
            path.write_text(text, encoding="utf-8")
            return subprocess.run([GPROF_CLI, command, path, "--format", "json"], capture_output=True, text=True, timeout=60)

    def test_what_is_read(self):
        for name, (text, contents, is_complete) in CASES.items():
            with self.subTest(name):
                done = self.ask("info", text)
                self.assertEqual(done.returncode, 0, done.stderr)
                info = json.loads(done.stdout)
                self.assertEqual({kind: count for kind, count in info["contents"].items() if count}, contents)
                self.assertEqual(info["health"]["complete"], is_complete)
                self.assertEqual(self.ask("report", text).returncode, 0)

    def test_launches_are_linked(self):
        for name, (text, contents, _) in CASES.items():
            if contents == LAUNCHED:
                with self.subTest(name):
                    metrics = {row["id"]: row["value"] for row in json.loads(self.ask("report", text).stdout)["metrics"] if not row["scope"]}
                    self.assertEqual(metrics["launches.count"], 1)

    def test_other_json_is_refused(self):
        for text in ("{}", '{"a":1}', "5", '"text"'):
            done = self.ask("info", text)
            self.assertEqual(done.returncode, 3, text)
            self.assertIn("hint:", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
