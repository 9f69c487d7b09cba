"""The arithmetic of the page (*.test.ts), run by Node."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
SKIP = 77
NODE = shutil.which("node") or shutil.which("nodejs")
ESBUILD = shutil.which("esbuild")


class Maths(unittest.TestCase):
    def run_with_node(self, name):
        with tempfile.TemporaryDirectory() as work:
            script = pathlib.Path(work) / "test.js"
            subprocess.run([ESBUILD, HERE / name, "--bundle", "--platform=node", "--target=es2021", "--log-level=warning",
                            f"--outfile={script}"], check=True, timeout=300)
            done = subprocess.run([NODE, script], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"^[1-9]\d* tests passed\n$")

    def test_all_pass(self):
        for path in sorted(HERE.glob("*.test.ts")):
            with self.subTest(path.name):
                self.run_with_node(path.name)


if __name__ == "__main__":
    for name, found in (("node (Debian: nodejs)", NODE), ("esbuild", ESBUILD)):
        if not found:
            print(f"skipped: no {name}")
            sys.exit(SKIP)
    unittest.main()
