"""Pages in Chinese (docs/zh) keep step with their English originals: headings, tables, lists, code, figures, names in code and links.

docs/zh/findings.md has an anchor for each finding. Wording cannot be compared: whoever changes what a sentence says, and nothing
of the above, changes it in both languages without being told.
"""

import collections
import os
import re
import unittest

import tree

CHINESE = "docs/zh"
INDEX = f"{CHINESE}/index.md"  # lists the pages in Chinese: docs/index.md lists all others
FINDINGS = f"{CHINESE}/findings.md"
REPORT = "docs/commands/report.md"
TO_CHINESE = re.compile(r"^\[简体中文\]\(([^)\s]+)\)$", re.M)
TO_ENGLISH = re.compile(r"^\[English\]\(([^)\s]+)\)", re.M)

FENCE = re.compile(r"^[ ]*(```|~~~)(\w*)[^\n]*\n.*?^[ ]*\1[ ]*$", re.M | re.S)
COMMENT = re.compile(r"<!--.*?-->", re.S)
ANCHOR = re.compile(r"<a id=\"[^\"]*\"></a>")
CODE = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\[[^\]\[]*\]\(([^)\s]+)\)")
CELL = re.compile(r"(?<!\\)\|")
ITEM = re.compile(r"\s*([*-]|\d+\.) ")
FIGURE = re.compile(r"(?<![A-Za-z\d_./=-])(?P<value>\d{4}-\d\d-\d\d|\d+(?:\.\d+)*)"
                    r"(?:\s*(?P<times>million|万|亿))?(?:\s*(?P<unit>%|(?:[kMGT]i?)?B(?:/s)?|[kMGT]?Hz|[mnuµ]?s)(?![A-Za-z]))?")
TIMES = {"million": 1_000_000, "万": 10_000, "亿": 100_000_000}


def original_of(page):
    """The English page that a page in Chinese translates, or None."""
    name = page.removeprefix(f"{CHINESE}/")
    for candidate in ("README.md",) if name == "README.md" else (f"docs/{name}",):
        if page != INDEX and (tree.SOURCE / candidate).is_file():
            return candidate
    return None


def translated_pages():
    return {page: original_of(page) for page in tree.files(CHINESE, suffixes=(".md",)) if original_of(page)}


def without_language_link(text):
    return TO_ENGLISH.sub("", TO_CHINESE.sub("", text, count=1), count=1)


def code_blocks(text):
    """All blocks, byte for byte except comments of a shell, which are for readers."""
    for match in FENCE.finditer(text):
        lines = match.group(0).split("\n")
        if match.group(2) in ("sh", "bash", "shell"):
            lines = [re.sub(r"(^|\s+)#.*$", "", line) for line in lines]
        elif match.group(2) == "console":
            lines = [re.sub(r"\s+#.*$", "", line) if line.startswith("$ ") else line for line in lines]
        yield "\n".join(lines)


def prose(text):
    return ANCHOR.sub("", COMMENT.sub("", FENCE.sub("", without_language_link(text))))


def blocks(text):
    """(kind, lines) of what follows what: headings by level, table rows by their cells, items of lists, paragraphs and code blocks."""
    found = []
    for line in ANCHOR.sub("", COMMENT.sub("", FENCE.sub("```", without_language_link(text)))).splitlines():
        last = found[-1][0] if found else ""
        if line.startswith("#"):
            found.append((f"heading {len(line) - len(line.lstrip('#'))}", line))
        elif line.startswith("|"):
            found.append((f"row of {len(CELL.split(line.strip())) - 2}", line))
        elif line.startswith("```"):
            found.append(("code", ""))
        elif ITEM.match(line):
            found.append(("item", line))
        elif not line.strip():
            found.append(("", ""))
        elif last in ("item", "text"):
            found[-1] = (last, f"{found[-1][1]}\n{line}")
        else:
            found.append(("text", line))
    return [(kind, lines) for kind, lines in found if kind]


def figures(text):
    """Numbers with their units outside of code, as (value, unit)."""
    text = LINK.sub(lambda match: match.group(0).partition("](")[0] + "]", CODE.sub("``", text))
    text = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", text)
    for match in FIGURE.finditer(text):
        value = match.group("value")
        if match.group("times"):
            value = f"{float(value) * TIMES[match.group('times')]:.0f}"
        yield value, (match.group("unit") or "").replace("µ", "u")


def targets(page, text):
    """Where links lead, by English pages: (path, anchor). What there is in Chinese only may be linked besides."""
    for target in LINK.findall(CODE.sub("``", text)):
        if re.match(r"[a-z]+:", target):
            yield target, ""
            continue
        name, _, anchor = target.partition("#")
        path = os.path.normpath(os.path.join(os.path.dirname(page), name)) if name else page
        if path in (INDEX, FINDINGS) or path.endswith(".zh.md"):
            continue
        yield original_of(path) or path if path.startswith(f"{CHINESE}/") else path, anchor


def cells_of_options(text):
    """Cells of each row of the tables that the program prints, which say the same in many rows."""
    for part in re.findall(r"<!-- options: [^\n]*-->(.*?)<!-- end -->", text, re.S):
        yield from ([cell.strip() for cell in CELL.split(line)[1:-1]] for line in part.splitlines() if line.startswith("|"))


def twofold(english, chinese):
    """Words of those tables that have two translations, or share one with others."""
    pairs = {pair for rows in zip(cells_of_options(english), cells_of_options(chinese)) for pair in zip(*rows)}
    for side in (0, 1):
        counts = collections.Counter(pair[side] for pair in pairs)
        yield from sorted(word for word, count in counts.items() if count > 1)


def differences(original, english, page, chinese):
    """What the two texts have not in common: in their order, and then in each heading, row, item and paragraph."""
    pairs = list(zip(blocks(english), blocks(chinese)))
    in_order = {
        "shape": ([kind for kind, _ in blocks(english)], [kind for kind, _ in blocks(chinese)]),
        "code blocks": (list(code_blocks(english)), list(code_blocks(chinese))),
        "marks": (COMMENT.findall(english), COMMENT.findall(chinese)),
    }
    for part, (ours, theirs) in in_order.items():
        if ours != theirs:
            at = next((i for i, pair in enumerate(zip(ours, theirs)) if pair[0] != pair[1]), min(len(ours), len(theirs)))
            where = f" ({pairs[at][0][1]!r}, {pairs[at][1][1]!r})" if part == "shape" and at < len(pairs) else ""
            yield f"{part}: number {at + 1} of {len(ours)} is {ours[at:at + 1]}, in Chinese of {len(theirs)} {theirs[at:at + 1]}{where}"
    for word in twofold(english, chinese):
        yield f"options: {word!r} is not always translated by the same words, or others are by those"
    if in_order["shape"][0] != in_order["shape"][1]:
        return  # no block is known to be the translation of another
    for (_, ours), (_, theirs) in pairs:
        for part, of_ours, of_theirs in (
                ("figures", figures(ours), figures(theirs)),
                ("names in code", CODE.findall(ours), CODE.findall(theirs)),
                ("links", targets(original, ours), targets(page, theirs))):
            of_ours, of_theirs = collections.Counter(of_ours), collections.Counter(of_theirs)
            if of_ours != of_theirs:
                yield (f"{part}: {sorted((of_ours - of_theirs).elements())} only in {ours!r}, "
                       f"{sorted((of_theirs - of_ours).elements())} only in {theirs!r}")


def findings_of_report(text):
    """(id, meaning) of each row of the table of findings."""
    table = text.partition("\n## Findings\n")[2].partition("\n## ")[0]
    return re.findall(r"^\| `([a-z0-9_]+\.[a-z0-9_]+)` \| (.*) \|$", table, re.M)


def findings_in_chinese(text):
    """(anchor, id, sentences) of each finding."""
    return re.findall(r"^<a id=\"([^\"]+)\"></a>\*\*`([^`]+)`\*\*：(.*)$", text, re.M)


class Pages(unittest.TestCase):
    maxDiff = None

    def test_there_are_pages_in_chinese(self):
        self.assertLessEqual({"README.md", "docs/glossary.md", "docs/coming-from/nsys.md", "docs/coming-from/ncu.md",
                              "docs/coming-from/torch-profiler.md"}, set(translated_pages().values()))

    def test_each_page_is_a_translation_or_one_of_two_that_are_not(self):
        pages = set(tree.files(CHINESE, suffixes=(".md",)))
        self.assertEqual(pages - set(translated_pages()), {INDEX, FINDINGS})

    def test_pages_keep_step_with_their_originals(self):
        for page, original in translated_pages().items():
            with self.subTest(page=page):
                self.assertEqual(list(differences(original, tree.text(original), page, tree.text(page))), [],
                                 f"{page} and {original} differ")

    def test_pages_of_both_languages_link_each_other_at_their_beginning(self):
        pairs = [*translated_pages().items(), (INDEX, "docs/index.md"), (FINDINGS, REPORT)]
        for page, original in pairs:
            with self.subTest(page=page):
                there = TO_ENGLISH.search("\n".join(tree.text(page).splitlines()[:3]))
                # The findings are one section of their page.
                head = tree.text(original).partition("\n## Findings\n")[2] if page == FINDINGS else tree.text(original)
                back = TO_CHINESE.search("\n".join(head.splitlines()[:3]))
                self.assertTrue(there and back)
                name = there.group(1).partition("#")[0]
                self.assertEqual(os.path.normpath(os.path.join(os.path.dirname(page), name)), original)
                self.assertEqual(os.path.normpath(os.path.join(os.path.dirname(original), back.group(1))), page)

    def test_links_lead_to_files_and_to_chinese_where_there_is_a_page(self):
        there_is = {original: page for page, original in translated_pages().items()}
        wrong = []
        for page in tree.files(CHINESE, suffixes=(".md",)):
            for target in LINK.findall(CODE.sub("``", prose(tree.text(page)))):
                path = os.path.normpath(os.path.join(os.path.dirname(page), target.partition("#")[0]))
                if re.match(r"[a-z]+:", target) or target.startswith("#"):
                    continue
                if not (tree.SOURCE / path).exists():
                    wrong.append(f"{page}: {target} is not there")
                elif path in there_is:
                    wrong.append(f"{page}: {target} is in Chinese too, {there_is[path]}")
        self.assertEqual(wrong, [])

    def test_the_index_has_every_page(self):
        linked = {os.path.normpath(os.path.join(CHINESE, target.partition("#")[0])) for target in LINK.findall(tree.text(INDEX))}
        walkthroughs = tree.files("examples/walkthroughs", suffixes=(".zh.md",))
        self.assertTrue(walkthroughs)
        self.assertEqual(set(tree.files(CHINESE, suffixes=(".md",))) - {INDEX} - linked, set())
        self.assertEqual(set(walkthroughs) - linked, set())


class Findings(unittest.TestCase):
    def test_each_finding_has_its_anchor_and_a_sentence(self):
        entries = findings_in_chinese(tree.text(FINDINGS))
        ids = [anchor for anchor, _, _ in entries]
        self.assertGreater(len(ids), 100)
        self.assertEqual([anchor for anchor, count in collections.Counter(ids).items() if count > 1], [])
        self.assertEqual(sorted(ids), sorted(finding for finding, _ in findings_of_report(tree.text(REPORT))))
        self.assertEqual(ANCHOR.findall(tree.text(FINDINGS)), [f'<a id="{anchor}"></a>' for anchor in ids])
        self.assertEqual([entry[0] for entry in entries if entry[0] != entry[1] or not entry[2].endswith("。")], [])

    def test_figures_of_meanings_are_in_the_sentences(self):
        chinese = {finding: list(figures(sentences)) for finding, _, sentences in findings_in_chinese(tree.text(FINDINGS))}
        lacking = [(finding, figure) for finding, meaning in findings_of_report(tree.text(REPORT))
                   for figure in figures(meaning) if figure not in chinese.get(finding, [])]
        self.assertEqual(lacking, [])

    def test_findings_that_sentences_name_exist(self):
        known = {finding for finding, _ in findings_of_report(tree.text(REPORT))}
        topics = {finding.partition(".")[0] for finding in known}
        named = {name for page in tree.files(CHINESE, suffixes=(".md",)) for name in CODE.findall(prose(tree.text(page)))
                 if re.fullmatch(r"[a-z]+\.[a-z0-9_]+", name) and name.partition(".")[0] in topics}
        of_metrics = set(re.findall(r"^\| `([a-z0-9_.]+)` \|", tree.text("docs/metrics.md"), re.M))
        self.assertEqual(sorted(named - known - of_metrics), [])


class Changes(unittest.TestCase):
    """A change of one page alone is found."""

    PAGE, ORIGINAL = "docs/zh/page.md", "docs/page.md"
    ENGLISH = ("# Page\n\n[简体中文](zh/page.md)\n\nUp to 85 % of it, 3 million events in 0.6 µs: [memory](metrics.md#facts).\n\n"
               "## Use\n\n| a | `-x` |\n|---|---|\n| b | 1,000 Hz |\n\n* one\n* two\n\n"
               "```sh\ngprof-cli report run.trace   # one page\n```\n\n<!-- report: x -->\n```text\nidle 5%\n```\n")
    CHINESE = ("# 页\n\n[English](../page.md)\n\n最多 85%，300 万个事件只要 0.6 us：[内存](../metrics.md#facts)。\n\n"
               "<a id=\"use\"></a>\n## 用法\n\n| 甲 | `-x` |\n|---|---|\n| 乙 | 1000 Hz |\n\n* 一\n* 二\n\n"
               "```sh\ngprof-cli report run.trace   # 一页\n```\n\n<!-- report: x -->\n```text\nidle 5%\n```\n")

    def found(self, old="", new=""):
        self.assertIn(old, self.CHINESE)
        return [difference.partition(":")[0] for difference in
                differences(self.ORIGINAL, self.ENGLISH, self.PAGE, self.CHINESE.replace(old, new))]

    def test_the_same_page_in_two_languages_is_the_same(self):
        self.assertEqual(list(differences(self.ORIGINAL, self.ENGLISH, self.PAGE, self.CHINESE)), [])

    def test_what_only_one_page_has_is_found(self):
        self.assertEqual(self.found("## 用法", "### 用法"), ["shape"])
        self.assertEqual(self.found("* 二\n", ""), ["shape"])
        self.assertEqual(self.found("| 乙 | 1000 Hz |\n", ""), ["shape"])
        self.assertEqual(self.found("* 二\n", "* 二\n\n又一段。\n"), ["shape"])
        self.assertEqual(self.found("run.trace  ", "a.trace  "), ["code blocks"])
        self.assertEqual(self.found("idle 5%", "空闲 5%"), ["code blocks"])
        self.assertEqual(self.found("report: x", "report: y"), ["marks"])
        self.assertEqual(self.found("85%", "86%"), ["figures"])
        self.assertEqual(self.found("300 万", "30 万"), ["figures"])
        self.assertEqual(self.found("0.6 us", "0.6 ms"), ["figures"])
        self.assertEqual(self.found("`-x`", "`-y`"), ["names in code"])
        self.assertEqual(self.found("metrics.md#facts", "metrics.md"), ["links"])
        self.assertEqual(self.found("| 甲 | `-x` |\n|---|---|\n| 乙 |", "| 甲 | 丙 |\n|---|---|\n| `-x` |"), ["names in code"] * 2)


if __name__ == "__main__":
    tree.main()
