"""What the runners of tests/stress and tests/linear share: the server's end, and reports of
sanitizers in what it said."""
import os
import pathlib
import re

REPORT = re.compile(r"WARNING: ThreadSanitizer|ERROR: (?:Address|Leak)Sanitizer"
                    r"|runtime error|assertion", re.IGNORECASE)
SHOWN = 20000  # bytes of a log


def keep_all_reports():
    """TSan's options: the server goes on after a report, so that one run shows all of them;
    and where an assertion fails the stack is shown."""
    options = os.environ.get("TSAN_OPTIONS", "second_deadlock_stack=1")
    options = options.replace("halt_on_error=1", "halt_on_error=0")
    os.environ["TSAN_OPTIONS"] = f"{options}:handle_abort=1"
    os.environ["ASAN_OPTIONS"] = f"{os.environ.get('ASAN_OPTIONS', '')}:handle_abort=1"


def end_of(server):
    if not server.is_running():
        return [f"the server ended with status {server.process.returncode}"]
    status = server.stop()
    return [] if status == 0 else [f"the server's exit status is {status}"]


def faults_of(server, keep_log=None):
    """Stops the server. Returns what was wrong with it, and shows its log then."""
    faults = end_of(server)
    log = server.log_text()
    n_reports = len(REPORT.findall(log))
    if n_reports:
        faults.append(f"{n_reports} reports of a sanitizer or of an assertion")
    if faults:
        print(log[:SHOWN])
        if keep_log:
            pathlib.Path(keep_log).write_text(log)
    return faults
