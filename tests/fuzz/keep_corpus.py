"""Keeps what a fuzzer found in one small file, which the test fuzz_corpus replays, and takes such a file apart again.

    tests/fuzz/keep_corpus.py keep FOLDER tests/fuzz/corpus/fuzz_kineto.inputs [--most-bytes 100000]
    tests/fuzz/keep_corpus.py unpack tests/fuzz/corpus/fuzz_kineto.inputs FOLDER

FOLDER should be what `fuzz_kineto -merge=1 FOLDER CORPUS…` left. Small inputs come first, until the file is full."""

import argparse
import hashlib
import pathlib
import struct


def keep(folder, file, most_bytes):
    inputs = {path.read_bytes() for path in folder.iterdir() if path.is_file()}
    kept, used = [], 0
    for content in sorted(inputs, key=lambda content: (len(content), content)):
        used += struct.calcsize("<I") + len(content)
        if used > most_bytes:
            break
        kept.append(struct.pack("<I", len(content)) + content)
    file.write_bytes(b"".join(kept))
    print(f"{file}: {len(kept)} of {len(inputs)} inputs, {file.stat().st_size} bytes")


def unpack(file, folder):
    folder.mkdir(parents=True, exist_ok=True)
    content, at = file.read_bytes(), 0
    while at < len(content):
        length, = struct.unpack_from("<I", content, at)
        at += struct.calcsize("<I")
        one = content[at:at + length]
        (folder / hashlib.sha1(one).hexdigest()).write_bytes(one)
        at += length


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("keep", "unpack"))
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("target", type=pathlib.Path)
    parser.add_argument("--most-bytes", type=int, default=100_000)
    wanted = parser.parse_args()
    if wanted.action == "keep":
        keep(wanted.source, wanted.target, wanted.most_bytes)
    else:
        unpack(wanted.source, wanted.target)


if __name__ == "__main__":
    main()
