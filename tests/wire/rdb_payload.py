"""The frame of what DUMP gives: a type and a body, then the version of the format (two
bytes) and a checksum (CRC-64 of Jones, eight bytes), both with the low byte first."""
import struct

_REVERSED_POLYNOMIAL = 0x95AC9329AC4BC9B5
N_FOOTER = 10


def _make_table():
    table = []
    for i in range(256):
        crc = i
        for _ in range(8):
            crc = (crc >> 1) ^ (_REVERSED_POLYNOMIAL if crc & 1 else 0)
        table.append(crc)
    return table


_TABLE = _make_table()


def crc64(data):
    crc = 0
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc


def seal(body, version=10):
    """A payload with the right checksum."""
    head = body + struct.pack("<H", version)
    return head + struct.pack("<Q", crc64(head))


def body_of(payload):
    return payload[:-N_FOOTER]


def version_of(payload):
    return struct.unpack("<H", payload[-N_FOOTER:-8])[0]


def is_sealed(payload):
    return len(payload) > N_FOOTER and (
        struct.pack("<Q", crc64(payload[:-8])) == payload[-8:]
    )
