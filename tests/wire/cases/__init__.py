"""Checked inputs with their right answers: commands.txt and bytes_table.py."""
import json
import pathlib
from dataclasses import dataclass, field

from resp import NULL_ARRAY, Double, Error, Status

FOLDER = pathlib.Path(__file__).parent


class AnyOrder(list):
    """An array whose order is free."""


@dataclass
class CommandCase:
    name: str
    title: str
    notes: list
    commands: list = field(default_factory=list)
    expect: list = field(default_factory=list)


ESCAPES = {"n": 10, "r": 13, "t": 9, '"': 34, "\\": 92}


def split_words(line):
    """Words of a line; "..." with escapes. Returns bytes."""
    words, at = [], 0
    while at < len(line):
        if line[at] == " ":
            at += 1
        elif line[at] == '"':
            word, at = _quoted(line, at + 1)
            words.append(word)
        else:
            end = line.find(" ", at)
            end = len(line) if end < 0 else end
            words.append(line[at:end].encode("utf-8"))
            at = end
    return words


def _quoted(line, at):
    word = bytearray()
    while line[at] != '"':
        if line[at] != "\\":
            word += line[at].encode("utf-8")
            at += 1
        elif line[at + 1] == "x":
            word.append(int(line[at + 2 : at + 4], 16))
            at += 4
        else:
            word.append(ESCAPES[line[at + 1]])
            at += 2
    return bytes(word), at + 1


def _from_json(value):
    if isinstance(value, list):
        return [_from_json(item) for item in value]
    return value.encode("utf-8") if isinstance(value, str) else value


def parse_reply(text):
    if text.startswith("+"):
        return Status(text[1:].encode("utf-8"))
    if text.startswith("-") and not text[1:2].isdigit():
        return Error(text[1:].encode("utf-8"))
    if text.startswith("~"):
        return AnyOrder(_from_json(json.loads(text[1:])))
    return _from_json(json.loads(text))


def load_commands():
    found = []
    for number, line in enumerate((FOLDER / "commands.txt").read_text().splitlines(), 1):
        if line.startswith("== "):
            name, _, title = line[3:].partition(" ")
            notes = []
            if title.endswith("]"):
                title, _, tail = title[:-1].rpartition(" [")
                notes = tail.split(", ")
            found.append(CommandCase(name, title, notes))
        elif line.startswith("> "):
            found[-1].commands.append(split_words(line[2:]))
        elif line.startswith("< "):
            found[-1].expect.append(parse_reply(line[2:]))
        elif line and not line.startswith("#"):
            raise ValueError(f"commands.txt:{number}: {line}")
    for case in found:
        assert len(case.commands) == len(case.expect), case.name
    return found


def matches(expect, value):
    """True if a reply is the expected one: kinds count, not only texts."""
    if isinstance(expect, (Status, Error)):
        return type(value) is type(expect) and value == expect
    if expect is None:
        return value is None or value is NULL_ARRAY
    if isinstance(expect, list):
        if type(value) is not list or len(value) != len(expect):
            return False
        if not isinstance(expect, AnyOrder):
            return all(map(matches, expect, value))
        left = list(value)
        for item in expect:
            hit = next((i for i, other in enumerate(left) if matches(item, other)), None)
            if hit is None:
                return False
            del left[hit]
        return True
    if isinstance(expect, bytes):
        return type(value) in (bytes, Double) and value == expect
    return type(value) is int and value == expect


def flatten_pairs(value):
    """RESP3 nests [member, score]; RESP2 does not."""
    if type(value) is list and value and all(type(item) is list for item in value):
        return [part for item in value for part in item]
    return value
