"""The arithmetic of the page (maths.test.ts), run by Node."""

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
    def test_all_pass(self):
        with tempfile.TemporaryDirectory() as work:
            script = pathlib.Path(work) / "maths.js"
            subprocess.run([ESBUILD, HERE / "maths.test.ts", "--bundle", "--platform=node", "--target=es2021", "--log-level=warning",
                            f"--outfile={script}"], check=True, timeout=300)
            done = subprocess.run([NODE, script], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"^[1-9]\d* tests passed\n$")


if __name__ == "__main__":
    for name, found in (("node (Debian: nodejs)", NODE), ("esbuild", ESBUILD)):
        if not found:
            print(f"skipped: no {name}")
            sys.exit(SKIP)
    unittest.main()
