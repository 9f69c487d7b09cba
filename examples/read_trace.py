#!/usr/bin/env python3
"""Prints the kernels of a trace of gprof-cli with their number and total time, or all records of one kind.

    read_trace.py run.trace
    read_trace.py run.trace 34       the records of kind 34 (nvtx_payload), a line each: the values of its columns

Shows how little it takes to read the format without gprof-cli; docs/trace-format.md describes it and lists the kinds.
Columns of newer versions, damaged chunks and kinds that are not known here are no problem: they are skipped. Numbers
are printed as they are stored: names as the ids of their strings, signed numbers in zigzag form. Traces of
`profile --compress` need Python 3.14, or the module zstandard (pip install zstandard).
"""
import struct
import sys
import zlib

MAGIC = b"\xa9gprof\r\n"
HEADER = struct.Struct("<8s4H4IQQII3QQII")  # 96 bytes
STRING, KERNEL, FLAG_ZSTD = 1, 10, 1


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def varints(data):
    at = 0
    while at < len(data):
        value, at = varint(data, at)
        yield value


def unzigzag(value):
    return (value >> 1) ^ -(value & 1)


def column(encoding, data, count):
    """The values of a column; docs/trace-format.md, Encodings."""
    if encoding == 5:  # text: (length, bytes) a record
        at, texts = 0, []
        for _ in range(count):
            size, at = varint(data, at)
            texts.append(data[at:at + size])
            at += size
        return texts
    numbers = list(varints(data))
    if encoding == 0:  # constant
        return numbers * count
    if encoding == 1:  # varint
        return numbers
    if encoding == 2:  # differences
        steps = [unzigzag(n) for n in numbers]
    else:  # runs of (count, value), or of (count, difference)
        pairs = zip(numbers[::2], numbers[1::2])
        steps = [v if encoding == 3 else unzigzag(v) for n, v in pairs for _ in range(n)]
    if encoding == 3:
        return steps
    values, value = [], 0
    for step in steps:
        value = (value + step) % 2**64
        values.append(value)
    return values


def unpack(body, size):
    """A body that is compressed with zstd."""
    try:
        from compression import zstd  # Python 3.14
        return zstd.decompress(body)
    except ImportError:
        pass
    try:
        import zstandard
    except ImportError:
        sys.exit("read_trace.py: the trace is compressed (profile --compress): pip install zstandard, or use Python 3.14")
    return zstandard.ZstdDecompressor().decompress(body, max_output_size=size)


def chunks(data):
    """Process, kind and body of every chunk with good checksums; what is damaged is stepped over."""
    at = data.find(MAGIC)
    while at >= 0 and at + HEADER.size <= len(data):
        (_, _, flags, kind, header_bytes, _, body_bytes, unpacked_bytes, pid, host, ticks, image, _, _, _, _, _, body_crc,
         header_crc) = HEADER.unpack_from(data, at)
        body = data[at + HEADER.size:at + HEADER.size + body_bytes]
        if zlib.crc32(data[at:at + HEADER.size - 4]) != header_crc or zlib.crc32(body) != body_crc:
            at = data.find(MAGIC, at + 1)
            continue
        if flags & FLAG_ZSTD:
            body = unpack(body, unpacked_bytes)
        yield (host, ticks, pid, image), kind, body
        at = data.find(MAGIC, at + header_bytes + body_bytes)


def blocks(body):
    """Kind and columns of every block."""
    at = 0
    while at < len(body):
        kind, at = varint(body, at)
        count, at = varint(body, at)
        column_count, at = varint(body, at)
        size, at = varint(body, at)
        end, columns = at + size, []
        for _ in range(column_count):
            encoding = body[at]
            length, at = varint(body, at + 1)
            columns.append(column(encoding, body[at:at + length], count))
            at += length
        yield kind, columns
        at = end


def print_kind(data, wanted):
    """The records of one kind; columns of bytes (payloads, texts) in hexadecimal."""
    for (_, _, pid, _), _, body in chunks(data):
        for kind, columns in blocks(body):
            if kind == wanted:
                for row in zip(*columns):
                    print(pid, *(v.hex() or "-" if isinstance(v, bytes) else v for v in row))


def main():
    with open(sys.argv[1], "rb") as file:
        data = file.read()
    if len(sys.argv) > 2:
        print_kind(data, int(sys.argv[2]))
        return
    names, kernels = {}, {}
    for process, _, body in chunks(data):
        for kind, columns in blocks(body):
            if kind == STRING:
                ids, texts = columns[:2]
                names.update(((process, i), text) for i, text in zip(ids, texts))
            elif kind == KERNEL:  # columns 1 and 6 are duration_ns and name
                for duration, name in zip(columns[1], columns[6]):
                    text = names.get((process, name), b"<name #%d>" % name)
                    count, total = kernels.get(text, (0, 0))
                    kernels[text] = count + 1, total + duration
    print(f"{'total_ns':>15} {'count':>9}  kernel")
    for text, (count, total) in sorted(kernels.items(), key=lambda k: (-k[1][1], k[0])):
        print(f"{total:15} {count:9}  {text.decode(errors='backslashreplace')}")


if __name__ == "__main__":
    main()
