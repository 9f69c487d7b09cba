"""docs/security.md: each threat has a promise, and the tests that hold it are there."""

import re
import unittest

import tree

PAGE = "docs/security.md"


def rows():
    """[(threat, promise, tests)] of all tables."""
    found = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in tree.text(PAGE).splitlines() if line.startswith("| ")]
    return [tuple(row) for row in found if row[0] != "threat"]


def names_test(name, text):
    """A test, or the helper of several, is defined in this text."""
    return re.search(rf"\bdef {name}\(|^TEST(?:_[FP])?\(\w+, {name}\)", text, re.M) is not None


class Table(unittest.TestCase):
    def test_each_row_has_a_promise_and_a_test(self):
        self.assertGreater(len(rows()), 20)
        for row in rows():
            self.assertEqual((len(row), "" in row), (3, False), row)
            self.assertRegex(row[2], r"`tests/[\w/]+\.(py|cpp)`")

    def test_the_tests_are_there(self):
        missing = []
        for _, _, tests in rows():
            for part in tests.split("; "):
                for group in re.findall(r"`(tests/[\w/.]+)`(?:: ((?:`\w+`(?:, )?)+))?", part):
                    text = tree.text(group[0]) if (tree.SOURCE / group[0]).is_file() else ""
                    missing += [group[0]] if not text else []
                    missing += [f"{group[0]}: {name}" for name in re.findall(r"\w+", group[1]) if not names_test(name, text)]
        self.assertEqual(missing, [])

    def test_the_rule_finds_what_is_not_there(self):
        self.assertTrue(names_test("Ends", "TEST(File, Ends) {") and names_test("test_a", "    def test_a(self):"))
        self.assertFalse(names_test("Ends", "TEST(File, EndsLate) {") or names_test("test_a", "# test_a"))

    def test_the_policy_leads_here(self):
        self.assertIn("](docs/security.md)", tree.text("SECURITY.md"))


if __name__ == "__main__":
    tree.main()
