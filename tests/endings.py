"""How a script of tests ends, for CTest: 0 passed, 1 failed, 77 nothing could be tested."""

import sys
import unittest


def main():
    program = unittest.main(module="__main__", exit=False, verbosity=2)
    result = program.result
    if not result.wasSuccessful():
        sys.exit(1)
    if result.testsRun > 0 and len(result.skipped) == result.testsRun:
        for _, reason in result.skipped:
            print("skipped:", reason)
        sys.exit(77)
