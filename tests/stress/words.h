/*
 * words.h: the commands of the stress program, from the text of commands.txt.
 *
 * A catalogue holds templates by section; words_fill makes a command of one, with random
 * values in it. A catalogue is only read once it is there, by any number of threads; the
 * words belong to one thread.
 */
#ifndef STRESS_WORDS_H
#define STRESS_WORDS_H

#include <pthread.h>
#include <stdatomic.h>

#include "core/buf.h"
#include "resp/reply.h"

#define WORDS_MAX 256
#define STRESS_CLIENTS_MAX 64

enum section {
    SECTION_READ,
    SECTION_WRITE,
    SECTION_BIG,
    SECTION_BLOCK,
    SECTION_SERVER,
    SECTION_SESSION,
    SECTION_SPECIAL,
    SECTION_OPTIONS,
    N_SECTIONS,
};

struct template
{
    char *text;
    char *kinds; /* of replies; "" if any is right */
    unsigned weight;
    _Atomic uint64_t n_sent;
};

struct catalogue {
    struct template *templates[N_SECTIONS];
    size_t n[N_SECTIONS];
    unsigned weight[N_SECTIONS]; /* the sum */
};

/* What all clients know: the numbers of their connections, and a value that one of them
 * saw in the reply to DUMP. */
struct shared_values {
    _Atomic int64_t client_ids[STRESS_CLIENTS_MAX];
    int n_clients;
    pthread_mutex_t dump_lock;
    struct yn_buf dump;
};

struct words {
    struct yn_buf bytes;
    size_t ends[WORDS_MAX];
    size_t n;
    struct yn_bytes argv[WORDS_MAX];
};

/* Reads the file. On failure a text goes to standard error. */
bool catalogue_open(struct catalogue *catalogue, const char *path);
void catalogue_close(struct catalogue *catalogue);

/* A template of a section, each as often as its weight says. */
struct template *catalogue_choose(const struct catalogue *catalogue, enum section section,
                                  uint64_t *random);

/* Is there a line for the command, as COMMAND LIST names it ("client|list")? */
bool catalogue_knows(const struct catalogue *catalogue, const char *name);
/* Is there a CONFIG SET of the option, or does [options] name it? */
bool catalogue_knows_option(const struct catalogue *catalogue, const char *name);

void words_init(struct words *words);
void words_clear(struct words *words);
/* Makes a command of a template's text. words->argv and words->n hold until the next
 * call. */
void words_fill(struct words *words, const char *text, struct shared_values *values,
                uint64_t *random);

/* 0 <= result < n */
uint64_t random_below(uint64_t *random, uint64_t n);

#endif
