"""Bytes sent to the server and all bytes that come back.

`send` is a list of segments, each its own write; `closed` tells whether the server
closes the connection after its answer. Names are kept for ever: docs and issues refer
to them. """
from dataclasses import dataclass


@dataclass
class Case:
    name: str
    title: str
    send: list
    expect: bytes = None
    expect_prefix: bytes = None  # for a reply that is checked by its beginning
    closed: bool = False
    auth: bool = False  # the server has requirepass pw
    resp: int = 2
    flush: bool = False
    notes: str = ""  # how Redis 7.0.15 differs


CASES = [
    Case(
        "R01",
        "blank lines and blanks around inline commands",
        send=[b"\r\n\r\n\nPING\r\n   PING    \r\nPING\thello\r\n"],
        expect=b"+PONG\r\n+PONG\r\n$5\r\nhello\r\n",
    ),
    Case(
        "R03",
        "unbalanced quotes",
        send=[b'ECHO "abc\r\nPING\r\n'],
        expect=b"-ERR Protocol error: unbalanced quotes in request\r\n",
        closed=True,
    ),
    Case(
        "R05",
        "escapes and quotes in inline commands",
        send=[b"ECHO \"a b\\x41\\n\"\r\nECHO 'a\\'b'\r\n"],
        expect=b"$5\r\na bA\n\r\n$3\r\na'b\r\n",
    ),
    Case(
        "R07",
        "empty and negative multibulk lengths are skipped",
        send=[b"*0\r\n*-1\r\n*-10\r\n*-2147483649\r\nPING\r\n"],
        expect=b"+PONG\r\n",
    ),
    Case(
        "R09",
        "a leading zero in the multibulk length",
        send=[b"*01\r\n$4\r\nPING\r\n"],
        expect=b"-ERR Protocol error: invalid multibulk length\r\n",
        closed=True,
    ),
    Case(
        "R11",
        "a blank in the multibulk length",
        send=[b"*1 \r\n$4\r\nPING\r\n"],
        expect=b"-ERR Protocol error: invalid multibulk length\r\n",
        closed=True,
    ),
    Case(
        "R13",
        "a multibulk length beyond 2^31-1",
        send=[b"*2147483648\r\n"],
        expect=b"-ERR Protocol error: invalid multibulk length\r\n",
        closed=True,
    ),
    Case(
        "R15",
        "a negative bulk length",
        send=[b"*1\r\n$-1\r\n"],
        expect=b"-ERR Protocol error: invalid bulk length\r\n",
        closed=True,
    ),
    Case(
        "R17",
        "a bulk length that is no number",
        send=[b"*1\r\n$abc\r\n"],
        expect=b"-ERR Protocol error: invalid bulk length\r\n",
        closed=True,
    ),
    Case(
        "R19",
        "a bulk of 512 MB is announced, nothing follows",
        send=[b"*2\r\n$4\r\nECHO\r\n$536870912\r\n"],
        expect=b"",
    ),
    Case(
        "R21",
        "an integer where a bulk belongs",
        send=[b"*2\r\n$4\r\nECHO\r\n:5\r\n"],
        expect=b"-ERR Protocol error: expected '$', got ':'\r\n",
        closed=True,
    ),
    Case(
        "R23",
        "a null where a bulk belongs",
        send=[b"*2\r\n$4\r\nECHO\r\n_\r\n"],
        expect=b"-ERR Protocol error: expected '$', got '_'\r\n",
        closed=True,
    ),
    Case(
        "R25",
        "the two bytes after a bulk are skipped unread",
        send=[b"*1\r\n$3\r\nPING\r\n"],
        expect=b"-ERR unknown command 'PIN', with args beginning with: \r\n",
    ),
    Case(
        "R27",
        "CR LF, NUL and 0xff inside a bulk",
        send=[b"*2\r\n$4\r\nECHO\r\n$8\r\na\r\nb\x00\xff\r\n\r\n"],
        expect=b"$8\r\na\r\nb\x00\xff\r\n\r\n",
    ),
    Case(
        "R29",
        "9001 arguments, the last length in two pieces",
        send=[
            b"*9002\r\n$4\r\nMGET\r\n",
            b"$8\r\nAAAAAAAA\r\n" * 9000,
            b"$",
            b"1\r\nx\r\n",
        ],
        expect_prefix=b"*9001\r\n$-1\r\n",
    ),
    Case(
        "R31",
        "an inline request without an end",
        send=[b"A" * 70000],
        expect=b"-ERR Protocol error: too big inline request\r\n",
        closed=True,
    ),
    Case(
        "R33",
        "a bulk length without an end",
        send=[b"*1\r\n$", b"1" * 70000],
        expect=b"-ERR Protocol error: too big bulk count string\r\n",
        closed=True,
    ),
    Case(
        "R35",
        "line ends in the arguments of an unknown command",
        send=[b"*2\r\n$3\r\nFOO\r\n$6\r\na\r\n+OK\r\n"],
        expect=b"-ERR unknown command 'FOO', with args beginning with: 'a  +OK' \r\n",
    ),
    Case(
        "R37",
        "a browser is sent away without an answer",
        send=[b"POST / HTTP/1.1\r\nHost: x\r\n\r\nPING\r\n"],
        expect=b"",
        closed=True,
    ),
    Case(
        "R39",
        "versions that HELLO refuses",
        send=[b"HELLO 4\r\nHELLO 1\r\nHELLO x\r\n"],
        expect=(
            b"-NOPROTO unsupported protocol version\r\n"
            b"-NOPROTO unsupported protocol version\r\n"
            b"-ERR Protocol version is not an integer or out of range\r\n"
        ),
    ),
    Case(
        "R41",
        "nothing is executed after QUIT",
        send=[b"PING\r\nQUIT\r\nPING\r\n"],
        expect=b"+PONG\r\n+OK\r\n",
        closed=True,
    ),
    Case(
        "R43",
        "a reply sent as a request",
        send=[b"$4\r\nPING\r\n"],
        expect=b"-ERR unknown command '$4', with args beginning with: \r\n+PONG\r\n",
    ),
    Case(
        "R45",
        "null replies of the GEO commands, RESP2",
        send=[
            b"GEOADD k 13.361389 38.115556 Palermo\r\nGEOPOS k nope\r\n"
            b"GEOHASH k Palermo nope\r\nGEODIST k Palermo nope\r\n"
            b"GEOPOS nokey a\r\n"
            b"GEOSEARCH nokey FROMLONLAT 15 37 BYRADIUS 1 km\r\n"
        ],
        expect=(
            b":1\r\n*1\r\n*-1\r\n*2\r\n$11\r\nsqc8b49rny0\r\n$-1\r\n$-1\r\n"
            b"*1\r\n*-1\r\n*0\r\n"
        ),
        flush=True,
    ),
    Case(
        "R47",
        "push messages among replies, RESP3",
        send=[b"SUBSCRIBE c\r\nPUBLISH c hi\r\nPING\r\nUNSUBSCRIBE c\r\nPING\r\n"],
        expect=(
            b">3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n:1\r\n>3\r\n$7\r\n"
            b"message\r\n$1\r\nc\r\n$2\r\nhi\r\n+PONG\r\n>3\r\n$11\r\n"
            b"unsubscribe\r\n$1\r\nc\r\n:0\r\n+PONG\r\n"
        ),
        resp=3,
        notes="7.0 pushes the message before the reply of PUBLISH",
    ),
    Case(
        "R49",
        "CLIENT REPLY OFF and SKIP",
        send=[
            b"CLIENT REPLY OFF\r\nPING\r\nBOGUS\r\nCLIENT REPLY ON\r\n"
            b"CLIENT REPLY SKIP\r\nPING\r\nPING x\r\n"
        ],
        expect=b"+OK\r\n$1\r\nx\r\n",
    ),
    Case(
        "X02",
        "before AUTH: more than 10 arguments",
        send=[b"*11\r\n"],
        expect=b"-ERR Protocol error: unauthenticated multibulk length\r\n",
        closed=True,
        auth=True,
    ),
    Case(
        "X04",
        "before AUTH: 10 arguments of 16384 bytes are allowed",
        send=[b"*10\r\n$16384\r\n"],
        expect=b"",
        auth=True,
    ),
    Case(
        "X06",
        "AUTH and the next command in one write",
        send=[b"*2\r\n$4\r\nAUTH\r\n$2\r\npw\r\n*1\r\n$4\r\nPING\r\n"],
        expect=b"+OK\r\n+PONG\r\n",
        auth=True,
    ),
]
