#!/usr/bin/env python3
"""Takes out of an SQLite export of Nsight Systems what tells of the machine that it was made on: `clean_nsys.py FILE.sqlite`."""

import re
import sqlite3
import sys

# What describes the users of the machine and the recording, and does not say what the GPU did.
EMPTIED = ("META_DATA_CAPTURE", "ANALYSIS_FILE", "ANALYSIS_DETAILS", "TARGET_INFO_NIC_INFO", "TARGET_INFO_NETWORK_DEVICES")
PRIVATE = "name LIKE '%env%' OR name LIKE '%user%' OR name LIKE '%host%' OR name LIKE '%ip%' OR value LIKE '%/%'"
PATH = re.compile(r"(?:/[\w.+@-]+){2,}")


def main():
    database = sqlite3.connect(sys.argv[1])
    tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    for table in tables & set(EMPTIED):
        database.execute(f"DELETE FROM {table}")
    for number, text in database.execute("SELECT id, value FROM StringIds").fetchall():
        if "\0" in text:  # the environment of a process, from the first letter to the last
            database.execute("UPDATE StringIds SET value = '' WHERE id = ?", (number,))
            continue
        short = PATH.sub(lambda match: match.group().rsplit("/", 1)[1], text or "")
        if short != text:
            database.execute("UPDATE StringIds SET value = ? WHERE id = ?", (short, number))
    if "TARGET_INFO_SYSTEM_ENV" in tables:
        database.execute(f"DELETE FROM TARGET_INFO_SYSTEM_ENV WHERE {PRIVATE}")
    if "DIAGNOSTIC_EVENT" in tables:
        database.execute("DELETE FROM DIAGNOSTIC_EVENT WHERE text LIKE '%/%'")
    database.commit()
    database.execute("VACUUM")


if __name__ == "__main__":
    main()
