"""yonder-cli import: good rows are loaded, bad ones told with their line, whatever the file."""
import os
import re
import resource
import socket
import subprocess
import threading

import pytest

from servers import ROOT, binary, free_port
from test_cli import Terminal

TOTALS = re.compile(r"([0-9,]+) rows in [0-9.]+ s \([0-9,]+ rows/s\): ([0-9,]+) added, "
                    r"([0-9,]+) updated \(id was there already\), ([0-9,]+) rejected")


class Result:
    def __init__(self, done):
        self.status = done.returncode
        self.out = done.stdout.decode()
        self.err = done.stderr.decode()
        found = TOTALS.search(self.out)
        self.totals = found and tuple(int(n.replace(",", "")) for n in found.groups())


def load(port, file, *options, key="k", **more):
    return Result(subprocess.run(
        [str(binary("yonder-cli")), "-p", str(port), "import", str(file), "--key", key, *options],
        capture_output=True, timeout=300, **more))


@pytest.fixture
def import_text(server, tmp_path):
    def run(text, *options):
        path = tmp_path / "in.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return load(server.port, path, *options)
    return run


def members(client):
    return client.command("ZRANGE", "k", "0", "-1")


# ---- what is read -----------------------------------------------------------

def test_cities(server, client):
    result = load(server.port, ROOT / "data/cities.csv", "--lon-column", "lon", "--lat-column",
                  "lat", "--id-column", "id")
    assert result.status == 0
    assert result.totals == (135233, 135233, 0, 0)
    # a machine with other things to do has time to report progress
    assert re.sub(r"(?m)^[0-9,]+ rows \(\d+ %\), [0-9,]+ rows/s\n", "", result.err) == ""
    assert client.command("ZCARD", "k") == 135233
    assert client.command("GEODIST", "k", "2988507", "2643743", "km") == b"343.8680"


def test_the_same_file_twice(import_text):
    text = "id,lon,lat\na,1,2\nb,3,4\na,5,6\n"
    assert import_text(text).totals == (3, 2, 1, 0)
    assert import_text(text).totals == (3, 0, 3, 0)


@pytest.mark.parametrize("header", [
    "lon,lat,id", "LNG,Lat,Name", "longitude,latitude,member", "x,y,key", " lon , lat , id ",
    '"lon","lat","id"', "long,lat,uuid",
])
def test_usual_names_of_columns(import_text, client, header):
    assert import_text(header + "\n13.361389,38.115556,Palermo\n").totals == (1, 1, 0, 0)
    assert client.command("GEOHASH", "k", "Palermo") == [b"sqc8b49rny0"]


def test_id_goes_before_name(import_text, client):
    import_text("name,id,lat,lon\nPalermo,7,38,13\n")
    assert members(client) == [b"7"]


def test_columns_by_option(import_text, client):
    text = "id,lon,lat,ost,nord,who\nno,1,1,13,38,yes\n"
    result = import_text(text, "--lon-column", "ost", "--lat-column", "nord", "--id-column", "WHO")
    assert result.status == 0
    assert [round(float(text), 4) for text in client.command("GEOPOS", "k", "yes")[0]] == [13, 38]
    assert members(client) == [b"yes"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends(import_text, client, end):
    text = end.join(["id,lon,lat", "a,1,2", "", "b,x,2", "c,3,4", "d,3,99"])
    result = import_text(text)
    assert members(client) == [b"a", b"c"]
    assert result.err.splitlines() == [
        'line 4: longitude is not a number: "x"',
        'line 6: latitude is not within -85.05112878 and 85.05112878: "99"']


def test_quoted_fields(import_text, client):
    text = ('id,note,lon,lat\n"a,b","one, ""two""\nand three",1,2\n"say ""hi""",,"3"," 4 "\n'
            ' blanks ,x, 5 , 6 \n" kept ",x,7,8\nbad,x,y,1\n')
    result = import_text(text)
    assert members(client) == [b"a,b", b'say "hi"', b"blanks", b" kept "]
    assert result.err == 'line 7: longitude is not a number: "y"\n'
    assert result.totals == (5, 4, 0, 1)


def test_a_bad_row_over_several_lines_is_told_with_its_first(import_text):
    text = 'id,lon,lat\na,1,2\n"two\n\nlines\n",bad,2\nb,bad,3\n'
    assert import_text(text).err.splitlines() == [
        'line 3: longitude is not a number: "bad"', 'line 7: longitude is not a number: "bad"']


@pytest.mark.parametrize("delimiter, option", [(";", ";"), ("\t", "tab"), ("\t", "\\t"), ("|", "|")])
def test_delimiters(import_text, client, delimiter, option):
    text = "id,empty,lon,lat\na,,1,2\nb,,3,\n".replace(",", delimiter)
    result = import_text(text, "--delimiter", option)
    assert members(client) == [b"a"]
    assert result.err == 'line 3: latitude is not a number: ""\n'


@pytest.mark.parametrize("text, ids", [
    ("\ufeffid,lon,lat\nZürich,8.55,47.37\n東京,139.69,35.69\n", ["Zürich", "東京"]),
    ("\ufeff\"id\",lon,lat\na,1,2\n", ["a"]),
])
def test_utf8_and_byte_order_mark(import_text, client, text, ids):
    assert import_text(text).status == 0
    assert members(client) == [name.encode() for name in ids]


def test_quotes_inside_plain_fields_are_kept(import_text, client):
    assert import_text('id,lon,lat\n5" pipe,1,2\n').status == 0
    assert members(client) == [b'5" pipe']


def test_any_bytes_as_id(import_text, client):
    assert import_text(b"id,lon,lat\n\xff\x00\x01,1,2\n").status == 0
    assert members(client) == [b"\xff\x00\x01"]


def test_no_line_end_after_the_last_row(import_text, client):
    assert import_text("id,lon,lat\na,1,2\nb,3,4").totals == (2, 2, 0, 0)


def test_pieces_of_any_size(server, client):
    """The same rows through a pipe that hands them over byte by byte."""
    text = '\ufeffid,lon,lat\r\n"a\r\nb",1,2\r\n\r\nc,bad,2\r\n"d""",3,4'.encode()
    reader, writer = os.pipe()

    def feed():
        for byte in text:
            os.write(writer, bytes([byte]))
        os.close(writer)

    feeder = threading.Thread(target=feed)
    feeder.start()
    result = load(server.port, "-", stdin=reader)
    feeder.join()
    os.close(reader)
    assert members(client) == [b"a\r\nb", b'd"']
    assert result.err == 'line 5: longitude is not a number: "bad"\n'


def test_fields_and_lines_across_chunks(import_text, client):
    """Ids of lengths around the size of a read."""
    ids = [("x" * n) + str(n) for n in (65500, 65529, 65530, 65531, 131072, 3)]
    text = "id,lon,lat\r\n" + "".join(f"{name},1,2\r\n" for name in ids) + "bad,1,x\r\n"
    result = import_text(text)
    assert sorted(members(client)) == sorted(name.encode() for name in ids)
    assert result.err == 'line 8: latitude is not a number: "x"\n'


@pytest.mark.parametrize("batch", ["1", "2", "3", "100000"])
def test_batches(import_text, client, batch):
    text = "id,lon,lat\n" + "".join(f"m{i},{i % 180},{i % 85}\n" for i in range(1000))
    assert import_text(text, "--batch", batch).totals == (1000, 1000, 0, 0)
    assert client.command("ZCARD", "k") == 1000


# ---- what is refused --------------------------------------------------------

def test_bad_rows_of_every_kind(import_text, client):
    text = ("id,lon,lat\n"
            "good,1,2\n"
            "a,,2\n"
            "b,1x,2\n"
            "c,1,nan\n"
            "d,180.1,2\n"
            "e,1,-85.06\n"
            "f,inf,2\n"
            ",1,2\n"
            "h,1\n"
            "i\n"
            "edge,180,-85.05112878\n"
            "more,1,2,3,4\n"
            "j,1 2,3\n"
            "k,1,1e400\n"
            "l,\x01" + "9" * 100 + ",3\n")
    result = import_text(text)
    assert set(members(client)) == {b"good", b"more", b"edge"}
    assert result.status == 1
    assert result.totals == (15, 3, 0, 12)
    assert result.err.splitlines() == [
        'line 3: longitude is not a number: ""',
        'line 4: longitude is not a number: "1x"',
        'line 5: latitude is not a number: "nan"',
        'line 6: longitude is not within -180 and 180: "180.1"',
        'line 7: latitude is not within -85.05112878 and 85.05112878: "-85.06"',
        'line 8: longitude is not within -180 and 180: "inf"',
        'line 9: id is empty',
        'line 10: row has 2 columns; latitude should be in column 3',
        'line 11: row has 1 columns; longitude should be in column 2',
        'line 14: longitude is not a number: "1 2"',
        'line 15: latitude is not a number: "1e400"',
        'line 16: longitude is not a number: "\\x01' + "9" * 39 + '"...',
    ]


def test_many_bad_rows_are_counted(import_text):
    text = "id,lon,lat\n" + "a,b,c\n" * 50 + "good,1,2\n"
    result = import_text(text)
    lines = result.err.splitlines()
    assert len(lines) == 21
    assert lines[19].startswith("line 21: ")
    assert lines[20] == "and 30 more rejected rows"
    assert result.status == 1 and result.totals == (51, 1, 0, 50)


def test_a_quote_that_is_not_closed(import_text, client):
    result = import_text('id,lon,lat\na,1,2\n"b,1,2\nc,1,2\n')
    assert members(client) == [b"a"]
    assert result.status == 1
    assert result.err == "line 3: a quote is not closed until the file ends\n"


def test_a_huge_field_is_loaded(import_text, client):
    result = import_text(b"id,lon,lat\n" + b"x" * 10_000_000 + b",1,2\nshort,3,4\n")
    assert result.totals == (2, 2, 0, 0)
    assert [len(member) for member in members(client)] == [10_000_000, 5]


def test_a_monstrous_field_does_not_eat_all_memory(server, tmp_path):
    path = tmp_path / "in.csv"
    with open(path, "wb") as file:
        file.write(b'id,lon,lat\na,1,2\n"')
        for _ in range(80):
            file.write(b"x" * 1024 * 1024)
    limit = 600 * 1024 * 1024
    is_plain = "asan" not in str(binary("x")) and "tsan" not in str(binary("x"))
    result = load(server.port, path, preexec_fn=lambda: is_plain and resource.setrlimit(
        resource.RLIMIT_AS, (limit, limit)))
    assert result.status == 2
    assert "line 3: a field is longer than 64 MB; is a quote not closed?" in result.err


def test_nothing_good(import_text):
    result = import_text("id,lon,lat\na,b,c\n")
    assert result.status == 2 and result.totals == (1, 0, 0, 1)


def test_only_a_header(import_text, client):
    result = import_text("id,lon,lat\n")
    assert result.status == 0 and result.totals == (0, 0, 0, 0)
    assert client.command("EXISTS", "k") == 0


@pytest.mark.parametrize("text", ["", "\n\n", "\ufeff"])
def test_empty_file(import_text, text):
    result = import_text(text)
    assert result.status == 2 and "the file is empty" in result.err


def test_missing_columns(import_text):
    result = import_text("a,b\n1,2\n")
    assert result.status == 2 and result.out == ""
    assert result.err == ("yonder-cli: no column for the longitude has a usual name; say which "
                          'with --lon-column; the file has "a", "b"\n')
    result = import_text("lon,lat,id\n1,2,3\n", "--id-column", "iata")
    assert 'no column for the id is called "iata"; the file has "lon", "lat", "id"' in result.err


def test_files_that_cannot_be_read(server, tmp_path):
    result = load(server.port, tmp_path / "nowhere.csv")
    assert result.status == 2 and "could not open" in result.err
    assert "No such file or directory" in result.err
    result = load(server.port, tmp_path)
    assert result.status == 2 and "could not read" in result.err
    assert "Is a directory" in result.err


@pytest.mark.parametrize("options, text", [
    (["--batch", "0"], "--batch must be a number of 1 to 100000"),
    (["--batch"], "no value for --batch"),
    (["--delimiter", "ab"], "--delimiter must be one character"),
    (["--delimiter", '"'], "--delimiter must be one character"),
    (["--nosuch", "1"], "unknown option --nosuch"),
    (["other.csv"], "one file at a time"),
])
def test_bad_options(options, text):
    result = load(1, "in.csv", *options)
    assert result.status == 2 and text in result.err


def test_options_that_are_missing():
    for words in (["import"], ["import", "in.csv"], ["import", "--key", "k"]):
        done = subprocess.run([str(binary("yonder-cli")), *words], capture_output=True)
        assert done.returncode == 2 and b"import needs a file and --key" in done.stderr
    done = subprocess.run([str(binary("yonder-cli")), "import", "--help"], capture_output=True)
    assert done.returncode == 0 and b"--lon-column" in done.stdout


# ---- servers that fail ------------------------------------------------------

def test_no_server(tmp_path):
    path = tmp_path / "in.csv"
    path.write_text("id,lon,lat\na,1,2\n")
    result = load(free_port(), path)
    assert result.status == 2 and "Connection refused" in result.err


def test_the_key_holds_something_else(import_text, client):
    client.command("SET", "k", "string")
    result = import_text("id,lon,lat\na,1,2\nb,3,4\n")
    assert result.status == 2
    assert ("the server refused the rows of lines 2 to 3: WRONGTYPE Operation against a key "
            "holding the wrong kind of value") in result.err


def test_password(start, tmp_path):
    server = start.subject("--requirepass", "secret")
    path = tmp_path / "in.csv"
    path.write_text("id,lon,lat\na,1,2\n")
    result = load(server.port, path)
    assert result.status == 2 and "NOAUTH" in result.err
    assert load(server.port, path, env={**os.environ, "YONDER_AUTH": "secret"}).status == 0


class CountingServer:
    """Answers a number of requests and then does as told: closes, or stops reading."""

    def __init__(self, n_replies, slow=False):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.n_replies = n_replies
        self.slow = slow
        self.thread = threading.Thread(target=self._serve)
        self.thread.start()

    def _serve(self):
        conn, _ = self.listener.accept()
        with conn, conn.makefile("rb") as stream:
            for _ in range(self.n_replies):
                words = int(stream.readline()[1:])
                for _ in range(words):
                    stream.read(int(stream.readline()[1:]) + 2)
                if self.slow:  # a reply of many small pieces
                    for byte in b":%d\r\n" % ((words - 2) // 3):
                        conn.send(bytes([byte]))
                else:
                    conn.sendall(b":%d\r\n" % ((words - 2) // 3))

    def end(self):
        self.thread.join(60)
        self.listener.close()


def test_a_server_that_goes_away_in_the_middle(tmp_path):
    path = tmp_path / "in.csv"
    with open(path, "w") as file:
        file.write("id,lon,lat\n")
        file.writelines(f"m{i},{i % 180},1\n" for i in range(400_000))
    fake = CountingServer(100)
    result = load(fake.port, path)
    fake.end()
    assert result.status == 2
    assert "connection lost" in result.err
    assert result.totals[1] <= 100 * 250
    assert "sent without an answer" in result.out


def test_replies_are_read_while_requests_are_written(server, tmp_path):
    """Batches of one row make replies as many as requests: enough to fill every buffer on the
    way if nobody took them."""
    path = tmp_path / "in.csv"
    with open(path, "w") as file:
        file.write("id,lon,lat\n")
        file.writelines(f"m{i % 1000},{i % 180},1\n" for i in range(100_000))
    result = load(server.port, path, "--batch", "1")
    assert result.status == 0 and result.totals == (100_000, 1000, 99_000, 0)


def test_replies_in_pieces(tmp_path):
    path = tmp_path / "in.csv"
    path.write_text("id,lon,lat\n" + "".join(f"m{i},1,1\n" for i in range(1000)))
    fake = CountingServer(100, slow=True)
    result = load(fake.port, path, "--batch", "10")
    fake.end()
    assert result.status == 0 and result.totals == (1000, 1000, 0, 0)


# ---- progress ---------------------------------------------------------------

def test_progress_bar_on_a_terminal(server, tmp_path):
    path = tmp_path / "in.csv"
    with open(path, "w") as file:
        file.write("id,lon,lat\n")
        file.writelines(f"m{i},{i % 180},1\n" for i in range(600_000))
        file.write("bad,x,1\n")
    terminal = Terminal([str(binary("yonder-cli")), "-p", str(server.port), "import", str(path),
                         "--key", "k", "--batch", "20"])
    text = terminal.read_until(b"1 rejected", timeout=400)
    assert terminal.wait() == 1
    assert re.search(rb"\r\x1b\[K\[=*> *\] +\d+ %  [0-9,]+ rows  [0-9,]+ rows/s", text)
    # the bar is wiped before other text stands on its line
    assert re.search(rb"\r\x1b\[Kline 600002: longitude is not a number", text)


def test_no_progress(server, tmp_path):
    path = tmp_path / "in.csv"
    with open(path, "w") as file:
        file.write("id,lon,lat\n")
        file.writelines(f"m{i},{i % 180},1\n" for i in range(200_000))
    terminal = Terminal([str(binary("yonder-cli")), "-p", str(server.port), "import", str(path),
                         "--key", "k", "--batch", "20", "--no-progress"])
    text = terminal.read_until(b"0 rejected", timeout=400)
    assert b"\x1b" not in text
    assert terminal.wait() == 0
