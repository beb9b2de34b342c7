"""A model of what a server tells its clients unasked: messages of channels and patterns,
keyspace notifications, invalidations of client-side caches. push_driver.py lets clients do
random things and compares.

The model is written from Redis's documentation, not from our server, and is proven beside
redis-server 7.0.15 (test_push.py). It knows which events a command causes; what the
commands answer is tested elsewhere, but for those of publish/subscribe and tracking.

Order: messages come in the order in which they were published; of one message, the patterns
that match it follow the channel, in any order. Invalidations are compared in their order
where one client has changed something for another; those for the client itself, for the
target of a redirection and of BCAST, by content.
"""
import collections
import fnmatch

import resp

OK = resp.Status(b"OK")
KINDS = ("", "p", "s")
CLASSES = {"del": "g", "expire": "g", "persist": "g", "rename_from": "g",
           "rename_to": "g", "move_from": "g", "move_to": "g", "copy_to": "g",
           "keymiss": "m", "new": "n", "geosearchstore": "z"}
AT_ONCE = ("MULTI", "EXEC", "DISCARD", "RESET")
PUBSUB_MODE = ("SUBSCRIBE", "UNSUBSCRIBE", "PSUBSCRIBE", "PUNSUBSCRIBE", "SSUBSCRIBE",
               "SUNSUBSCRIBE", "PING", "RESET")
INVALIDATE = b"__redis__:invalidate"


def class_of(event):
    return CLASSES.get(event) or ("z" if event[0] == "z" else "$")


def error(text):
    return resp.Error(b"ERR " + text.encode())




class Tracking:
    def __init__(self):
        self.flags = set()
        self.prefixes = []
        self.redirect = 0
        self.is_broken = False


class Client:
    def __init__(self, number, version):
        self.number = number
        self.version = version
        self.db = 0
        self.subs = {kind: [] for kind in KINDS}
        self.queue = None
        self.has_failed = False
        self.tracking = None
        self.is_caching = False
        self.is_target = False  # of somebody's redirection, at some time
        self.forget_pushes()

    def forget_pushes(self):
        self.messages = []  # groups: [the channel's or None, [the patterns']]
        self.stale = []  # invalidations in order
        self.acks = []  # of subscribing
        self.is_loose = False  # the order of `stale` is not defined

    def n_subs(self):
        return sum(map(len, self.subs.values()))

    def n_counted(self, kind):
        subs = self.subs
        return len(subs["s"]) if kind == "s" else len(subs[""]) + len(subs["p"])

    def in_pubsub_mode(self):
        return self.version == 2 and self.n_subs() > 0


class Model:
    def __init__(self, is_redis):
        self.is_redis = is_redis
        self.dbs = [{}, {}]  # key -> [kind, value, expires]
        self.clients = {}  # by number
        self.events = ""
        self.readers = collections.defaultdict(dict)  # key -> clients, default mode
        self.changed = {}  # key -> the client that changed it in this step
        self.n_pushes = collections.Counter()

    # -- messages --

    def publish(self, channel, message, is_shard=False):
        n = 0
        channel, message = channel.encode(), message.encode()
        for client in self.clients.values():
            plain, patterns = None, []
            kind = "s" if is_shard else ""
            if channel in client.subs[kind]:
                plain = [kind.encode() + b"message", channel, message]
            if not is_shard:
                patterns = [[b"pmessage", pattern, channel, message]
                            for pattern in client.subs["p"]
                            if fnmatch.fnmatchcase(channel.decode(), pattern.decode())]
            if plain or patterns:
                client.messages.append((plain, patterns))
                n += bool(plain) + len(patterns)
        return n

    def event(self, name, db, key):
        if class_of(name) not in self.events:
            return
        for letter, channel, message in (("K", f"__keyspace@{db}__:{key}", name),
                                         ("E", f"__keyevent@{db}__:{name}", key)):
            if letter in self.events:
                self.n_pushes["events"] += self.publish(channel, message)

    # -- invalidations --

    def tell(self, client, keys, by, is_bcast=False):
        tracking = client.tracking
        to = client
        if tracking.redirect:
            to = self.clients.get(tracking.redirect)
            if to is None:
                tracking.is_broken = True
                if client.version == 3:
                    client.stale.append([b"tracking-redir-broken", tracking.redirect])
                    client.is_loose = True
                return
        if to.version == 3:
            to.stale.append([b"invalidate", keys])
        elif tracking.redirect and to.n_subs() > 0:
            to.stale.append([b"message", INVALIDATE, keys])
        else:
            return
        self.n_pushes["bcast" if is_bcast else "all" if keys is None else "key"] += 1
        to.is_loose |= is_bcast or to is by or to.is_target

    def touch(self, db, key, event, by):
        self.changed[key] = by
        for client in list(self.readers.pop(key, {})):
            tracking = client.tracking
            if tracking and "bcast" not in tracking.flags and not (
                    client is by and "noloop" in tracking.flags):
                self.tell(client, [key.encode()], by)
        self.event(event, db, key)

    def touch_all(self, by):
        for client in self.clients.values():
            if client.tracking:
                self.tell(client, None, by)
        self.readers.clear()

    def broadcast(self):
        """What the loop does behind the step."""
        for client in self.clients.values():
            if not client.tracking:
                continue
            for prefix in client.tracking.prefixes:
                keys = sorted(key.encode() for key, by in self.changed.items()
                              if key.startswith(prefix) and not (
                                  by is client and "noloop" in client.tracking.flags))
                if keys:
                    self.tell(client, keys, None, is_bcast=True)
        self.changed = {}

    def note_read(self, client, keys):
        tracking = client.tracking
        if tracking is None or "bcast" in tracking.flags:
            return
        if "optin" in tracking.flags and not client.is_caching:
            return
        if "optout" in tracking.flags and client.is_caching:
            return
        for key in keys:
            self.readers[key][client] = True

    # -- commands on keys: `run` returns nothing, or an error's first word --

    def look_up(self, client, key):
        value = self.dbs[client.db].get(key)
        if value is None:
            self.event("keymiss", client.db, key)
        return value

    def read(self, client, *keys):
        for key in keys:
            self.look_up(client, key)
        self.note_read(client, keys)

    def change(self, client, key, event, value=None, is_replaced=False):
        """Stores a value (None: as it is) and tells of it."""
        keys = self.dbs[client.db]
        if value is not None:
            if is_replaced or key not in keys:
                self.event("new", client.db, key)
            keys[key] = value
        self.touch(client.db, key, event, client)

    def remove(self, client, key):
        del self.dbs[client.db][key]
        self.touch(client.db, key, "del", client)

    def is_wrong(self, client, key, kind):
        value = self.dbs[client.db].get(key)
        return value is not None and value[0] != kind

    def do_mget(self, client, *keys):
        self.read(client, *keys)

    do_get = do_exists = do_type = do_ttl = do_zcard = do_mget

    def do_zscore(self, client, key, _member):
        self.read(client, key)

    do_geopos = do_zscore

    def do_getdel(self, client, key):
        if self.look_up(client, key) and not self.is_wrong(client, key, "s"):
            self.remove(client, key)

    def do_set(self, client, key, value, *options):
        if "GET" in options:
            self.look_up(client, key)
            if self.is_wrong(client, key, "s"):
                return
        if "NX" in options and key in self.dbs[client.db]:
            return
        self.change(client, key, "set", ["s", value, "EX" in options])
        if "EX" in options:
            self.change(client, key, "expire")

    def do_append(self, client, key, text):
        if not self.is_wrong(client, key, "s"):
            old = self.dbs[client.db].get(key, ["s", "", False])
            self.change(client, key, "append", ["s", old[1] + text, old[2]])

    def do_mset(self, client, *pairs):
        if not self.is_redis:  # all are there at once, or none of them is
            keys = self.dbs[client.db]
            for key in dict.fromkeys(key for key in pairs[::2] if key not in keys):
                self.event("new", client.db, key)
                keys[key] = None
        for key, value in zip(pairs[::2], pairs[1::2]):
            self.change(client, key, "set", ["s", value, False])

    def do_msetnx(self, client, *pairs):
        if not any(key in self.dbs[client.db] for key in pairs[::2]):
            self.do_mset(client, *pairs)

    def add(self, client, key, pairs, event):
        if self.is_wrong(client, key, "z"):
            return
        old = self.dbs[client.db].get(key, ["z", {}, False])
        new = {**old[1], **pairs}
        if new != old[1]:
            self.change(client, key, event, ["z", new, old[2]])

    def do_zadd(self, client, key, *pairs):
        self.add(client, key, {m: int(s) for s, m in zip(pairs[::2], pairs[1::2])}, "zadd")

    def do_geoadd(self, client, key, _longitude, _latitude, member):
        self.add(client, key, {member: "place"}, "zadd")

    def take(self, client, key, members, event):
        if members:
            value = self.dbs[client.db][key]
            for member in members:
                del value[1][member]
            self.change(client, key, event)
            if not value[1]:
                self.remove(client, key)

    def members(self, client, key):
        value = self.dbs[client.db].get(key)
        return value[1] if value and value[0] == "z" else {}

    def do_zrem(self, client, key, member):
        self.take(client, key, [m for m in self.members(client, key) if m == member],
                  "zrem")

    def do_zremrangebyrank(self, client, key, _first, _last):
        self.take(client, key, list(self.members(client, key)), "zremrangebyrank")

    def store(self, client, to, source, event):
        value = self.look_up(client, source)
        if self.is_wrong(client, source, "z"):
            return
        if value:
            self.change(client, to, event, ["z", dict(value[1]), False])
        elif to in self.dbs[client.db]:
            self.remove(client, to)

    def do_zrangestore(self, client, to, source, _first, _last):
        self.store(client, to, source, "zrangestore")

    def do_zunionstore(self, client, to, _n, source):
        self.store(client, to, source, "zunionstore")

    def do_del(self, client, *keys):
        for key in keys:
            if key in self.dbs[client.db]:
                self.remove(client, key)

    do_unlink = do_del

    def do_expire(self, client, key, seconds):
        value = self.dbs[client.db].get(key)
        if value is None:
            return
        if int(seconds) <= 0:
            self.remove(client, key)
        else:
            value[2] = True
            self.change(client, key, "expire")

    def do_persist(self, client, key):
        value = self.dbs[client.db].get(key)
        if value and value[2]:
            value[2] = False
            self.change(client, key, "persist")

    def do_rename(self, client, old, new):
        keys = self.dbs[client.db]
        if old in keys and old != new:
            keys[new] = keys.pop(old)
            self.event("new", client.db, new)
            self.touch(client.db, old, "rename_from", client)
            self.touch(client.db, new, "rename_to", client)

    def do_renamenx(self, client, old, new):
        if new not in self.dbs[client.db]:
            self.do_rename(client, old, new)

    def do_copy(self, client, old, new, *replace):
        keys = self.dbs[client.db]
        if old == new:
            return
        value = self.look_up(client, old)
        if value and (replace or new not in keys):
            copy = dict(value[1]) if value[0] == "z" else value[1]
            self.change(client, new, "copy_to", [value[0], copy, value[2]], True)

    def do_move(self, client, key, db):
        db = int(db)
        if db == client.db or key in self.dbs[db] or key not in self.dbs[client.db]:
            return
        self.dbs[db][key] = self.dbs[client.db].pop(key)
        self.event("new", db, key)
        self.touch(client.db, key, "move_from", client)
        self.touch(db, key, "move_to", client)

    def do_flushdb(self, client):
        self.dbs[client.db].clear()
        self.touch_all(client)

    def do_flushall(self, client):
        for keys in self.dbs:
            keys.clear()
        self.touch_all(client)

    def do_select(self, client, db):
        client.db = int(db)

    # -- publish/subscribe --

    def do_publish(self, _client, channel, message):
        return self.publish(channel, message)

    def do_spublish(self, _client, channel, message):
        return self.publish(channel, message, is_shard=True)

    def subscribe(self, client, kind, names):
        for name in names:
            if name.encode() not in client.subs[kind]:
                client.subs[kind].append(name.encode())
            client.acks.append([kind.encode() + b"subscribe", name.encode(),
                                client.n_counted(kind)])

    def unsubscribe(self, client, kind, names):
        verb = kind.encode() + b"unsubscribe"
        for name in [name.encode() for name in names] or list(client.subs[kind]) or [None]:
            if name in client.subs[kind]:
                client.subs[kind].remove(name)
            client.acks.append([verb, name, client.n_counted(kind)])

    def do_pubsub(self, _client, what, *words):
        kind = "s" if what.startswith("SHARD") else "p" if what == "NUMPAT" else ""
        listeners = collections.Counter(
            name for client in self.clients.values() for name in client.subs[kind])
        if what == "NUMPAT":
            return len(listeners)
        if what.endswith("NUMSUB"):
            return [each for word in words for each in (
                word.encode(), listeners[word.encode()])]
        return sorted(name for name in listeners if not words or fnmatch.fnmatchcase(
            name.decode(), words[0]))

    # -- tracking --

    def do_client(self, client, what, *words):
        return getattr(self, "client_" + what.lower())(client, *words)

    def client_getredir(self, client):
        return client.tracking.redirect if client.tracking else -1

    def client_trackinginfo(self, client):
        tracking = client.tracking
        if tracking is None:
            return [[b"off"], -1, []]
        flags = {b"on"} | {flag.encode() for flag in tracking.flags}
        if client.is_caching:
            flags |= {b"caching-yes"} if "optin" in tracking.flags else {b"caching-no"}
        if tracking.is_broken:
            flags.add(b"broken_redirect")
        return [sorted(flags), tracking.redirect,
                sorted(prefix.encode() for prefix in tracking.prefixes)]

    def client_caching(self, client, yes):
        if client.tracking is None:
            return error("CLIENT CACHING can be called only when the client is in "
                         "tracking mode with OPTIN or OPTOUT mode enabled")
        mode = "optin" if yes == "YES" else "optout"
        if mode not in client.tracking.flags:
            return error(f"CLIENT CACHING {yes} is only valid when tracking is enabled in "
                         f"{mode.upper()} mode.")
        client.is_caching = True
        return OK

    def client_tracking(self, client, on, *words):
        flags, prefixes, redirect = set(), [], 0
        words = list(words)
        while words:
            word = words.pop(0)
            if word == "REDIRECT":
                redirect = int(words.pop(0))
                if redirect not in self.clients:
                    return error("The client ID you want redirect to does not exist")
            elif word == "PREFIX":
                prefixes.append(words.pop(0))
            else:
                flags.add(word.lower())
        if on == "OFF":
            client.tracking = None
            client.is_caching = False
            return OK
        reason = self.check_modes(client.tracking, flags, prefixes)
        if reason:
            return error(reason)
        tracking = client.tracking = client.tracking or Tracking()
        tracking.flags, tracking.redirect, tracking.is_broken = flags, redirect, False
        if "bcast" in flags:
            for prefix in prefixes or [""]:
                if prefix not in tracking.prefixes:
                    tracking.prefixes.append(prefix)
        if redirect:
            self.clients[redirect].is_target = True
        return OK

    @staticmethod
    def check_modes(tracking, flags, prefixes):
        old = tracking.flags if tracking else flags
        if prefixes and "bcast" not in flags:
            return "PREFIX option requires BCAST mode to be enabled"
        if ("bcast" in old) != ("bcast" in flags):
            return ("You can't switch BCAST mode on/off before disabling tracking for this "
                    "client, and then re-enabling it with a different mode.")
        if "bcast" in flags and flags & {"optin", "optout"}:
            return "OPTIN and OPTOUT are not compatible with BCAST"
        if flags >= {"optin", "optout"}:
            return "You can't specify both OPTIN mode and OPTOUT mode"
        if flags | old >= {"optin", "optout"}:
            return ("You can't switch OPTIN/OPTOUT mode before disabling tracking for this "
                    "client, and then re-enabling it with a different mode.")
        have = sorted(tracking.prefixes) if tracking else []
        for i, prefix in enumerate(prefixes):
            for kind, others in (("an existing", have),
                                 ("another provided", prefixes[i + 1:])):
                for other in others:
                    if prefix.startswith(other) or other.startswith(prefix):
                        return (f"Prefix '{prefix}' overlaps with {kind} prefix '{other}'. "
                                "Prefixes for a single client must not overlap.")
        return None

    # -- requests --

    def run(self, client, words):
        if words[0] in PUBSUB_MODE and "SUBSCRIBE" in words[0]:
            kind = {"P": "p", "S": "s"}.get(words[0][0], "")
            kind = "" if words[0] == "SUBSCRIBE" else kind
            how = self.unsubscribe if "UNSUB" in words[0] else self.subscribe
            return how(client, kind, words[1:])
        return getattr(self, "do_" + words[0].lower())(client, *words[1:])

    def request(self, client, words):
        """Returns the reply; None: not predicted."""
        reply = self.answer(client, words)
        if client.queue is None and words[0] != "CLIENT":
            client.is_caching = False
        return reply

    def answer(self, client, words):
        if words[0] == "NONSENSE":
            client.has_failed = client.queue is not None
            return resp.Error(
                b"ERR unknown command 'NONSENSE', with args beginning with: ")
        if client.in_pubsub_mode() and words[0] not in PUBSUB_MODE:
            return self.refuse(words)
        if words[0] in AT_ONCE:
            return getattr(self, words[0].lower())(client)
        if client.queue is not None:
            client.queue.append(words)
            return resp.Status(b"QUEUED")
        if words[0] == "HELLO":
            client.version = int(words[1])
            return None
        return self.run(client, words)

    @staticmethod
    def refuse(words):
        name = "|".join(words[:2]) if words[0] in ("CLIENT", "PUBSUB") else words[0]
        text = (f"Can't execute '{name.lower()}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / "
                "PING / QUIT / RESET are allowed in this context")
        if words[0] == "EXEC":
            return resp.Error(
                b"EXECABORT Transaction discarded because of: " + text.encode())
        return error(text)

    def multi(self, client):
        client.queue = []
        client.has_failed = False
        return OK

    def discard(self, client):
        if client.queue is None:
            return error("DISCARD without MULTI")
        client.queue = None
        return OK

    def exec(self, client):
        if client.queue is None:
            return error("EXEC without MULTI")
        queue, client.queue = client.queue, None
        if client.has_failed:
            return resp.Error(
                b"EXECABORT Transaction discarded because of previous errors.")
        return [self.run(client, words) for words in queue]

    def reset(self, client):
        client.subs = {kind: [] for kind in KINDS}
        client.tracking, client.queue = None, None
        client.version, client.db = 2, 0
        return resp.Status(b"RESET")

    def forget(self, client):
        del self.clients[client.number]
        for readers in self.readers.values():
            readers.pop(client, None)
