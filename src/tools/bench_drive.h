/*
 * bench_drive.h: `yonder-bench drive`: a row of the comparison on one server that runs.
 */
#ifndef BENCH_DRIVE_H
#define BENCH_DRIVE_H

/* argv[0] is "drive". Returns the exit status. */
int bench_drive_main(int argc, char **argv);

#endif
