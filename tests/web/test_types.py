"""The page's TypeScript: it has no type errors, makes no elements of text, and asks no network."""

import pathlib
import re
import shutil
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
WEB = ROOT / "src" / "web"
SKIP = 77
MOST_LINES = 400

# What could make a name of a trace into an element or a script, or ask something of the network.
FORBIDDEN = re.compile(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function\(|\bfetch\(|XMLHttpRequest|WebSocket|"
                       r"importScripts|createContextualFragment|DOMParser|\.setAttribute\(\"(?:style|on\w+)\"|setTimeout\(\"")


class Types(unittest.TestCase):
    def test_the_compiler_has_nothing_to_say(self):
        done = subprocess.run([TSC, "-p", WEB], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.stdout + done.stderr, "")
        self.assertEqual(done.returncode, 0)

    def test_text_stays_text(self):
        for path in sorted(WEB.rglob("*.ts")):
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                self.assertIsNone(FORBIDDEN.search(line), f"{path.relative_to(WEB)}:{number}: {line.strip()}")

    def test_modules_are_small(self):
        for path in sorted(WEB.rglob("*.ts")):
            self.assertLessEqual(path.read_text(encoding="utf-8").count("\n"), MOST_LINES, path.name)

    def test_every_kind_and_cause_has_a_colour(self):
        style = (WEB / "style.css").read_text(encoding="utf-8")
        kinds = re.search(r"EVENT_KINDS = \[(.*?)\]", (WEB / "shared" / "data.ts").read_text(encoding="utf-8"), re.DOTALL).group(1)
        kinds = re.findall(r'"(\w+)"', re.sub(r"//.*", "", kinds))
        causes = re.findall(r'"(\w+)"', re.search(r"CAUSES = \[(.*?)\]", (WEB / "shared" / "labels.ts").read_text(encoding="utf-8"), re.DOTALL).group(1))
        self.assertGreater(len(kinds), 20)
        self.assertGreater(len(causes), 10)
        for name in [f"--kind-{kind.replace('_', '-')}" for kind in kinds] + [f"--cause-{cause}" for cause in causes]:
            self.assertIn(f"{name}:", style)


if __name__ == "__main__":
    TSC = shutil.which("tsc")
    if not TSC:
        print("skipped: no tsc (Debian: node-typescript)")
        sys.exit(SKIP)
    unittest.main()
