#include <stdio.h>
#include <string.h>

#include "tools/bench_compare.h"
#include "tools/bench_drive.h"
#include "tools/bench_dump.h"
#include "tools/bench_history.h"
#include "tools/bench_mixed.h"
#include "tools/bench_run.h"

static const char usage[] =
    "Usage: yonder-bench run [options] command [argument ...]\n"
    "       yonder-bench data NAME [N] [options]\n"
    "       yonder-bench compare [options]\n"
    "       yonder-bench drive ROW [options]\n"
    "       yonder-bench mixed [options]\n"
    "       yonder-bench history REPORT.json ...\n"
    "\n"
    "  run        load one server and show how it does\n"
    "  data       make a data set, or load it into a server\n"
    "  compare    measure yonder-server against redis-server or another peer\n"
    "  drive      run one row of the comparison on a server, for profilers\n"
    "  mixed      measure small requests while others make large searches\n"
    "  history    show the reports of many commits on one page\n"
    "\n"
    "Each tells more with --help.\n";

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    if (strcmp(name, "run") == 0)
        return bench_run_main(argc - 1, argv + 1);
    if (strcmp(name, "data") == 0)
        return bench_dump_main(argc - 1, argv + 1);
    if (strcmp(name, "compare") == 0)
        return bench_compare_main(argc - 1, argv + 1);
    if (strcmp(name, "drive") == 0)
        return bench_drive_main(argc - 1, argv + 1);
    if (strcmp(name, "mixed") == 0)
        return bench_mixed_main(argc - 1, argv + 1);
    if (strcmp(name, "history") == 0)
        return bench_history_main(argc - 1, argv + 1);
    if (strcmp(name, "--help") == 0) {
        fputs(usage, stdout);
        return 0;
    }
    if (strcmp(name, "--version") == 0) {
        puts("yonder-bench " YN_VERSION);
        return 0;
    }
    fputs(usage, stderr);
    return 2;
}
