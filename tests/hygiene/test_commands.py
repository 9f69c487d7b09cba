"""Every command has a page, every page a command, and what the pages and the README type exists."""

import re
import shlex
import unittest

import tree

# Of every CLI11 program: `-h,--help` and so on, at the start of a help line.
OPTION = re.compile(r"(?<![\w-])(--?[A-Za-z][A-Za-z0-9-]*)")
FENCE = re.compile(r"^[ ]*```(\w*)[^\n]*\n(.*?)^[ ]*```", re.M | re.S)
SHELL = {"", "sh", "bash", "console", "shell"}


def help_of(*words):
    done = tree.run(tree.COMMAND, *words, "--help-all")
    return done.stdout if done.returncode == 0 else None


def commands(*options):
    """Names that `gprof-cli help` lists: an indented word, and at a distance what it is for."""
    printed = tree.run(tree.COMMAND, "help", *(options or ["--all"])).stdout
    return re.findall(r"^  ([a-z][a-z-]*) {2,}\S", printed, re.M)


def listed_options(command):
    return set(re.findall(r"^\s+(?:-\w,\s*)?(--[a-z][a-z0-9-]*)", help_of(command) or "", re.M))


def typed_lines(markdown):
    """Command lines in the code blocks of a page: whole blocks of a shell, or what follows `$ ` in them."""
    for language, body in FENCE.findall(markdown):
        if language not in SHELL:
            continue
        body = re.sub(r"\\\n\s*", " ", body)
        prompted = re.findall(r"^\s*\$ (.*)$", body, re.M)
        yield from prompted if prompted else (body.splitlines() if language in ("sh", "bash") else [])


def calls(markdown):
    """(words after gprof-cli) of each call in the code blocks of a page."""
    for line in typed_lines(markdown):
        line = re.sub(r"(^|\s)#.*$", "", line)
        try:
            words = shlex.split(line)
        except ValueError:
            continue
        for part in split_at_operators(words):
            while part and re.fullmatch(r"\w+=.*|sudo|time|exec", part[0]):
                part = part[1:]
            if part and re.fullmatch(r"(.*/)?gprof-cli", part[0]):
                yield part[1:]


def split_at_operators(words):
    part = []
    for word in words:
        if word in ("&&", "||", "|", ";", "&"):
            yield part
            part = []
        else:
            part.append(word)
    yield part


@unittest.skipUnless(tree.COMMAND.is_file(), "gprof-cli was not built")
class Commands(unittest.TestCase):
    def setUp(self):
        self.commands = commands()

    def test_help_lists_commands(self):
        self.assertIn("profile", self.commands)
        self.assertIn("report", self.commands)

    def test_help_begins_with_fifteen_of_them(self):
        first = commands("--no-pager")
        self.assertEqual(len(first), 15)
        self.assertLess(set(first), set(self.commands))
        self.assertIn("profile", first)

    def test_short_help_of_options_names_options_that_exist(self):
        for name in ("profile", "compare", "record", "launch"):
            short = tree.run(tree.COMMAND, name, "--help").stdout
            listed = set(re.findall(r"^\s+(?:-\w,\s*)?(--[a-z][a-z0-9-]*)", short, re.M))
            self.assertLess(listed, listed_options(name) | {"--help-all"})
            self.assertLess(len(listed), 25, name)
            self.assertIn(f"gprof-cli {name} --help-all", short)

    def test_every_command_has_a_page_and_every_page_a_command(self):
        pages = {name.split("/")[-1].removesuffix(".md") for name in tree.files("docs/commands", suffixes=(".md",))}
        self.assertEqual(pages, set(self.commands))

    def test_every_option_is_on_its_page(self):
        missing = []
        for name in set(self.commands):
            page = tree.SOURCE / "docs" / "commands" / f"{name}.md"
            body = page.read_text(encoding="utf-8") if page.is_file() else ""
            options = listed_options(name)
            missing += [f"{name} {option}" for option in sorted(options - {"--help", "--help-all"}) if option not in body]
        self.assertEqual(missing, [])
        self.assertLessEqual({"--output", "--trace", "--help"}, listed_options("profile"))

    def test_what_the_docs_type_exists(self):
        self.assertIn(["report", "run.trace"], list(calls(tree.text("README.md"))))
        self.assertEqual(list(self.problems(["report", "x", "--no-such-option"])),
                         ["`report` has no option `--no-such-option`"])
        wrong = []
        pages = ["README.md"] + tree.files("docs", "examples", suffixes=(".md",))
        for page in pages:
            wrong += [f"{page}: {problem}" for words in calls(tree.text(page)) for problem in self.problems(words)]
        self.assertEqual(wrong, [])

    def problems(self, words):
        words = words[: words.index("--")] if "--" in words else words
        if not words or words[0] in ("--help", "--version", "-h", "help"):
            return
        command, rest = words[0], words[1:]
        if command not in self.commands:
            yield f"there is no command `{command}`"
            return
        known = set(OPTION.findall(help_of(command) or ""))
        if command in ("profile", "launch"):
            known |= set(OPTION.findall(tree.run(tree.COMMAND, "help", "nsys").stdout))
        for word in rest:
            # What follows the program of `profile` or `launch` is the program's own.
            if command in ("profile", "launch") and not word.startswith("-") and looks_like_a_program(word):
                return
            option = word.split("=")[0]
            if re.fullmatch(r"--[a-z][a-z0-9-]*|-[A-Za-z]", option) and option not in known:
                yield f"`{command}` has no option `{option}`"


def looks_like_a_program(word):
    return word.startswith(("./", "/")) or word in ("python", "python3", "mpirun", "torchrun", "bash", "sh")


class Readme(unittest.TestCase):
    def test_shows_how_to_run_and_how_to_test(self):
        lines = [line.strip() for line in typed_lines(tree.text("README.md"))]
        self.assertIn("./setup.sh run", lines)
        self.assertIn("./setup.sh test", lines)

    def test_ci_runs_what_the_readme_says(self):
        script = [line.strip() for line in tree.text(".ci/run").splitlines()]
        done = [line for line in script if line and not line.startswith(("#", "set ", "cd "))]
        self.assertEqual(done, ["exec ./setup.sh test"])

    def test_scripts_of_the_readme_exist_and_may_be_run(self):
        for line in typed_lines(tree.text("README.md")):
            match = re.match(r"\./(\S+\.sh)\b", line.strip())
            if match:
                path = tree.SOURCE / match.group(1)
                self.assertTrue(path.is_file() and path.stat().st_mode & 0o111, match.group(1))

    def test_set_up_script_knows_the_subcommands_that_docs_name(self):
        known = set(re.findall(r"^  ([a-z]+)  +\S", tree.run("bash", tree.SOURCE / "setup.sh", "help").stdout, re.M))
        self.assertTrue(known)
        pages = ["README.md", "CONTRIBUTING.md"] + tree.files("docs", ".github", suffixes=(".md", ".yml"))
        named = {(page, word) for page in pages for word in re.findall(r"\./setup\.sh ([a-z]+)", tree.text(page))}
        self.assertEqual([pair for pair in sorted(named) if pair[1] not in known], [])

    def test_set_up_script_refuses_what_it_does_not_know(self):
        done = tree.run("bash", tree.SOURCE / "setup.sh", "nonsense")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("nonsense", done.stderr)

    def test_git_knows_that_scripts_are_programs(self):
        listed = tree.git("ls-files", "--stage", "--", "setup.sh", ".ci/run")
        if not listed:
            self.skipTest("not a git repository")
        self.assertEqual([line for line in listed.splitlines() if not line.startswith("100755")], [])


if __name__ == "__main__":
    tree.main()
