#include "tools/bench_cpu.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* INFO and the process agree to within this much if they are one. */
#define SAME_PROCESS_S 0.5

/* ---- INFO --------------------------------------------------------------- */

static bool find_field(struct yn_bytes text, const char *field, char *out_text,
                       size_t size)
{
    size_t len = strlen(field);
    const char *p = text.data, *end = text.data + text.len;
    while (p < end) {
        const char *lf = memchr(p, '\n', (size_t)(end - p));
        const char *stop = lf != NULL ? lf : end;
        if ((size_t)(stop - p) > len && memcmp(p, field, len) == 0 && p[len] == ':') {
            const char *value = p + len + 1;
            size_t n = strcspn(value, "\r\n");
            snprintf(out_text, size, "%.*s", (int)n, value);
            return true;
        }
        p = stop + 1;
    }
    return false;
}

bool bench_cpu_info(struct cli_link *link, const char *field, char *out_text, size_t size)
{
    struct yn_bytes command = {"INFO", 4};
    if (!cli_link_queue(link, 1, &command))
        return false;
    struct yn_reply *reply = cli_link_wait(link);
    bool is_found = reply != NULL &&
                    (reply->type == YN_REPLY_BULK || reply->type == YN_REPLY_VERBATIM) &&
                    find_field(reply->text, field, out_text, size);
    yn_reply_free(reply);
    return is_found;
}

static bool read_info(struct bench_cpu *cpu, struct bench_cpu_time *out_time)
{
    char user[64], system[64];
    if (cpu->link.fd < 0 ||
        !bench_cpu_info(&cpu->link, "used_cpu_user", user, sizeof user) ||
        !bench_cpu_info(&cpu->link, "used_cpu_sys", system, sizeof system))
        return false;
    *out_time = (struct bench_cpu_time){atof(user), atof(system)};
    return true;
}

/* ---- the process -------------------------------------------------------- */

/* Fields 14 and 15 of /proc/PID/stat are ticks; the name in field 2 may hold anything. */
static bool read_ticks(pid_t pid, double *out_user, double *out_system)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return false;
    size_t n = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[n] = '\0';
    const char *after = strrchr(text, ')');
    unsigned long user, system;
    if (after == NULL ||
        sscanf(after + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
               &system) != 2)
        return false;
    *out_user = (double)user;
    *out_system = (double)system;
    return true;
}

static bool read_process(const struct bench_cpu *cpu, struct bench_cpu_time *out_time)
{
    double user, system;
    struct timespec total;
    if (!read_ticks(cpu->pid, &user, &system))
        return false;
    double tick_s = 1 / (double)sysconf(_SC_CLK_TCK);
    *out_time = (struct bench_cpu_time){user * tick_s, system * tick_s};
    /* the clock is exact where ticks are coarse: the sum is its, the shares are theirs */
    if (clock_gettime(cpu->clock, &total) == 0) {
        double total_s = (double)total.tv_sec + (double)total.tv_nsec * 1e-9;
        out_time->system_s = out_time->system_s < total_s ? out_time->system_s : total_s;
        out_time->user_s = total_s - out_time->system_s;
    }
    return true;
}

static bool is_local(const struct cli_options *server)
{
    return server->socket_path != NULL || strcmp(server->host, "localhost") == 0 ||
           strcmp(server->host, "::1") == 0 || strncmp(server->host, "127.", 4) == 0;
}

/* A process id may belong to another machine or container: its times must agree with
 * those that the server tells. */
static void find_process(struct bench_cpu *cpu, const struct cli_options *server)
{
    char text[64];
    struct bench_cpu_time told, found;
    if (!is_local(server) || !cpu->has_info ||
        !bench_cpu_info(&cpu->link, "process_id", text, sizeof text))
        return;
    cpu->pid = (pid_t)atol(text);
    if (cpu->pid <= 0 || clock_getcpuclockid(cpu->pid, &cpu->clock) != 0 ||
        !read_info(cpu, &told) || !read_process(cpu, &found) ||
        fabs(told.user_s + told.system_s - found.user_s - found.system_s) >
            SAME_PROCESS_S)
        cpu->pid = 0;
}

void bench_cpu_open(struct bench_cpu *cpu, const struct cli_options *server, pid_t pid)
{
    memset(cpu, 0, sizeof *cpu);
    cli_link_init(&cpu->link);
    cpu->pid = pid;
    if (pid > 0) {
        if (clock_getcpuclockid(pid, &cpu->clock) != 0)
            cpu->pid = 0;
        return;
    }
    struct bench_cpu_time time;
    cpu->has_info = cli_link_open(&cpu->link, server) && read_info(cpu, &time);
    find_process(cpu, server);
}

void bench_cpu_close(struct bench_cpu *cpu)
{
    cli_link_close(&cpu->link);
}

bool bench_cpu_read(struct bench_cpu *cpu, struct bench_cpu_time *out_time)
{
    if (cpu->pid > 0)
        return read_process(cpu, out_time);
    return cpu->has_info && read_info(cpu, out_time);
}

const char *bench_cpu_source(const struct bench_cpu *cpu)
{
    return cpu->pid > 0 ? "the process" : cpu->has_info ? "INFO" : "nothing";
}

/* ---- the machine --------------------------------------------------------- */

bool bench_cpu_machine(double *out_busy_s)
{
    FILE *file = fopen("/proc/stat", "r");
    unsigned long long user, nice, system, irq, softirq, steal;
    if (file == NULL)
        return false;
    int n = fscanf(file, "cpu %llu %llu %llu %*u %*u %llu %llu %llu", &user, &nice,
                   &system, &irq, &softirq, &steal);
    fclose(file);
    *out_busy_s = (double)(user + nice + system + irq + softirq + steal) /
                  (double)sysconf(_SC_CLK_TCK);
    return n == 6;
}

/* ---- pinning ------------------------------------------------------------ */

bool bench_cpu_pin(const char *list)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    const char *p = list;
    while (*p != '\0') {
        char *end;
        long first = strtol(p, &end, 10), last = first;
        if (end == p || first < 0)
            return false;
        if (*end == '-') {
            p = end + 1;
            last = strtol(p, &end, 10);
            if (end == p)
                return false;
        }
        if (last < first || last >= CPU_SETSIZE || (*end != ',' && *end != '\0'))
            return false;
        for (long i = first; i <= last; i++)
            CPU_SET((size_t)i, &set);
        p = *end == ',' ? end + 1 : end;
    }
    return CPU_COUNT(&set) > 0 && sched_setaffinity(0, sizeof set, &set) == 0;
}
