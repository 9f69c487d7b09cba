"""Reports that the docs show are what the command prints. `--update` writes them anew.

A page marks them so:
    <!-- report: gprof-cli report tests/data/x.trace -->
    ```text
    what the command prints
    ```
The command is run by a shell in the root of the repository, with the gprof-cli that was built.
"""

import os
import re
import subprocess
import sys
import unittest

import tree

MARKED = re.compile(r"(^<!-- report: (?P<command>[^\n]*?) -->\n```text\n)(?P<shown>.*?)(^```$)", re.M | re.S)


def printed_by(command):
    environment = {**os.environ, "PATH": f"{tree.COMMAND.parent}:{os.environ.get('PATH', '')}", "LC_ALL": "C.UTF-8",
                   "COLUMNS": "80", "NO_COLOR": "1"}
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], cwd=tree.SOURCE, env=environment, text=True,
                          capture_output=True, stdin=subprocess.DEVNULL, timeout=280)
    if done.returncode != 0:
        raise RuntimeError(f"`{command}` failed with {done.returncode}: {done.stderr}")
    return done.stdout


def pages():
    return [name for name in tree.files(suffixes=(".md",)) if MARKED.search(tree.text(name))]


def update():
    for page in pages():
        text = MARKED.sub(lambda match: match.group(1) + printed_by(match.group("command")) + match.group(4), tree.text(page))
        (tree.SOURCE / page).write_text(text, encoding="utf-8")
        print("written:", page)


@unittest.skipUnless(tree.COMMAND.is_file(), "gprof-cli was not built")
class Reports(unittest.TestCase):
    maxDiff = None

    def test_the_docs_show_what_the_command_prints(self):
        for page in pages():
            for match in MARKED.finditer(tree.text(page)):
                with self.subTest(page=page, command=match.group("command")):
                    self.assertEqual(match.group("shown"), printed_by(match.group("command")))

    def test_the_readme_shows_a_report(self):
        shown = MARKED.search(tree.text("README.md"))
        self.assertIsNotNone(shown)
        self.assertGreater(len(shown.group("shown").splitlines()), 10)


if __name__ == "__main__":
    if sys.argv[1:] == ["--update"]:
        update()
    else:
        tree.main()
