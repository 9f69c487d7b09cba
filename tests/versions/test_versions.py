"""The tracer reads the records of every release of CUPTI at the right place.

It is built with the headers of one release and takes the length of each record from the library in the process; what lies
beyond it reads as 0. So a member must lie where the build's headers have it, or beyond the end of the release's record.
`test_versions.py table` prints the lengths of the records in each release.
"""
import os
import pathlib
import sys
import unittest

import layout
import releases

# Members that newer releases put where older ones have padding; activity_records.cpp looks at the record's length for each.
IN_PADDING = {("Memcpy", "copyCount")}


def key(struct):
    """How a struct is called in any release."""
    return layout.family(struct) if struct.startswith("CUpti_Activity") else struct


class Built:
    """What the tracer is built with."""

    def __init__(self):
        self.include = os.environ["GPROF_CUPTI_INCLUDE"]
        self.fields = layout.fields()
        self.constants = layout.constants()
        structs = {key(struct): (struct, paths) for struct, paths in self.fields.items()}
        self.sizes, self.places, self.values = layout.measure(self.include, structs, self.constants)


class Release:
    """What one release has."""

    def __init__(self, built, name):
        folder = releases.fetch(name)
        self.structs = {}
        for struct, paths in built.fields.items():
            is_record = struct.startswith("CUpti_Activity")
            self.structs[key(struct)] = (layout.newest(folder, struct) if is_record else struct, paths)
        self.sizes, self.places, self.values = layout.measure(folder, self.structs, built.constants)
        self.version, self.strides = releases.strides(folder, [kind for kinds in layout.KINDS.values() for kind in kinds])


class Versions(unittest.TestCase):
    maxDiff = None
    built = None
    releases = {}

    def test_sources_are_understood(self):
        """Every record that is converted is found in the sources, with members."""
        self.assertEqual({key(s) for s in self.built.fields if s.startswith("CUpti_Activity")}, set(layout.KINDS))
        self.assertEqual({s for s in self.built.fields if not s.startswith("CUpti_Activity")}, set(layout.CALLBACK_STRUCTS))
        for struct, paths in self.built.fields.items():
            self.assertGreaterEqual(len(paths), 3, struct)
            for path in paths:
                self.assertIn((key(struct), path), self.built.places)
        self.assertGreater(len(self.built.constants), 50)

    def test_libraries_are_as_their_headers(self):
        asked = {name: release for name, release in self.releases.items() if release.strides}
        self.assertGreaterEqual(set(asked), set(self.releases) & {"11.8", "12.0", "12.4", "12.6", "12.8", "12.9", "13.0"})
        for name, release in asked.items():
            for family, kinds in layout.KINDS.items():
                for kind in kinds:
                    self.assertEqual(release.strides[kind], release.sizes[family], f"{name}: {family}")

    def test_members_are_where_the_tracer_reads_them(self):
        for name, release in self.releases.items():
            for place, expected in self.built.places.items():
                if place in release.places:
                    self.assertEqual(release.places[place], expected, f"{name}: {place}")
                elif place not in IN_PADDING:
                    self.assertGreaterEqual(expected[0], release.sizes[place[0]], f"{name}: {place} is not there")

    def test_numbers_mean_the_same(self):
        for name, release in self.releases.items():
            changed = {c: v for c, v in release.values.items() if v != self.built.values[c]}
            self.assertEqual(changed, {}, name)
            self.assertGreater(len(release.values), 40, name)


def table(built, loaded):
    """Bytes of each record by release, and the members that a release has not."""
    print("| record | " + " | ".join(loaded) + " | not in all |")
    print("|---|" + "---|" * (len(loaded) + 1))
    for family in sorted(layout.KINDS):
        first = {}
        for name, release in loaded.items():
            for place in (p for p in built.places if p[0] == family and p in release.places):
                first.setdefault(place[1], name)
        late = [f"`{path}` from {name}" for path, name in sorted(first.items()) if name != next(iter(loaded))]
        sizes = [str(release.sizes[family]) for release in loaded.values()]
        print(f"| {family} | " + " | ".join(sizes) + f" | {', '.join(late)} |")


def main():
    if not (pathlib.Path(os.environ.get("GPROF_CUPTI_INCLUDE", "")) / "cupti_activity.h").exists():
        print("skipped: the headers of CUPTI are not here")
        sys.exit(77)
    built = Built()
    for name in releases.RELEASES:
        try:
            Versions.releases[name] = Release(built, name)
        except releases.Unavailable as error:
            print(f"{name} is left out: {error}")
            if not Versions.releases:
                print("skipped: the packages of CUPTI cannot be downloaded")
                sys.exit(77)
    Versions.built = built
    if sys.argv[1:] == ["table"]:
        table(built, Versions.releases)
    else:
        unittest.main(verbosity=1)


if __name__ == "__main__":
    main()
