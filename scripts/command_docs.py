"""Writes down what a server's COMMAND DOCS tells: README's list, docs/commands.md."""

import collections

GROUPS = {
    "geo": "Geo",
    "sorted-set": "Sorted sets",
    "string": "Strings",
    "generic": "Keys",
    "transactions": "Transactions",
    "connection": "Connection",
    "server": "Server",
    "pubsub": "Publish, subscribe",
    "cluster": "Cluster",
}
HEAD = """# Commands

Every command, with its arguments, what it costs, and how it differs from Redis 8.0; where nothing is said it answers
byte for byte as Redis does, but for what [compat.md](compat.md) says of all commands. Written by `scripts/check_docs --fix`
from the command tables in `src/cmd/` and `src/server/`, which `COMMAND DOCS` shows; `make test` keeps it in step.
"""


def pairs(items):
    return zip(items[::2], items[1::2])


def fields_of(doc):
    return {key.decode(): value for key, value in pairs(doc)}


def commands(server):
    """{group: [(name, fields)]}, subcommands left in the fields of their container."""
    groups = collections.defaultdict(list)
    with server.connect() as conn:
        docs = conn.command("COMMAND", "DOCS")
    for name, doc in sorted(pairs(docs)):
        fields = fields_of(doc)
        groups[fields["group"].decode()].append((name.decode().upper(), fields))
    return {group: groups[group]
            for group in sorted(groups, key=lambda g: (list(GROUPS) + [g]).index(g))}


def subcommands(fields):
    return sorted((name.decode().upper().replace("|", " "), fields_of(doc))
                  for name, doc in pairs(fields.get("subcommands", [])))


def all_alike(below):
    """CLUSTER: its subcommands answer the same."""
    return len({fields["summary"] for _, fields in below}) == 1


# ---- README ----


def command_list(server):
    rows = ["| group | commands |\n| --- | --- |\n"]
    for group, found in commands(server).items():
        texts = []
        for title, fields in found:
            below = subcommands(fields)
            names = [] if all_alike(below) else [name.partition(" ")[2] for name, _ in below]
            texts.append(f"`{title}`" + (f" ({', '.join(f'`{n}`' for n in names)})"
                                         if names else ""))
        rows.append(f"| {GROUPS.get(group, group)} | {', '.join(texts)} |\n")
    return "".join(rows)


# ---- docs/commands.md ----


def usage_of(arguments):
    return " ".join(usage(fields_of(argument)) for argument in arguments)


def usage(argument):
    """One argument as people write it: "[LIMIT offset count]"."""
    kind = argument["type"].decode()
    token = argument.get("token", b"").decode()
    flags = {flag.decode() for flag in argument.get("flags", [])}
    if kind == "pure-token":
        text, token = token, ""
    elif kind == "oneof":
        text = " | ".join(usage(fields_of(a)) for a in argument["arguments"])
        if "optional" not in flags or token:
            text = f"<{text}>"
    elif kind == "block":
        text = usage_of(argument["arguments"])
    else:
        text = argument["name"].decode()
    once = f"{token} {text}" if token else text
    if "multiple" in flags:
        again = once if "multiple_token" in flags else text
        once = f"{once} [{again} ...]"
    return f"[{once}]" if "optional" in flags else once


def cell(text):
    return text.replace("|", "\\|")


def row(title, fields):
    if "deprecated_since" in fields:
        instead = fields.get("replaced_by", b"").decode().replace("`!", "`")
        note = f"deprecated since {fields['deprecated_since'].decode()}"
        note += f": {instead}" if instead else ""
    else:
        note = ""
    differs = fields.get("differs", b"").decode()
    call = f"{title} {usage_of(fields.get('arguments', []))}".strip()
    cells = [f"`{cell(call)}`", cell(fields["summary"].decode()),
             cell(fields["complexity"].decode()), cell("; ".join(filter(None, [differs, note])))]
    return f"| {' | '.join(cells)} |\n"


def reference(server):
    text = [HEAD]
    for group, found in commands(server).items():
        text.append(f"\n## {GROUPS.get(group, group)}\n\n"
                    "| command | what it does | complexity | difference from Redis |\n"
                    "| --- | --- | --- | --- |\n")
        for title, fields in found:
            below = subcommands(fields)
            if not below or "arguments" in fields or title == "COMMAND":
                text.append(row(title, fields))
            if all_alike(below):
                names = " | ".join(name.partition(" ")[2] for name, _ in below)
                below = [(f"{title} <{names}>", below[0][1])]
            text += [row(*sub) for sub in below]
    return "".join(text)
