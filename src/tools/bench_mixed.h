/*
 * bench_mixed.h: the command `yonder-bench mixed`: what small requests feel while others
 * make large searches.
 */
#ifndef BENCH_MIXED_H
#define BENCH_MIXED_H

/* argv[0] is "mixed". Returns the exit status. */
int bench_mixed_main(int argc, char **argv);

#endif
