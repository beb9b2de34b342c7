#include "linear/slow.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "tools/cli_link.h"

#define TURN_US 500
#define PIECE_LEN ((size_t)64 * 1024)

/* Behind each request stands one whose reply is known, and found at the end of the bytes.
 */
#define MARK "end-of-the-slow-reply-5c0f"

static const char *const requests[] = {
    "GEOSEARCH a FROMLONLAT 0 -40 BYRADIUS 20000 km ASC WITHCOORD WITHDIST\r\n",
    "GEOSEARCH a FROMLONLAT 0 -40 BYRADIUS 20000 km\r\n",
    "GEOSEARCH b FROMLONLAT 0 -40 BYBOX 30000 15000 km DESC WITHHASH\r\n",
    "ZRANGE a 0 -1 WITHSCORES\r\n",
    "MULTI\r\nGEOSEARCH a FROMLONLAT 0 -40 BYRADIUS 20000 km ASC\r\n"
    "ZRANGE b 0 -1\r\nEXEC\r\n",
    "GEOSEARCHSTORE stored a FROMLONLAT 0 -40 BYRADIUS 20000 km\r\n",
    "ZUNION 2 a b WITHSCORES\r\n",
};
#define N_REQUESTS (sizeof requests / sizeof *requests)

struct reader {
    struct cli_link link;
    bool is_idle;
    size_t n_sent;
    char tail[sizeof MARK + 1]; /* the last bytes that came: the mark, CR and LF */
};

struct slow {
    pthread_t thread;
    _Atomic bool is_over;
    unsigned n;
    long n_replies;
    bool is_lost;
    struct reader readers[];
};

static bool ask(struct reader *reader)
{
    char text[256];
    int len = snprintf(text, sizeof text, "%sECHO " MARK "\r\n",
                       requests[reader->n_sent++ % N_REQUESTS]);
    reader->is_idle = false;
    memset(reader->tail, 0, sizeof reader->tail);
    return send(reader->link.fd, text, (size_t)len, MSG_NOSIGNAL) == len;
}

/* Reads one piece of what there is. */
static bool take(struct slow *slow, struct reader *reader)
{
    static const char end[] = MARK "\r\n";
    const size_t end_len = sizeof end - 1;
    char piece[PIECE_LEN + sizeof reader->tail];
    memcpy(piece, reader->tail, end_len);
    ssize_t n = recv(reader->link.fd, piece + end_len, PIECE_LEN, MSG_DONTWAIT);
    if (n <= 0)
        return n < 0 && errno == EAGAIN;
    memcpy(reader->tail, piece + n, end_len);
    if (memcmp(reader->tail, end, end_len) == 0) {
        reader->is_idle = true;
        slow->n_replies++;
    }
    return true;
}

static void *run(void *ctx)
{
    struct slow *slow = ctx;
    const struct timespec turn = {.tv_nsec = TURN_US * 1000};
    for (unsigned i = 0; !atomic_load(&slow->is_over); i = (i + 1) % slow->n) {
        struct reader *reader = &slow->readers[i];
        if (!(reader->is_idle ? ask(reader) : take(slow, reader))) {
            slow->is_lost = true;
            break;
        }
        nanosleep(&turn, NULL);
    }
    return NULL;
}

struct slow *slow_new(const struct cli_options *server, unsigned n)
{
    struct slow *slow = calloc(1, sizeof *slow + n * sizeof *slow->readers);
    if (slow == NULL)
        abort();
    slow->n = n;
    for (unsigned i = 0; i < n; i++) {
        struct reader *reader = &slow->readers[i];
        cli_link_init(&reader->link);
        reader->is_idle = true;
        reader->n_sent = i;
        if (!cli_link_open(&reader->link, server)) {
            fprintf(stderr, "linear: %s\n", reader->link.error);
            return NULL;
        }
    }
    if (pthread_create(&slow->thread, NULL, run, slow) != 0)
        abort();
    return slow;
}

long slow_free(struct slow *slow)
{
    atomic_store(&slow->is_over, true);
    pthread_join(slow->thread, NULL);
    long n_replies = slow->is_lost ? -1 : slow->n_replies;
    for (unsigned i = 0; i < slow->n; i++)
        cli_link_close(&slow->readers[i].link);
    free(slow);
    return n_replies;
}
