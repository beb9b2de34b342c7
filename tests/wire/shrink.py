"""Makes a failing list of commands small: leaves out what is not needed for the
failure."""
import time


def shrink_list(items, fails, deadline):
    """The smallest part of `items` found for which fails(part) still holds."""
    items = list(items)
    chunk = max(1, len(items) // 2)
    while True:
        at, shorter = 0, False
        while at < len(items):
            if time.monotonic() > deadline:
                return items
            trial = items[:at] + items[at + chunk :]
            if fails(trial):
                items, shorter = trial, True
            else:
                at += chunk
        if chunk > 1:
            chunk //= 2
        elif not shorter:
            return items


def quote(word):
    """A word as redis-cli and yonder-cli read it."""
    if word and all(33 <= c < 127 and c not in b"\"'\\" for c in word):
        return word.decode()
    text = "".join(
        chr(c) if 32 <= c < 127 and c not in b'"\\' else f"\\x{c:02x}" for c in word
    )
    return f'"{text}"'


def show(commands):
    return "\n".join("  " + " ".join(map(quote, words)) for words in commands)
