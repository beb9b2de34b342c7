/*
 * bench_run.h: `yonder-bench run`: one load on one server, and its figures.
 */
#ifndef BENCH_RUN_H
#define BENCH_RUN_H

/* argv[0] is "run". Returns the exit status. */
int bench_run_main(int argc, char **argv);

#endif
