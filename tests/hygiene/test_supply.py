"""What others make gets in by its checksum: actions by their commit, Python packages by SHA-256."""

import re
import unittest

import tree

REQUIREMENTS = "src/cmake/requirements/"
OURS = "OWNER/gprof-cli/"  # an action of this repository, as others name it
# Of a shell, and of a list or tuple of words in Python. What a message says to type is neither.
SHELL_CALL = re.compile(r"""^(?!\s*(?:fail|echo|say)\b).*\bpip3?["']?(?:\[@\]\}")? (?:download|install|wheel)\b""")
PYTHON_CALL = re.compile(r"""(?:"pip", |[(\[])"(?:download|install|wheel)", """)
SAFE = ("--no-index", "--require-hashes", "--no-build-isolation", "--dry-run")


def scripts():
    return [name for name in tree.files(suffixes=(".sh", ".py", ".yml", "Dockerfile", ".def", ".ci/run"))
            if not name.startswith("tests/data/") and name != "tests/hygiene/test_supply.py"]


def pip_calls(name, text):
    """Where pip fetches or builds something; a call that takes several lines is one."""
    if name.endswith(".py"):
        return [line for line in re.sub(r",\n\s*", ", ", text).splitlines() if PYTHON_CALL.search(line)]
    return [line for line in re.sub(r"\\\n\s*", " ", text).splitlines() if SHELL_CALL.search(line) and not line.lstrip().startswith("#")]


class Actions(unittest.TestCase):
    def test_actions_are_pinned_by_commit_and_say_their_release(self):
        found = [(name, line) for name in tree.files(suffixes=(".yml", ".yaml", ".md"))
                 for line in re.findall(r"^[ #]*(?:- )?uses: *(.*)$", tree.text(name), re.M)]
        self.assertTrue(found)
        wrong = [f"{name}: {line}" for name, line in found if not line.startswith(("./", OURS))
                 and not re.fullmatch(r"[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line)]
        self.assertEqual(wrong, [])

    def test_an_action_has_one_commit_everywhere(self):
        commits = {}
        for name in tree.files(suffixes=(".yml", ".yaml", ".md")):
            for action, commit in re.findall(r"uses: *([\w./-]+)@([0-9a-f]{40})", tree.text(name)):
                commits.setdefault(action, set()).add(commit)
        self.assertEqual({action: sorted(found) for action, found in commits.items() if len(found) > 1}, {})

    def test_a_release_says_where_its_files_come_from(self):
        text = tree.text(".github/workflows/release.yml")
        publish = text[text.index("\n  publish:"):]
        self.assertRegex(publish, r"id-token: write\n +attestations: write\n")
        self.assertRegex(publish, r"uses: actions/attest@.*\n +with:\n +subject-checksums: dist/SHA256SUMS\n")
        self.assertLess(publish.index("release.sh publish"), publish.index("actions/attest@"))
        self.assertLess(publish.index("actions/attest@"), publish.index("gh release create"))


class PythonPackages(unittest.TestCase):
    def test_pip_takes_nothing_without_a_checksum(self):
        calls = [(name, line.strip()) for name in scripts() for line in pip_calls(name, tree.text(name))]
        self.assertLessEqual({"setup.sh", "tests/export/packages.py"}, {name for name, _ in calls})
        self.assertEqual([f"{name}: {line}" for name, line in calls if not any(word in line for word in SAFE)], [])

    def test_the_rule_finds_what_it_is_about(self):
        for name, text in (("a.sh", "pip install numpy"), ("a.sh", 'quietly "${pip[@]}" download \\\n  x'), ("a.yml", "- run: python3 -m pip wheel x"),
                           ("a.py", 'run(python, "-m", "pip",\n    "install", wheel)'), ("a.py", 'INSTALL = ["install", "-q"]')):
            self.assertEqual(len(pip_calls(name, text)), 1, text)
        self.assertEqual(pip_calls("a.sh", 'fail "too old" "pip install cmake"') + pip_calls("a.py", 'f("pip install pandas")'), [])

    def test_requirements_have_a_version_and_checksums(self):
        files = [name for name in tree.files("src/cmake/requirements", suffixes=(".txt",))]
        self.assertTrue(files)
        for name in files:
            lines = re.sub(r"^#.*\n", "", tree.text(name).replace("\\\n", " "), flags=re.M).splitlines()
            wrong = [line for line in lines if not re.fullmatch(r"[a-z0-9-]+==[\w.!+-]+ (?: +--hash=sha256:[0-9a-f]{64})+", line)]
            self.assertEqual((name, wrong), (name, []))

    def test_every_requirement_file_is_used(self):
        used = "".join(tree.text(name) for name in scripts() + ["setup.sh"])
        names = [name.removeprefix(REQUIREMENTS).removesuffix(".txt") for name in tree.files("src/cmake/requirements", suffixes=(".txt",))]
        self.assertEqual([name for name in names if not re.search(rf'\b{name}(\.txt|")', used)], [])


if __name__ == "__main__":
    tree.main()
