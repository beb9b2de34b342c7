"""What a profile says: samples of perf and costs of callgrind as stacks, and the stage that
each function belongs to.

A frame is "symbol<TAB>home": home is the source file of a function of this tree
("src/core/tree.c"), else the name of its library ("libm.so.6") or "[kernel]".
"""

import bisect
import collections
import re
import subprocess

# The first line whose expression matches "home:symbol" decides. Stages in the order of a
# request's way. What the compiler inlines counts for the function that it is inlined in.
TABLE = [
    ("kernel", r"^\[kernel\]:"),
    ("clock", r"^\[vdso\]:|:(__)?clock_gettime|:__vdso_"),
    ("memory copies", r"^libc\.so.*:(__)?(mem(cpy|move|set|cmp|chr|rchr)|mempcpy|wmem)"
                      r"|^vgpreload|:_?_?mem(cpy|move|set|cmp)(_|$|@)"),
    ("memory allocation", r"^libjemalloc|^libc\.so.*:(_*(int_)?(malloc|free|calloc|realloc)"
                          r"|malloc_|unlink_chunk|sysmalloc|_?mmap|__?madvise)"
                          r"|:(malloc|c?free|calloc|realloc)(@|$)"
                          r"|^src/core/(mem|buf)\.|^src/cmd/cmd_arena\.c"),
    ("trigonometry", r"^libm\.so|^src/core/geodesy\.c|^src/core/region\.c:yn_region_contains"
                     r"|^src/core/polygon\.c:yn_polygon_contains"),
    ("rectangles", r"^src/core/kernel.*:(relate_|kernel_relate|kernel_bounds|measure\b)"
                   r"|^src/core/region\.c|^src/core/polygon\.c"),
    ("point test", r"^src/core/kernel|^src/core/measure\.c|^src/core/(leaf\.\w:yn_leaf_cell)"),
    ("plan and order", r"^src/core/(search|estimate|stop|nearest|ranked|hits)\.|:__popcountdi2$"
                       r"|^libc\.so.*:(msort|qsort|__qsort)"),
    ("tree and dictionary", r"^src/core/(tree|tree_cut|leaf|dict\w*|zset|cursor|builder|copy|"
                            r"combine\w*|refs|join|histogram|encode|geohash|bytes|tree_check)\.|^src/server/key(space\w*|dir)\.c|:XXH|^.*xxh"),
    ("number printing", r"^src/core/num_format\.c|^src/core/num\.c:yn_num_format"
                        r"|^src/core/(num_digits|decimal|pow10)\."
                        r"|^libc\.so.*:(_*v?f?s?n?printf|_*printf|__mpn|_itoa|hack_digit|_IO_)"),
    ("number parsing", r"^src/core/num\.c|^libc\.so.*:(_*strto|round_and_return|str_to_mpn)"),
    ("protocol parsing", r"^src/resp/(request|quote)\.c"),
    ("reply writing", r"^src/resp/write\.c|^src/server/host_server\.c:host_reply"),
    ("commands", r"^src/(cmd|rdb)/|^libc\.so.*:(__)?(GI_)?str"
                 r"|^src/server/(host_server|dispatch|batch|\w+_cmds|stats|pubsub|\w+_table|config|"
                 r"client_\w+|due|info|memory)\.c"),
    ("event loop", r"^libuv\.so|^src/server/"
                   r"|^libc\.so.*:(__(GI_)?(libc_)?)?(read|write|writev|send|sendmsg|recv|recvmsg|"
                   r"epoll_\w+|syscall|__errno_location|__libc_\w+|__GI_\w+|pthread_\w+|_start"
                   r"|__pthread\w*|__syscall\w*|__poll|poll|start_thread|clone3?)"
                   r"|^libpthread"),
    ("start-up", r"^ld-linux|:\(below main\)|:_start$|^libc\.so.*:(exit|_dl_|getenv|sysconf|"
                 r"get(phys|page|rusage|rlimit|pid|peername|sockname)|get_|uname|sysinfo|open|"
                 r"close|setsockopt|accept4?)"),
]
STAGES = [stage for stage, _ in TABLE]
UNKNOWN = "unknown"
_EXPRESSIONS = [(stage, re.compile(expression)) for stage, expression in TABLE]
_CLONE = re.compile(r"(\.(part|constprop|isra|cold|lto_priv)(\.\d+)?)+$")


def frame_of(symbol, home):
    return f"{_CLONE.sub('', symbol)}\t{home}"


def stage_of(frame):
    symbol, _, home = frame.partition("\t")
    subject = f"{home}:{symbol}"
    for stage, expression in _EXPRESSIONS:
        if expression.search(subject):
            return stage
    return UNKNOWN


def shares(stacks):
    """Counts by stage of the innermost frames, and by frame."""
    by_stage, by_frame = collections.Counter(), collections.Counter()
    for stack, count in stacks.items():
        by_stage[stage_of(stack[-1])] += count
        by_frame[stack[-1]] += count
    return by_stage, by_frame


# ---- symbols of the program ------------------------------------------------------------


class Symbols:
    """Where the functions of a program stand, from `nm -l`: static functions of several
    files may share a name, so that the address decides."""

    def __init__(self, nm_text, root):
        entries, homes = [], collections.defaultdict(set)
        for line in nm_text.splitlines():
            match = re.match(r"([0-9a-f]+) [tTwW] (\S+)(?:\t(.*):\d+)?$", line)
            if match is None:
                continue
            home = (match[3] or "").removeprefix(f"{root}/")
            entries.append((int(match[1], 16), match[2], home))
            homes[match[2]].add(home)
        entries.sort()
        self.starts = [start for start, _, _ in entries]
        self.entries, self.homes = entries, homes

    @classmethod
    def of_program(cls, program, root):
        done = subprocess.run(["nm", "-l", "--defined-only", str(program)],
                              capture_output=True, text=True, check=True)
        return cls(done.stdout, root)

    def home(self, symbol, address):
        """The source file of a function, or "" when nothing is known of it."""
        i = bisect.bisect_right(self.starts, address) - 1
        if i >= 0 and self.entries[i][1] == symbol:
            return self.entries[i][2]
        homes = self.homes.get(symbol, set())
        return next(iter(homes)) if len(homes) == 1 else ""


# ---- perf ------------------------------------------------------------------------------

_FRAME = re.compile(r"\s+([0-9a-f]+) (.+?) \((.*)\)$")


def collapse_perf(text, program_name, symbols):
    """`perf script -F comm,tid,ip,sym,dso` to {stack: samples}. Frames that the unwinder
    could not name at the outer end are left out; libraries without symbols are one frame."""
    stacks, frames = collections.Counter(), []

    def close():
        if frames:
            while len(frames) > 1 and frames[-1] is None:  # the outer end
                frames.pop()
            stack = [frame or frame_of("[unknown]", "[unknown]") for frame in frames[::-1]]
            mains = [i for i, frame in enumerate(stack) if frame.startswith("main\t")]
            stack = stack[mains[-1]:] if mains else stack  # what calls it is of no interest
            stacks[tuple(stack)] += 1
            frames.clear()

    for line in text.splitlines():
        if not line.strip():
            close()
            continue
        match = _FRAME.match(line)
        if match is None:
            close()  # the head of a sample
            continue
        address, symbol, dso = int(match[1], 16), match[2], match[3]
        frame = perf_frame(address, symbol, dso, program_name, symbols)
        is_same = frames and frame == frames[-1] and symbol == "[unknown]"
        if not is_same:
            frames.append(frame)
    close()
    return stacks


def perf_frame(address, symbol, dso, program_name, symbols):
    library = dso.rpartition("/")[2].removesuffix(" (deleted)")
    if dso.startswith("[") and dso != "[unknown]" and dso != "[vdso]":
        return frame_of(symbol, "[kernel]")  # and its modules
    if dso == "[unknown]":
        return None
    if library == program_name:
        return frame_of(symbol, symbols.home(symbol, address) or program_name)
    if symbol == "[unknown]":
        return frame_of(f"[{library}]", library)
    return frame_of(symbol, library)


# ---- callgrind -------------------------------------------------------------------------


class CallGraph:
    """Own costs of functions, and the costs of their calls, inclusive."""

    def __init__(self):
        self.own = collections.Counter()
        self.calls = collections.defaultdict(collections.Counter)


_SPEC = re.compile(r"(ob|fl|fi|fe|fn|cob|cfi|cfl|cfn)=(?:\((\d+)\))?\s*(.*)$")


def parse_callgrind(text, root):
    """The out file (see callgrind's format description) as a CallGraph of frames."""
    graph, names = CallGraph(), {"object": {}, "file": {}, "function": {}}
    kinds = {"ob": "object", "cob": "object", "fn": "function", "cfn": "function"}
    now = {"ob": "", "fl": "", "fn": ""}
    called, n_positions, is_call = {}, 1, False
    for line in text.splitlines():
        match = _SPEC.match(line)
        if match:
            key, number, name = match[1], match[2], match[3]
            known = names[kinds.get(key, "file")]
            if number and name:
                known[number] = name
            name = name or known.get(number, "")
            if key in ("ob", "fl", "fn"):
                now[key] = name
            elif key in ("cob", "cfi", "cfl", "cfn"):
                called[key.replace("cfl", "cfi")] = name
        elif line.startswith("calls="):
            is_call = True
        elif line.startswith("positions:"):
            n_positions = len(line.split()) - 1
        elif re.match(r"[-+*\d]", line):
            fields = line.split()
            cost = int(fields[n_positions]) if len(fields) > n_positions else 0
            caller = grind_frame(now["ob"], now["fl"], now["fn"], root)
            if is_call:
                callee = grind_frame(called.get("cob", now["ob"]), called.get("cfi", now["fl"]),
                                     called.get("cfn", ""), root)
                graph.calls[caller][callee] += cost
                called, is_call = {}, False
            else:
                graph.own[caller] += cost
    return graph


def grind_frame(object_name, file, function, root):
    function = re.sub(r"'\d+$", "", function)  # levels of a recursion
    if file.startswith(f"{root}/"):
        return frame_of(function, file.removeprefix(f"{root}/"))
    library = object_name.rpartition("/")[2] or "[unknown]"
    if function.startswith("0x"):  # a library without symbols
        function = f"[{library}]+{int(function, 16):x}"
    return frame_of(function, library)


def stacks_of_graph(graph, least=0.0005):
    """Stacks for a flame graph. A call graph knows what a function costs in all, not by the
    way to it: its costs are dealt out to its callers in proportion. A recursion is one
    frame. What is less than `least` of the whole is not followed further."""
    whole = collections.Counter(graph.own)
    incoming = collections.Counter()
    for caller, callees in graph.calls.items():
        for callee, cost in callees.items():
            if callee != caller:
                whole[caller] += cost
                incoming[callee] += cost
    total, stacks = sum(graph.own.values()), collections.Counter()

    def descend(frame, budget, above):
        stack = above + (frame,)
        scale = budget / whole[frame] if whole[frame] else 0
        left = budget
        for callee, cost in graph.calls.get(frame, {}).items():
            part = cost * scale
            if callee not in stack and part >= least * total and len(stack) < 100:
                descend(callee, part, stack)
                left -= part
        own = max(left, 0)
        if own > 0:
            stacks[stack] += own

    for frame in list(whole):
        budget = whole[frame] - incoming[frame]
        if budget >= least * total:
            descend(frame, budget, ())
    return stacks


# ---- the report ------------------------------------------------------------------------


def report(by_stage, by_frame, head, n_functions=30):
    """The share by stage and the costliest functions, as text."""
    total = sum(by_stage.values()) or 1
    lines = [*head, "", f"{'stage':<22} {'share':>7}"]
    for stage, count in sorted(by_stage.items(), key=lambda item: -item[1]):
        lines.append(f"{stage:<22} {100 * count / total:6.2f} %  "
                     f"{'#' * round(50 * count / total)}".rstrip())
    lines += ["", f"{'function':<40} {'own':>7}   {'stage':<20} home"]
    for frame, count in by_frame.most_common(n_functions):
        symbol, _, home = frame.partition("\t")
        lines.append(f"{symbol[:40]:<40} {100 * count / total:6.2f} %  "
                     f"{stage_of(frame):<20} {home}")
    unknown = [(frame, count) for frame, count in by_frame.most_common()
               if stage_of(frame) == UNKNOWN]
    if unknown:
        lines += ["", "No stage is known for these (the table is in scripts/profile_stages.py):"]
        lines += ["  {} ({}): {:.2f} %".format(*frame.split("\t"), 100 * count / total)
                  for frame, count in unknown[:40]]
    return "\n".join(lines) + "\n"
