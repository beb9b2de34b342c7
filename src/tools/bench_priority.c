#include "tools/bench_priority.h"

#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#define NICE_FIRST (-10)
#define NICE_LAST 19
#define SPINS 2000 /* a microsecond or less */

/* ---- priorities ----------------------------------------------------------- */

static bool set_nice(int nice_value)
{
    /* on Linux a priority is a thread's */
    return setpriority(PRIO_PROCESS, (id_t)gettid(), nice_value) == 0;
}

const char *bench_priority_set(enum bench_priority priority)
{
    const struct sched_param round_robin = {.sched_priority = 1}, none = {0};
    if (priority == BENCH_PRIORITY_FIRST) {
        prctl(PR_SET_TIMERSLACK, 1); /* ns; threads of real-time priority have none */
        if (sched_setscheduler(0, SCHED_RR, &round_robin) == 0)
            return "real-time";
        return set_nice(NICE_FIRST) ? "nice -10" : "normal";
    }
    if (sched_setscheduler(0, SCHED_IDLE, &none) == 0)
        return "idle";
    return set_nice(NICE_LAST) ? "nice 19" : "normal";
}

/* ---- processors that stay awake ------------------------------------------- */

static void *spin(void *arg)
{
    const atomic_bool *is_over = arg;
    while (!atomic_load_explicit(is_over, memory_order_relaxed)) {
        for (unsigned i = 0; i < SPINS; i++)
            __asm__ volatile("" ::: "memory"); /* no pause: some hosts halt at it */
        sched_yield();                         /* to the clients of the lowest priority */
    }
    return NULL;
}

static bool start_on(struct bench_awake *awake, int processor)
{
    const struct sched_param none = {0};
    cpu_set_t set;
    pthread_attr_t attributes;
    CPU_ZERO(&set);
    CPU_SET((size_t)processor, &set);
    pthread_attr_init(&attributes);
    bool is_fine =
        pthread_attr_setaffinity_np(&attributes, sizeof set, &set) == 0 &&
        pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED) == 0 &&
        pthread_attr_setschedpolicy(&attributes, SCHED_OTHER) == 0 &&
        pthread_attr_setschedparam(&attributes, &none) == 0 &&
        pthread_create(&awake->threads[awake->n], &attributes, spin, &awake->is_over) ==
            0;
    pthread_attr_destroy(&attributes);
    if (!is_fine)
        return false;
    return pthread_setschedparam(awake->threads[awake->n++], SCHED_IDLE, &none) == 0;
}

bool bench_awake_start(struct bench_awake *awake)
{
    cpu_set_t set;
    memset(awake, 0, sizeof *awake);
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return false;
    for (int i = 0; i < CPU_SETSIZE && awake->n < BENCH_AWAKE_MAX; i++) {
        if (CPU_ISSET((size_t)i, &set) && !start_on(awake, i)) {
            bench_awake_stop(awake);
            return false;
        }
    }
    return true;
}

void bench_awake_stop(struct bench_awake *awake)
{
    atomic_store(&awake->is_over, true);
    for (unsigned i = 0; i < awake->n; i++)
        pthread_join(awake->threads[i], NULL);
    awake->n = 0;
}
