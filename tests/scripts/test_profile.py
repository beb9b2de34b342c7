"""scripts/profile: stacks from perf's and callgrind's texts, the table of stages, the flame
graph, and the messages for what cannot be done."""
import os
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
sys.dont_write_bytecode = True
import flame_graph  # noqa: E402
import profile_stages as stages  # noqa: E402

NM = f"""\
0000000000001000 t flush\t{ROOT}/src/server/conn.c:200
0000000000002000 T yn_tree_find\t{ROOT}/src/core/tree.c:300
0000000000003000 t flush\t{ROOT}/src/core/builder.c:7
0000000000004000 t relate_box.isra.0\t{ROOT}/src/core/kernel_body.h:90
0000000000005000 T _start
0000000000007000 T main\t{ROOT}/src/server/main.c:30
0000000000006000 d table\t{ROOT}/src/cmd/cmd_table.c:1
"""

PERF = """\
yonder-server  4711 
\t            2040 yn_tree_find (/x/build/yonder-server)
\t            1010 flush (/x/build/yonder-server)
\t           1a3a4 [unknown] (/usr/lib/libuv.so.1.0.0)
\t           1ad77 [unknown] (/usr/lib/libuv.so.1.0.0)
\tffffffffffffffff [unknown] ([unknown])

yonder-server  4711 
\tffffffff81ffd54e tcp_sendmsg ([kernel.kallsyms])
\tffffffffc0ffd54e ipt_do_table ([ip_tables])
\t           f8350 __GI___libc_write (/usr/lib/x86_64-linux-gnu/libc.so.6)
\t            3010 flush (/x/build/yonder-server (deleted))

yonder-server  4711 
\t             f50 __vdso_clock_gettime ([vdso])
\t            4010 relate_box.isra.0 (/x/build/yonder-server)

yonder-server  4711 
\t            2044 yn_tree_find (/x/build/yonder-server)
\t            1010 flush (/x/build/yonder-server)
\t           1a3a4 [unknown] (/usr/lib/libuv.so.1.0.0)

yonder-server  4711 
\t            2044 yn_tree_find (/x/build/yonder-server)
\t            7010 main (/x/build/yonder-server)
\t           23d0a __libc_start_call_main (/usr/lib/x86_64-linux-gnu/libc.so.6)
"""


def test_perf_stacks():
    symbols = stages.Symbols(NM, str(ROOT))
    assert stages.collapse_perf(PERF, "yonder-server", symbols) == {
        ("[libuv.so.1.0.0]\tlibuv.so.1.0.0", "flush\tsrc/server/conn.c",
         "yn_tree_find\tsrc/core/tree.c"): 2,
        ("flush\tsrc/core/builder.c", "__GI___libc_write\tlibc.so.6",
         "ipt_do_table\t[kernel]", "tcp_sendmsg\t[kernel]"): 1,
        ("main\tsrc/server/main.c", "yn_tree_find\tsrc/core/tree.c"): 1,
        ("relate_box\tsrc/core/kernel_body.h", "__vdso_clock_gettime\t[vdso]"): 1,
    }


def test_a_name_that_two_files_share_is_told_apart_by_its_address():
    symbols = stages.Symbols(NM, str(ROOT))
    assert symbols.home("flush", 0x1fff) == "src/server/conn.c"
    assert symbols.home("flush", 0x3000) == "src/core/builder.c"
    assert symbols.home("flush", 0x10) == ""  # no address of it, and two to choose from
    assert symbols.home("yn_tree_find", 0x10) == "src/core/tree.c"
    assert symbols.home("nobody", 0x2000) == ""


@pytest.mark.parametrize("symbol, home, stage", [
    ("__sin_fma", "libm.so.6", "trigonometry"),
    ("yn_region_contains", "src/core/region.c", "trigonometry"),
    ("yn_region_init", "src/core/region.c", "rectangles"),
    ("kernel_test", "src/core/kernel_body.h", "point test"),
    ("kernel_bounds", "src/core/kernel_body.h", "rectangles"),
    ("measure", "src/core/kernel_body.h", "rectangles"),
    ("yn_search_measure", "src/core/measure.c", "point test"),
    ("walk_branch", "src/core/search.c", "plan and order"),
    ("yn_dict_find_except", "src/core/dict.c", "tree and dictionary"),
    ("probable_keys", "src/core/dict_many.c", "tree and dictionary"),
    ("walk_to", "src/core/join.c", "tree and dictionary"),
    ("keydir_find", "src/server/keydir.c", "tree and dictionary"),
    ("find_link", "src/server/keyspace.c", "tree and dictionary"),
    ("__memmove_avx512_unaligned_erms", "libc.so.6", "memory copies"),
    ("__strncasecmp_l_evex", "libc.so.6", "commands"),
    ("[libjemalloc.so.2]", "libjemalloc.so.2", "memory allocation"),
    ("cfree@GLIBC_2.2.5", "libc.so.6", "memory allocation"),
    ("_int_malloc", "libc.so.6", "memory allocation"),
    ("yn_num_format_uint64", "src/core/num.c", "number printing"),
    ("yn_num_parse_double", "src/core/num.c", "number parsing"),
    ("__vfprintf_internal", "libc.so.6", "number printing"),
    ("yn_request_parse", "src/resp/request.c", "protocol parsing"),
    ("yn_write_bulk", "src/resp/write.c", "reply writing"),
    ("host_reply_bulk", "src/server/host_server.c", "reply writing"),
    ("host_key_read", "src/server/host_server.c", "commands"),
    ("cmd_geopos", "src/cmd/cmd_geo.c", "commands"),
    ("on_read", "src/server/conn.c", "event loop"),
    ("__GI___libc_write", "libc.so.6", "event loop"),
    ("tcp_sendmsg", "[kernel]", "kernel"),
    ("__vdso_clock_gettime", "[vdso]", "clock"),
    ("whatever", "libother.so", "unknown"),
])
def test_stage(symbol, home, stage):
    assert stages.stage_of(stages.frame_of(symbol, home)) == stage


def test_every_source_file_has_a_stage():
    """A new file gets a line in the table."""
    layers = ("core", "resp", "cmd", "server")
    missing = [file.relative_to(ROOT).as_posix() for layer in layers
               for file in sorted((ROOT / "src" / layer).glob("*.c"))
               if stages.stage_of(f"any\t{file.relative_to(ROOT).as_posix()}") == stages.UNKNOWN]
    assert missing == ["src/resp/reply.c"], "see TABLE in scripts/profile_stages.py"


CALLGRIND = f"""\
# callgrind format
version: 1
positions: line
events: Ir

ob=(1) /x/yonder-server
fl=(1) {ROOT}/src/server/conn.c
fn=(1) on_read
10 5
+2 5
cfi=(2) {ROOT}/src/core/search.c
cfn=(2) walk_branch
calls=2 30
15 90

fl=(2)
fn=(2)
30 10
fi=(3) {ROOT}/src/core/bytes.h
3 20
fe=(2)
cfn=(2)
calls=3 30
* 70
cob=(2) /lib/libm.so.6
cfi=(4) ???
cfn=(3) __sin_fma
calls=4 0
-1 60

ob=(2)
fl=(4)
fn=(3)
0 60
"""


def test_callgrind():
    graph = stages.parse_callgrind(CALLGRIND, str(ROOT))
    read, walk, sine = ("on_read\tsrc/server/conn.c", "walk_branch\tsrc/core/search.c",
                        "__sin_fma\tlibm.so.6")
    assert graph.own == {read: 10, walk: 30, sine: 60}
    assert graph.calls[read] == {walk: 90}
    assert graph.calls[walk] == {walk: 70, sine: 60}
    # the recursion is one frame, and nothing is lost
    assert stages.stacks_of_graph(graph) == {(read,): 10, (read, walk): 30,
                                             (read, walk, sine): 60}


def test_report():
    frames = {("a\tsrc/cmd/x.c",): 1, ("a\tsrc/cmd/x.c", "tcp_ack\t[kernel]"): 2,
              ("b\tliborphan.so",): 1}
    text = stages.report(*stages.shares(frames), ["head"])
    assert re.search(r"^kernel +50\.00 %  #{25}$", text, re.MULTILINE)
    assert re.search(r"^commands +25\.00 %", text, re.MULTILINE)
    assert "b (liborphan.so): 25.00 %" in text.partition("No stage is known")[2]


def test_flame_graph_is_xml_and_its_widths_add_up():
    stacks = {("a\tx.c",): 1, ("a\tx.c", "<b> & c\ty.c"): 3, ("d\tz.c",): 4}
    svg = flame_graph.render(stacks, "a < b", "sub", lambda frame: "s" if "a\t" in frame else "",
                             ["s", "t"])
    root = ElementTree.fromstring(svg)
    frames = {g.get("data-name"): g for g in root.iter("{http://www.w3.org/2000/svg}g")}
    assert set(frames) == {"all", "a", "<b> & c", "d"}
    width = {name: float(g.get("data-w")) for name, g in frames.items()}
    assert width == {"all": 1, "a": 0.5, "<b> & c": 0.375, "d": 0.5}
    assert [float(frames[name].get("data-x")) for name in ("a", "<b> & c", "d")] == [0, 0, 0.5]
    title = frames["a"].find("{http://www.w3.org/2000/svg}title").text
    assert title == "a (x.c): 4 samples, 50.00 %; s"


def profile(*words, path=None):
    build = os.environ.get("YONDER_BIN_DIR") or ROOT / "build"
    env = dict(os.environ, **({"PATH": path} if path is not None else {}))
    return subprocess.run([sys.executable, str(ROOT / "scripts/profile"), *words,
                           "--build", str(build)], capture_output=True, text=True, env=env,
                          timeout=60)


def test_an_unknown_row_lists_the_rows():
    done = profile("nonsense")
    assert done.returncode == 1
    assert done.stderr.startswith('profile: no row "nonsense"; the rows are:\n  load\n')


def test_without_perf_callgrind_is_named(tmp_path):
    done = profile("ping", path=str(tmp_path))
    assert "perf is not installed" in done.stdout and "callgrind is used instead" in done.stdout
    assert done.returncode == 1 and "valgrind is not installed" in done.stderr
