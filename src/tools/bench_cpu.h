/*
 * bench_cpu.h: the processor time that a server has used.
 *
 * From the process itself when it runs on this machine: its CPU clock gives the total to
 * the nanosecond, /proc/PID/stat the parts in user and kernel mode. Else from the
 * server's INFO, which gives microseconds.
 */
#ifndef BENCH_CPU_H
#define BENCH_CPU_H

#include <sys/types.h>
#include <time.h>

#include "tools/cli_link.h"

struct bench_cpu_time {
    double user_s, system_s;
};

struct bench_cpu {
    pid_t pid;       /* 0: by INFO, or not at all */
    clockid_t clock; /* of the process */
    bool has_info;
    struct cli_link link;
};

/* pid 0: the process is looked for through INFO's process_id. Never fails: a server that
 * tells nothing has no times. */
void bench_cpu_open(struct bench_cpu *cpu, const struct cli_options *server, pid_t pid);
void bench_cpu_close(struct bench_cpu *cpu);

/* Returns false when the times cannot be had. */
bool bench_cpu_read(struct bench_cpu *cpu, struct bench_cpu_time *out_time);

/* "the process", "INFO" or "nothing": where the times come from. */
const char *bench_cpu_source(const struct bench_cpu *cpu);

/* The value of a field of INFO ("process_id") as text in out_text, or false. */
bool bench_cpu_info(struct cli_link *link, const char *field, char *out_text,
                    size_t size);

/* Time that all processors of this machine have worked, or were held back by its host.
 * Returns false when the system does not tell. */
bool bench_cpu_machine(double *out_busy_s);

/* Binds this process to the processors of a list ("0", "0,2-3"). Returns false when the
 * list is wrong or the system refuses. */
bool bench_cpu_pin(const char *list);

#endif
