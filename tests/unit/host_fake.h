/*
 * host_fake.h: a host for unit tests of commands: no sockets, no server.
 *
 * It records replies as RESP text and keeps keys in a small array. Jobs are run
 * to their end in steps of a budget, with a hook between two steps.
 */
#ifndef HOST_FAKE_H
#define HOST_FAKE_H

#include "cmd/cmd.h"
#include "core/buf.h"

#define FAKE_NOW_MS INT64_C(1700000000000)
/* What host_string_len_max says. */
#define FAKE_STRING_MAX 4096

struct fake;

struct fake *fake_new(void);
void fake_free(struct fake *fake);

/* The protocol version of replies, 2 at first. */
void fake_set_resp(struct fake *fake, int resp);
/* Bytes a step of a job may send, and what is called after each step (may be NULL). With
 * `holds` the job is held after its first step. Unlimited, NULL and false at first. */
void fake_set_jobs(struct fake *fake, size_t budget, bool holds,
                   void (*between)(struct fake *fake, void *ctx), void *ctx);
/* How the work of jobs is done: at once; or apart, in a job that is held, with `between`
 * called before the work and after it; where `stops_at` is not 0, the work is told to
 * stop at that question, and all after it. At once, and never, at first. */
void fake_set_work(struct fake *fake, bool is_apart, size_t stops_at,
                   void (*between)(struct fake *fake, void *ctx), void *ctx);
/* How often the work of the last command's job has asked whether to stop, and how often
 * the command was run. */
size_t fake_work_questions(const struct fake *fake);
size_t fake_runs(const struct fake *fake);
#define FAKE_STOPPED "STOPPED by the test"
/* Makes the n-th allocation from now on fail, and all after it, in sets that the host
 * hands out (its allocator); 0: never. */
void fake_fail_allocations(struct fake *fake, size_t n);
/* Lets allocations fail while a job is being held. */
void fake_fail_holds(struct fake *fake, bool fails);
/* Makes host_key_put_* fail. */
void fake_fail_puts(struct fake *fake, bool fails);
void fake_set_now(struct fake *fake, int64_t now_ms);
/* Where the random numbers go on from. */
void fake_set_random(struct fake *fake, uint64_t seed);

/* Runs a command; words are split at blanks, '...' quotes. Returns the whole reply, NUL
 * terminated, valid until the next call. */
const char *fake_run(struct fake *fake, const char *line);
struct yn_bytes fake_run_words(struct fake *fake, size_t argc,
                               const struct yn_bytes *argv);

/* Number of steps that the job of the last command took; 0: it made none. */
size_t fake_job_steps(const struct fake *fake);
/* What the last command left in call->block. Its keys are not to be read any more. */
struct cmd_block fake_block(const struct fake *fake);
/* "event:key event:key " of the last command. */
const char *fake_events(const struct fake *fake);
/* The host, to call commands' helpers directly. */
struct host *fake_host(struct fake *fake);

#endif
