#include "tools/bench_feed.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define INPUT_LEN ((size_t)64 * 1024)

static bool fail(struct bench_feed *feed, const char *what, const char *reason)
{
    snprintf(feed->error, sizeof feed->error, "%s: %s", what, reason);
    return false;
}

bool bench_feed_open(struct bench_feed *feed, const struct cli_options *server)
{
    memset(feed, 0, sizeof *feed);
    cli_link_init(&feed->link);
    yn_buf_init(&feed->out);
    bench_scan_init(&feed->scan);
    return cli_link_open(&feed->link, server) ||
           fail(feed, "connection", feed->link.error);
}

void bench_feed_close(struct bench_feed *feed)
{
    cli_link_close(&feed->link);
    yn_buf_clear(&feed->out);
}

static bool read_some(struct bench_feed *feed)
{
    char input[INPUT_LEN];
    ssize_t n = recv(feed->link.fd, input, sizeof input, MSG_DONTWAIT);
    if (n == 0)
        return fail(feed, "connection lost", "closed by the server");
    if (n < 0)
        return errno == EAGAIN || errno == EINTR ||
               fail(feed, "connection lost", strerror(errno));
    bench_scan_feed(&feed->scan, input, (size_t)n);
    if (feed->scan.is_bad)
        return fail(feed, "the server broke the protocol", "no RESP");
    return feed->scan.n_errors == 0 || fail(feed, "error reply", feed->scan.error);
}

/* Moves what can be moved; waits if that is nothing. */
static bool move(struct bench_feed *feed, size_t *sent)
{
    struct pollfd wait = {.fd = feed->link.fd, .events = POLLIN};
    if (feed->out.len > *sent)
        wait.events |= POLLOUT;
    if (poll(&wait, 1, -1) < 0)
        return errno == EINTR || fail(feed, "poll", strerror(errno));
    if ((wait.revents & POLLOUT) != 0) {
        ssize_t n = send(feed->link.fd, feed->out.data + *sent, feed->out.len - *sent,
                         MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n > 0)
            *sent += (size_t)n;
        else if (errno != EAGAIN && errno != EINTR && errno != EPIPE &&
                 errno != ECONNRESET) /* what the server said first is still to be read */
            return fail(feed, "connection lost", strerror(errno));
    }
    return (wait.revents & (POLLIN | POLLHUP | POLLERR)) == 0 || read_some(feed);
}

bool bench_feed_push(struct bench_feed *feed, size_t left)
{
    if (feed->out.failed)
        return fail(feed, "request", "out of memory");
    size_t sent = 0;
    while (feed->out.len - sent > left) {
        if (!move(feed, &sent))
            return false;
    }
    yn_buf_consume(&feed->out, sent);
    return true;
}

bool bench_feed_finish(struct bench_feed *feed)
{
    size_t none = 0;
    if (!bench_feed_push(feed, 0))
        return false;
    while (feed->scan.n_replies < feed->n_sent) {
        if (!move(feed, &none))
            return false;
    }
    return true;
}
