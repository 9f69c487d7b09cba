"""The tracer is loaded into other people's programs: it exports what it must and needs libc and nothing else."""

import re
import shutil
import unittest

import tree

# UCX and Open MPI put code of theirs at the start of these, with locks: src/tracer/system/memory_calls.h is used instead.
HOOKED = {"mmap", "mmap64", "munmap", "mprotect", "mremap", "madvise", "brk", "sbrk", "shmat", "shmdt"}
ALLOWED = re.compile(r"^(libc\.so\.6|libdl\.so\.2|libpthread\.so\.0|librt\.so\.1|ld-linux[-a-z0-9_]*\.so\.\d)$")


def exported_by_map():
    script = re.sub(r"/\*.*?\*/|#[^\n]*", "", tree.text("src/tracer/exports.map"), flags=re.S)
    names = set()
    for body in re.findall(r"global\s*:(.*?)(?:local\s*:|\})", script, flags=re.S):
        names.update(name.strip() for name in body.split(";") if name.strip())
    return names


@unittest.skipUnless(tree.TRACER.is_file(), "the tracer was not built (GPROF_BUILD_TRACER=OFF)")
@unittest.skipUnless(shutil.which("readelf"), "readelf was not found")
class TracerBinary(unittest.TestCase):
    def test_exports_exactly_the_names_in_the_map(self):
        names = set()
        for line in tree.run("readelf", "-W", "--dyn-syms", tree.TRACER).stdout.splitlines():
            fields = line.split()
            if len(fields) >= 8 and fields[4] in ("GLOBAL", "WEAK", "UNIQUE") and fields[6] != "UND":
                names.add(fields[7].split("@")[0])
        self.assertTrue(exported_by_map(), "src/tracer/exports.map names nothing")
        self.assertEqual(names, exported_by_map())

    def test_needs_libc_and_nothing_else(self):
        printed = tree.run("readelf", "-W", "-d", tree.TRACER).stdout
        needed = re.findall(r"\(NEEDED\).*\[(.*?)\]", printed)
        self.assertTrue(needed, printed)
        self.assertEqual([name for name in needed if not ALLOWED.match(name)], [])
        self.assertNotRegex(printed, r"\((RPATH|RUNPATH)\)")

    def test_calls_no_function_of_libc_that_others_hook(self):
        lines = tree.run("readelf", "-W", "--dyn-syms", tree.TRACER).stdout.splitlines()
        imported = {line.split()[7].split("@")[0] for line in lines if len(line.split()) >= 8 and " UND " in line}
        self.assertIn("syscall", imported)
        self.assertEqual(imported & HOOKED, set())

    def test_has_no_writable_code_and_no_executable_stack(self):
        printed = tree.run("readelf", "-W", "-l", tree.TRACER).stdout
        self.assertIn("GNU_STACK", printed)
        self.assertNotRegex(printed, r"RWE")


if __name__ == "__main__":
    tree.main()
