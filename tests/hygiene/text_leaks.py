"""No machine leaks into the repository: paths of somebody's computer, registry hosts, addresses.

Looks at every file of the project, at the texts inside the recorded traces, and at the commit messages.
"""

import os
import re
import subprocess
import unittest

import tree

# Where Triton's published wheels were built, as the debug information of its library says: it stands in traces of its stacks.
PUBLISHED = r"\.triton/llvm/"
# Names that stand for "your home folder" in examples.
PLACEHOLDERS = r"(?:user|you|me|alice|bob|runner)\b"
LEAKS = {
    "a path of somebody's machine": re.compile(
        rf"(?<![\w.~$}}*/-])(?:/work/|/root/(?!{PUBLISHED})|/home/(?!{PLACEHOLDERS})\w|/Users/(?!{PLACEHOLDERS})\w|/mnt/\w|/tmp/bash_jobs)"),
    "the host of a package registry": re.compile(
        r"\b(?:pypi\.org|pythonhosted\.org|deb\.debian\.org|archive\.ubuntu\.com|registry\.npmjs\.org|artifactory|jfrog"
        r"|(?:extra-)?index-url)\b", re.I),
    "a host inside somebody's network": re.compile(r"\b[\w-]+\.(?:internal|corp|intranet|lan)\b(?!\w)"),
    "a network address": re.compile(
        r"(?<![\w.=-])(?:10\.\d{1,3}|172\.(?:1[6-9]|2\d|3[01])|192\.168|169\.254)\.\d{1,3}\.\d{1,3}(?![\w.])"),
}
# What every leak has in it: grep finds these in files and in the texts of traces in seconds, which the patterns above would not.
SUSPICIOUS = (r"/work/|/root/|/home/|/Users/|/mnt/|/tmp/bash_jobs|pypi|pythonhosted|debian\.org|ubuntu\.com|npmjs|artifactory|jfrog"
              r"|index-url|\.internal|\.corp|\.intranet|\.lan|10\.[0-9]+\.|172\.|192\.168|169\.254")
AT_A_TIME = 500
# This file spells what it looks for.
EXEMPT = {"tests/hygiene/text_leaks.py"}


def leaks(text):
    for meaning, pattern in LEAKS.items():
        for match in pattern.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            start, end = max(0, match.start() - 30), match.end() + 30
            yield f"{line}: {meaning}: {text[start:end]!r}"


def grep(*words, **options):
    """What it prints for what every leak has in it."""
    found = subprocess.run(["grep", "-aiE", *words], stdout=subprocess.PIPE, check=False, env={**os.environ, "LC_ALL": "C"}, **options)
    if found.returncode > 1:
        raise AssertionError(f"grep ends with {found.returncode}")
    return found.stdout.decode("utf-8", errors="replace")


def suspicious_lines_of(trace):
    with subprocess.Popen([tree.COMMAND, "dump", trace], stdout=subprocess.PIPE) as dump:
        return grep(SUSPICIOUS, stdin=dump.stdout)


def suspicious_files(names):
    for first in range(0, len(names), AT_A_TIME):
        yield from grep("-l", "-Z", SUSPICIOUS, "--", *names[first:first + AT_A_TIME], cwd=tree.SOURCE).split("\0")[:-1]


class Leaks(unittest.TestCase):
    def test_the_patterns_find_what_they_are_for(self):
        found = ["cd /work/x", "file:/root/.cache", "'/home/jane/x'", "https://pypi.org/simple", "at 10.1.2.3 now",
                 "db.internal"]
        self.assertEqual([text for text in found if not list(leaks(text))], [])
        self.assertEqual([text for text in found if not re.search(SUSPICIOUS, text, re.I)], [])
        fine = ["a/work/b", "/home/user/app", "version 12.0.0.61", "127.0.0.1", "$HOME/work/x", "nvidia-cuda==10.2.0.89"]
        self.assertEqual([text for text in fine if list(leaks(text))], [])

    def test_files_hold_no_machine_paths_or_hosts(self):
        found = []
        for name in suspicious_files(tree.files()):
            if name not in EXEMPT:
                text = (tree.SOURCE / name).read_bytes().decode("utf-8", errors="replace")
                found += [f"{name}:{leak}" for leak in leaks(text)]
        self.assertEqual(found, [])

    @unittest.skipUnless(tree.COMMAND.is_file(), "gprof-cli was not built")
    def test_recorded_traces_hold_no_machine_paths_or_hosts(self):
        found = []
        for name in tree.files("tests", "examples", suffixes=(".trace",)):
            found += [f"{name}:{leak}" for leak in leaks(suspicious_lines_of(tree.SOURCE / name))][:3]
        self.assertEqual(found, [])

    def test_commit_messages_hold_no_machine_paths_or_hosts(self):
        log = tree.git("log", "--format=%h %s%n%b")
        if log is None:
            self.skipTest("not a git repository")
        self.assertEqual(list(leaks(log)), [])


if __name__ == "__main__":
    tree.main()
