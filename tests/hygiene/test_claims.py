"""The tables of docs/losses.md and docs/tracer.md that claim what the tracer does name the test of each row, or say that
there is none. The tests they name exist."""

import re
import unittest

import tree

PAGES = {"docs/losses.md": 1, "docs/tracer.md": 2}  # tables with tests


def tables(page):
    """The rows of each table with a last column `test`, as lists of cells."""
    text = (tree.SOURCE / page).read_text()
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        rows = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in block.splitlines()]
        if rows[0][-1] == "test":
            yield rows[2:]


class Claims(unittest.TestCase):
    def test_every_row_names_a_test_that_exists(self):
        files = {}
        for path in (tree.SOURCE / "tests").rglob("test_*.py"):
            files[path.stem] = files.get(path.stem, "") + path.read_text()
        for page, count in PAGES.items():
            found = list(tables(page))
            self.assertEqual(len(found), count, page)
            for row in (row for table in found for row in table):
                with self.subTest(page=page, row=row[0]):
                    if row[-1] == "no test":
                        continue
                    names = re.findall(r"`(test_\w+)\.(test_\w+)`", row[-1])
                    self.assertEqual(", ".join(f"`{file}.{name}`" for file, name in names), row[-1])
                    self.assertTrue(names)
                    for file, name in names:
                        self.assertIn(f"def {name}(", files.get(file, ""), file)


if __name__ == "__main__":
    unittest.main()
