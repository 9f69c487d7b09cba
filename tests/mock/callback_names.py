"""Writes driver_names.inc and runtime_names.inc: the names of CUPTI's callback ids, in order, from its headers.

usage: callback_names.py INCLUDE_FOLDER OUTPUT_FOLDER
"""
import pathlib
import re
import sys


def main():
    include, output = (pathlib.Path(argument) for argument in sys.argv[1:3])
    for domain in ("driver", "runtime"):
        text = (include / f"cupti_{domain}_cbid.h").read_text()
        entries = re.findall(rf"CUPTI_{domain.upper()}_TRACE_CBID_(\w+)\s*=\s*(\d+)", text)
        names = {int(number): name for name, number in entries if name not in ("SIZE", "FORCE_INT")}
        lines = [f'"{names.get(number, "INVALID")}",\n' for number in range(max(names) + 1)]
        (output / f"{domain}_names.inc").write_text("".join(lines))


if __name__ == "__main__":
    main()
