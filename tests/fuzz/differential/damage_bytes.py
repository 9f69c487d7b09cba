"""Damage to the bytes of a trace: cut off, flipped, chunks swapped, or bodies changed and their checksums made anew."""

import struct
import zlib

# docs/trace-format.md: the header of a chunk
MAGIC = b"\xa9gprof\r\n"
HEADER_BYTES = 96
BODY_SIZE_AT, BODY_CRC_AT, HEADER_CRC_AT = 20, 88, 92
HEADER_FIELDS = [(8, 2), (10, 2), (12, 2), (16, 4), (24, 4), (28, 4), (32, 8), (40, 8), (48, 4), (52, 4), (56, 8),
                 (64, 8), (72, 8)]
LARGE_BYTES = 300_000


def split(data):
    chunks, at = [], data.find(MAGIC)
    while 0 <= at <= len(data) - HEADER_BYTES:
        size = HEADER_BYTES + struct.unpack_from("<I", data, at + BODY_SIZE_AT)[0]
        chunks.append(data[at:at + size])
        at = data.find(MAGIC, at + size)
    return chunks


def sealed(header, body):
    """A chunk whose size and checksums are right."""
    header = bytearray(header)
    struct.pack_into("<I", header, BODY_SIZE_AT, len(body))
    struct.pack_into("<I", header, BODY_CRC_AT, zlib.crc32(body))
    struct.pack_into("<I", header, HEADER_CRC_AT, zlib.crc32(bytes(header[:HEADER_CRC_AT])))
    return bytes(header) + body


def with_other_body(rng, chunk):
    body = bytearray(chunk[HEADER_BYTES:])
    most = min(64, len(body)) if rng.random() < 0.5 else len(body)  # what comes first says how to read the rest
    for _ in range(rng.choice([1, 1, 3, 10]) if body else 0):
        at = rng.randrange(most)
        body[at] = rng.choice([body[at] ^ (1 << rng.randrange(8)), rng.randrange(256), 0, 0x80, 0xFF])
    return sealed(chunk[:HEADER_BYTES], bytes(body))


def with_bytes_put_in(rng, chunk):
    body = chunk[HEADER_BYTES:]
    at = rng.randrange(len(body) + 1)
    return sealed(chunk[:HEADER_BYTES],
                  body[:at] + rng.randbytes(rng.choice([1, 1, 9])) + body[at + rng.choice([0, 1, 9]):])


def with_other_header(rng, chunk):
    header = bytearray(chunk[:HEADER_BYTES])
    at, size = rng.choice(HEADER_FIELDS)
    old = int.from_bytes(header[at:at + size], "little")
    new = rng.choice([0, 1, old + 1, max(0, old - 1), rng.getrandbits(8 * size), old * 2]) % (1 << (8 * size))
    header[at:at + size] = new.to_bytes(size, "little")
    return sealed(header, chunk[HEADER_BYTES:])


CHANGES = {"body": with_other_body, "put in": with_bytes_put_in, "header": with_other_header}


def with_chunks_damaged(rng, chunks, damage):
    chunks = list(chunks)
    for _ in range(rng.choice([1, 1, 2, 6])):
        one, other = rng.randrange(len(chunks)), rng.randrange(len(chunks))
        if damage in CHANGES:
            chunks[one] = CHANGES[damage](rng, chunks[one])
        elif damage == "swap":
            chunks[one], chunks[other] = chunks[other], chunks[one]
        elif damage == "repeat":
            chunks.insert(other, chunks[one])
        elif len(chunks) > 1:
            del chunks[one]
    return b"".join(chunks)


def with_bits_flipped(rng, data):
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 5, 50])):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(data)


def with_garbage(rng, data):
    at = rng.randrange(len(data))
    return data[:at] + rng.randbytes(rng.choice([1, HEADER_BYTES, 1000])) + data[at + rng.choice([0, 1, 500]):]


def damaged(rng, data):
    chunks = split(data)
    if not chunks:
        return data[:rng.randint(0, len(data))]
    if len(data) > LARGE_BYTES and len(chunks) > 8:  # a part is enough
        first = rng.randrange(len(chunks) - 4)
        chunks = chunks[:min(first, 6)] + chunks[first:first + rng.randint(2, 8)]
    damage = rng.choice(
        ["truncate", "flip", "garbage", "body", "body", "body", "put in", "header", "swap", "repeat", "drop"])
    data = b"".join(chunks)
    if damage == "truncate":
        return data[:rng.randrange(len(data))]
    if damage == "flip":
        return with_bits_flipped(rng, data)
    if damage == "garbage":
        return with_garbage(rng, data)
    return with_chunks_damaged(rng, chunks, damage)
