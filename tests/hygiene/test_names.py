"""A file is known by its name without its folder: in messages of compilers, in tabs of editors, in talk. So no two share one."""

import collections
import pathlib
import unittest

import tree


def shared(names):
    """Base names without suffix that files of several folders have, with those files."""
    files = collections.defaultdict(list)
    for name in names:
        files[pathlib.PurePosixPath(name).stem].append(name)
    return {stem: sorted(found) for stem, found in files.items()
            if len({name.rpartition("/")[0] for name in found}) > 1}


class Names(unittest.TestCase):
    def test_no_two_headers_have_the_same_name(self):
        headers = tree.files("include", "src", suffixes=(".h",))
        self.assertGreater(len(headers), 100)
        self.assertEqual(shared(headers), {})

    # A header of include/gprof has its code in the folder of src that it is about, under the same name. Tests are not looked at:
    # they are named after what they test, and doubles after what they stand for.
    def test_files_of_one_name_are_in_one_folder(self):
        self.assertEqual(shared(tree.files("src", suffixes=(".h", ".cpp", ".c"))), {})

    def test_names_in_several_folders_are_found(self):
        names = ["src/a/clocks.h", "src/b/clocks.cpp", "src/a/order.h", "src/a/order.cpp"]
        self.assertEqual(shared(names), {"clocks": ["src/a/clocks.h", "src/b/clocks.cpp"]})


if __name__ == "__main__":
    tree.main()
