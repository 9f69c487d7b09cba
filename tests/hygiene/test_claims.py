"""The tables of docs/losses.md and docs/tracer.md that claim what the tracer does name the tests of each row, or say that
there is none; docs/tracer.md has those with a GPU and those on doubles apart. The tests they name exist."""

import re
import unittest

import tree

PAGES = {"docs/losses.md": 1, "docs/tracer.md": 2}  # tables with tests
WHERE = {"test": "", "test with a GPU": "gpu", "test on doubles": "e2e"}  # of each title, the folder of its tests


def texts(where):
    """Of each name of a file of tests, the text of all that have it."""
    found = {}
    for path in (tree.SOURCE / "tests" / where).rglob("test_*.py"):
        found[path.stem] = found.get(path.stem, "") + path.read_text()
    return found


def tables(page):
    """The cells about tests of each row of each table whose last column is about tests, after the first cell of the row."""
    text = (tree.SOURCE / page).read_text()
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        rows = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in block.splitlines()]
        if rows[0][-1].startswith("test"):
            columns = [at for at, title in enumerate(rows[0]) if title.startswith("test")]
            yield [(row[0], row[at], rows[0][at]) for row in rows[2:] for at in columns]


class Claims(unittest.TestCase):
    def test_every_row_names_a_test_that_exists(self):
        files = {title: texts(where) for title, where in WHERE.items()}
        for page, count in PAGES.items():
            found = list(tables(page))
            self.assertEqual(len(found), count, page)
            for row, tests, title in (cell for table in found for cell in table):
                with self.subTest(page=page, row=row, column=title):
                    if tests == "no test":
                        continue
                    names = re.findall(r"`(test_\w+)\.(test_\w+)`", tests)
                    self.assertEqual(", ".join(f"`{file}.{name}`" for file, name in names), tests)
                    self.assertTrue(names)
                    for file, name in names:
                        self.assertIn(f"def {name}(", files[title].get(file, ""), file)


if __name__ == "__main__":
    unittest.main()
