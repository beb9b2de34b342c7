/*
 * bench_compare.h: `yonder-bench compare`: the rows of a suite on two servers in turn.
 */
#ifndef BENCH_COMPARE_H
#define BENCH_COMPARE_H

/* argv[0] is "compare". Returns the exit status: 0 when every row succeeded. */
int bench_compare_main(int argc, char **argv);

#endif
