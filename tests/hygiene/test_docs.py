"""Docs: links resolve, the table of variables is the one in env.h, the change log has its shape."""

import re
import unittest

import tree

FENCE = re.compile(r"^[ ]*(```|~~~).*?^[ ]*\1", re.M | re.S)
LINK = re.compile(r"(?<!\!)\[[^\]\[]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")


def pages():
    return [name for name in tree.files(suffixes=(".md",)) if not name.startswith("tests/data/")]


def slugs(page):
    """Anchors of a page, made from its headings the way GitHub makes them."""
    found = set()
    for heading in re.findall(r"^#{1,6}\s+(.*?)\s*#*\s*$", FENCE.sub("", tree.text(page)), re.M):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        found.add(slug if slug not in found else f"{slug}-1")
    found.update(re.findall(r'<a (?:id|name)="([^"]+)"', tree.text(page)))
    return found


def environment_table():
    rows = re.findall(r'inline constexpr char (k\w+)\[\] = "(GPROF_\w+)"', tree.text("include/gprof/trace/env.h"))
    names = dict(rows)
    meanings = re.findall(r'\{env::(k\w+),\s*((?:"(?:[^"\\]|\\.)*"\s*)+)\}', tree.text("include/gprof/trace/env.h"))
    return {names[key]: "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', value)) for key, value in meanings}, set(names.values())


class Links(unittest.TestCase):
    def test_relative_links_resolve(self):
        broken = []
        for page in pages():
            for match in LINK.finditer(FENCE.sub("", tree.text(page))):
                target = match.group(1) or match.group(2)
                if re.match(r"[a-z]+:", target):
                    continue
                name, _, anchor = target.partition("#")
                path = (tree.SOURCE / page).parent / name if name else tree.SOURCE / page
                if not path.exists():
                    broken.append(f"{page}: {target}")
                elif anchor and path.suffix == ".md":
                    relative = path.resolve().relative_to(tree.SOURCE.resolve()).as_posix()
                    if anchor not in slugs(relative):
                        broken.append(f"{page}: {target} (no such heading)")
        self.assertEqual(broken, [])

    def test_every_page_can_be_reached_from_the_index(self):
        seen, queue = set(), ["docs/index.md"]
        while queue:
            page = queue.pop()
            if page in seen or not (tree.SOURCE / page).is_file():
                continue
            seen.add(page)
            for match in LINK.finditer(FENCE.sub("", tree.text(page))):
                target = (match.group(1) or "").partition("#")[0]
                if target.endswith(".md") and not re.match(r"[a-z]+:", target):
                    path = ((tree.SOURCE / page).parent / target).resolve()
                    if path.is_relative_to(tree.SOURCE.resolve()):
                        queue.append(path.relative_to(tree.SOURCE.resolve()).as_posix())
        self.assertEqual(sorted(set(tree.files("docs", suffixes=(".md",))) - seen), [])


class Paths(unittest.TestCase):
    def test_files_and_folders_that_pages_name_exist(self):
        missing = []
        for page in pages():
            if page == "CHANGELOG.md":
                continue  # says what was, by the names it had
            for path in re.findall(r"(?<![\w/.$-])(?:src|include|tests|kernels|examples|docs)/[\w./*<>-]*\w",
                                   tree.text(page)):
                pattern = re.sub(r"<\w+>", "*", path)
                if not (any(tree.SOURCE.glob(pattern)) or any(tree.SOURCE.glob(pattern + "*"))):
                    missing.append(f"{page}: {path}")
        self.assertEqual(missing, [])

    def test_headers_that_comments_name_exist(self):
        names = tree.files(suffixes=(".h", ".cpp"))
        ours = {name.rpartition("/")[2] for name in names}
        foreign = re.compile(r"cu|nv|CL")  # of CUDA, CUPTI and NVTX
        missing = []
        for name in names:
            for comment in re.findall(r"//([^\n]*)", tree.text(name)):
                missing += [f"{name}: {file}" for file in re.findall(r"(?<![\w.])([a-z]\w*\.(?:h|cpp))\b", comment)
                            if file not in ours and not foreign.match(file)]
        self.assertEqual(missing, [])


class Folders(unittest.TestCase):
    """docs/architecture.md has a row for each folder of src, and for each topic within one."""

    def test_the_tables_have_the_folders_and_their_topics(self):
        page = tree.text("docs/architecture.md")
        topics, folder = set(), ""
        table = page.partition("| subfolder |")[2]
        for first, topic in re.findall(r"^\| (?:`(src/\w+)` )?\| `(\w+)` \|", table, re.M):
            folder = first or folder
            topics.add(f"{folder}/{topic}")
        built = {name.rpartition("/")[0] for name in tree.files("src", suffixes=("CMakeLists.txt",))}
        self.assertEqual(topics, {name for name in built if name.count("/") == 2})
        self.assertEqual([name for name in sorted(built) if name.count("/") == 1 and f"\n| `{name}` |" not in page], [])


class Symptoms(unittest.TestCase):
    """docs/symptoms.md leads from what users see to findings, which have to exist."""

    def test_its_findings_are_in_the_catalogue(self):
        known = set(re.findall(r'"([a-z]+\.[a-z_]+)"', tree.text("src/analysis/findings/finding_catalogue.cpp")))
        named = set(re.findall(r"`([a-z]+\.[a-z_]+)`", tree.text("docs/symptoms.md")))
        topics = {finding.partition(".")[0] for finding in known}
        self.assertGreater(len(named & known), 40)
        self.assertEqual(sorted(name for name in named - known if name.partition(".")[0] in topics), [])

    def test_it_has_what_users_say_first(self):
        headings = re.findall(r"^## (.*)$", tree.text("docs/symptoms.md"), re.M)
        for said in ("GPU is at", "opies are slow", "ernel is slow", "ank 5 is late", "ut of memory", "irst step is slow"):
            self.assertTrue([heading for heading in headings if said in heading], said)


class Environment(unittest.TestCase):
    def test_the_table_in_the_docs_is_the_one_in_the_header(self):
        meanings, _ = environment_table()
        rows = dict(re.findall(r"^\| `(GPROF_\w+)` \| (.*?) \|\s*$", tree.text("docs/environment.md"), re.M))
        self.assertEqual(rows, meanings)

    def test_every_variable_has_a_meaning(self):
        meanings, names = environment_table()
        self.assertTrue(names)
        self.assertEqual(set(meanings), names)

    def test_no_other_file_spells_a_variable(self):
        spelled = []
        for name in tree.files("src", "include", suffixes=(".h", ".cpp")):
            if name != "include/gprof/trace/env.h":
                code = re.sub(r"//[^\n]*", "", tree.text(name))
                spelled += [f"{name}: {literal}" for literal in re.findall(r'"(GPROF_[A-Z0-9_]+)"', code)]
        self.assertEqual(spelled, [])

    def test_docs_name_no_variable_that_is_not_there(self):
        _, names = environment_table()
        # Options of CMake and variables of the set-up script look the same.
        others = set(re.findall(r"GPROF_[A-Z0-9_]+", "".join(tree.text(name) for name in (
            tree.files(suffixes=("CMakeLists.txt", ".cmake")) + ["setup.sh"]))))
        unknown = set()
        for page in pages():
            found = set(re.findall(r"\bGPROF_[A-Z0-9]+(?:_[A-Z0-9]+)*\b(?!_|\*|…)", tree.text(page)))
            unknown |= {f"{page}: {name}" for name in found - names - others}
        self.assertEqual(sorted(unknown), [])


class ChangeLog(unittest.TestCase):
    def test_has_an_unreleased_section_with_known_headings(self):
        log = tree.text("CHANGELOG.md")
        match = re.search(r"^## \[?Unreleased\]?\s*$(.*?)(?=^## |\Z)", log, re.M | re.S)
        self.assertIsNotNone(match, "CHANGELOG.md has no Unreleased section")
        headings = set(re.findall(r"^### (.*?)\s*$", log, re.M))
        self.assertLessEqual(headings, {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"})

    def test_names_the_version_of_the_build_or_has_it_unreleased(self):
        version = re.search(r"project\(gprof-cli VERSION ([0-9.]+)", tree.text("CMakeLists.txt")).group(1)
        released = re.findall(r"^## \[?(\d[0-9.]*)\]?", tree.text("CHANGELOG.md"), re.M)
        self.assertTrue(not released or released[0] <= version, f"{released[0] if released else ''} > {version}")


if __name__ == "__main__":
    tree.main()
