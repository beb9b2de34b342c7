/*
 * bench_history.h: `yonder-bench history`: the reports of many commits on one page.
 */
#ifndef BENCH_HISTORY_H
#define BENCH_HISTORY_H

/* argv[0] is "history". Returns the exit status. */
int bench_history_main(int argc, char **argv);

#endif
