"""Puts reports of recorded traces into the pages that ask for one and have none yet.

A page asks with a line `<!-- report: gprof-cli report tests/data/NAME.trace -->`. Where the trace is there, this
adds the code block that tests/hygiene/test_reports.py --update fills. Run it after new traces were copied here:

    GPROF_TEST_BUILD=build/release python3 tests/data/fill_reports.py
"""

import os
import pathlib
import re
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
ASKED = re.compile(r"^(<!-- report: gprof-cli report (tests/data/\S+\.trace)[^\n]* -->\n)(?!```)", re.M)


def add_blocks(page):
    """True when the page was changed."""
    text = page.read_text(encoding="utf-8")
    filled = ASKED.sub(lambda match: match.group(1) + "```text\n```\n" if (SOURCE / match.group(2)).is_file()
                       else match.group(0), text)
    if filled == text:
        return False
    page.write_text(filled, encoding="utf-8")
    return True


def main():
    for page in [SOURCE / "README.md", *(SOURCE / "docs").rglob("*.md"), *(SOURCE / "examples").rglob("*.md")]:
        if add_blocks(page):
            print("added to", page.relative_to(SOURCE))
    update = SOURCE / "tests" / "hygiene" / "test_reports.py"
    build = os.environ.get("GPROF_TEST_BUILD", str(SOURCE / "build" / "release"))
    environment = {**os.environ, "GPROF_BUILD_DIR": build}
    sys.exit(subprocess.run([sys.executable, update, "--update"], env=environment).returncode)


if __name__ == "__main__":
    main()
