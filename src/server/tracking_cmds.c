/* CLIENT TRACKING, CACHING, GETREDIR, TRACKINGINFO. */
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd_args.h"
#include "core/bytes.h"
#include "server/commands.h"
#include "server/conn.h"
#include "server/host_server.h"
#include "server/server.h"

static struct tracking *tracking_of(const struct cmd_call *call)
{
    return &call->host->loop->server->tracking;
}

/* ---- CLIENT TRACKING ---- */

static bool parse_redirect(struct cmd_args *args, const struct loop *loop,
                           struct tracking_options *options)
{
    int64_t id;
    if (options->redirect != NULL)
        return cmd_args_fail(args,
                             "ERR A client can only redirect to a single other client");
    if (!cmd_args_int64(args, CMD_ERR_INTEGER, &id))
        return false;
    options->redirect = conn_find(loop->server, id);
    return options->redirect != NULL ||
           cmd_args_fail(args, "ERR The client ID you want redirect to does not exist");
}

/* The words behind ON or OFF; prefixes go into an array of the arena's. */
static bool parse_options(struct cmd_args *args, const struct loop *loop,
                          struct tracking_options *options)
{
    struct yn_bytes *prefixes =
        cmd_arena_take(args->arena, (args->argc + 1) * sizeof *prefixes);
    if (prefixes == NULL)
        return cmd_args_fail(args, CMD_ERR_NOMEM);
    options->prefixes = prefixes;
    while (cmd_args_left(args) > 0) {
        if (cmd_args_option(args, "redirect", 1)) {
            if (!parse_redirect(args, loop, options))
                return false;
        } else if (cmd_args_option(args, "bcast", 0)) {
            options->flags |= TRACKING_BCAST;
        } else if (cmd_args_option(args, "optin", 0)) {
            options->flags |= TRACKING_OPTIN;
        } else if (cmd_args_option(args, "optout", 0)) {
            options->flags |= TRACKING_OPTOUT;
        } else if (cmd_args_option(args, "noloop", 0)) {
            options->flags |= TRACKING_NOLOOP;
        } else if (cmd_args_option(args, "prefix", 1)) {
            prefixes[options->n_prefixes++] = args->argv[args->at++];
        } else {
            return cmd_args_fail(args, CMD_ERR_SYNTAX);
        }
    }
    return true;
}

/* Whether the options go together, and with those that are in force. */
static bool check_modes(struct cmd_args *args, const struct tracking_options *options,
                        const struct tracker *tracker)
{
    const unsigned opt_flags = TRACKING_OPTIN | TRACKING_OPTOUT;
    unsigned now = options->flags;
    unsigned before = tracker != NULL ? tracking_flags(tracker) : now;
    if ((now & TRACKING_BCAST) == 0 && options->n_prefixes > 0)
        return cmd_args_fail(args, "ERR PREFIX option requires BCAST mode to be enabled");
    if (((now ^ before) & TRACKING_BCAST) != 0)
        return cmd_args_fail(
            args, "ERR You can't switch BCAST mode on/off before disabling tracking for "
                  "this client, and then re-enabling it with a different mode.");
    if ((now & TRACKING_BCAST) != 0 && (now & opt_flags) != 0)
        return cmd_args_fail(args, "ERR OPTIN and OPTOUT are not compatible with BCAST");
    if ((now & opt_flags) == opt_flags)
        return cmd_args_fail(args,
                             "ERR You can't specify both OPTIN mode and OPTOUT mode");
    if ((before & opt_flags) != 0 && (now & opt_flags) != 0 &&
        (before & opt_flags) != (now & opt_flags))
        return cmd_args_fail(
            args, "ERR You can't switch OPTIN/OPTOUT mode before disabling tracking for "
                  "this client, and then re-enabling it with a different mode.");
    return true;
}

static bool overlap(struct yn_bytes a, struct yn_bytes b)
{
    size_t len = a.len < b.len ? a.len : b.len;
    return len == 0 || memcmp(a.data, b.data, len) == 0;
}

struct overlap_search {
    struct yn_bytes prefix;
    struct yn_bytes found; /* the first in the order of the bytes */
    bool has_found;
};

static void look_for_overlap(void *ctx, struct yn_bytes prefix)
{
    struct overlap_search *search = ctx;
    if (overlap(search->prefix, prefix) &&
        (!search->has_found || yn_bytes_compare(prefix, search->found) < 0)) {
        search->found = prefix;
        search->has_found = true;
    }
}

static bool fail_overlap(struct cmd_args *args, const char *kind, struct yn_bytes a,
                         struct yn_bytes b)
{
    return cmd_args_fail_format(args,
                                "ERR Prefix '%.*s' overlaps with %s prefix '%.*s'. "
                                "Prefixes for a single client must not overlap.",
                                (int)a.len, a.data, kind, (int)b.len, b.data);
}

/* A prefix, and its number among those that are given; SIZE_MAX: it is in force. */
struct numbered {
    struct yn_bytes text;
    size_t number;
};

static void collect_numbered(void *ctx, struct yn_bytes prefix)
{
    struct numbered **next = ctx;
    *(*next)++ = (struct numbered){prefix, SIZE_MAX};
}

static int compare_numbered(const void *a, const void *b)
{
    return yn_bytes_compare(((const struct numbered *)a)->text,
                            ((const struct numbered *)b)->text);
}

/* The lowest number of a prefix that overlaps with another; SIZE_MAX: none does. In
 * order, all that begin with a prefix follow it at once. */
static size_t first_overlapping(struct numbered *all, size_t n)
{
    size_t root = 0, first = SIZE_MAX;
    qsort(all, n, sizeof *all, compare_numbered);
    for (size_t i = 1; i < n; i++) {
        if (!overlap(all[root].text, all[i].text)) {
            root = i;
            continue;
        }
        first = all[root].number < first ? all[root].number : first;
        first = all[i].number < first ? all[i].number : first;
    }
    return first;
}

/* Which one the given prefix number i overlaps with: one in force, or else a later one.
 */
static bool fail_overlap_of(struct cmd_args *args, const struct tracking_options *options,
                            const struct tracker *tracker, size_t i)
{
    struct overlap_search search = {.prefix = options->prefixes[i]};
    if (tracker != NULL)
        tracking_prefixes(tracker, look_for_overlap, &search);
    if (search.has_found)
        return fail_overlap(args, "an existing", search.prefix, search.found);
    size_t k = i + 1;
    while (!overlap(search.prefix, options->prefixes[k]))
        k++;
    return fail_overlap(args, "another provided", search.prefix, options->prefixes[k]);
}

static bool check_prefixes(struct cmd_args *args, const struct tracking_options *options,
                           const struct tracker *tracker)
{
    size_t n_before = tracker != NULL ? tracking_prefixes(tracker, NULL, NULL) : 0;
    size_t n = options->n_prefixes + n_before;
    if (options->n_prefixes == 0)
        return true;
    struct numbered *all = cmd_arena_take(args->arena, n * sizeof *all);
    if (all == NULL)
        return cmd_args_fail(args, CMD_ERR_NOMEM);
    for (size_t i = 0; i < options->n_prefixes; i++)
        all[i] = (struct numbered){options->prefixes[i], i};
    struct numbered *next = all + options->n_prefixes;
    if (tracker != NULL)
        tracking_prefixes(tracker, collect_numbered, &next);
    size_t first = first_overlapping(all, n);
    return first == SIZE_MAX || fail_overlap_of(args, options, tracker, first);
}

void client_tracking(struct cmd_call *call)
{
    struct host *h = call->host;
    const struct tracker *tracker = h->conn->tracking.tracker;
    struct tracking_options options = {.flags = 0};
    struct cmd_args args;
    cmd_args_init(&args, call, 3);
    bool is_on = cmd_word_is(call->argv[2], "on");
    bool is_good = parse_options(&args, h->loop, &options) &&
                   (is_on || cmd_word_is(call->argv[2], "off") ||
                    cmd_args_fail(&args, CMD_ERR_SYNTAX)) &&
                   (!is_on || (check_modes(&args, &options, tracker) &&
                               check_prefixes(&args, &options, tracker)));
    if (!is_good) {
        cmd_args_reply_error(&args, h);
        return;
    }
    if (!is_on)
        tracking_stop(tracking_of(call), h->conn);
    else if (!tracking_start(tracking_of(call), h->conn, &options)) {
        host_reply_error(h, CMD_ERR_NOMEM);
        return;
    }
    host_reply_status(h, "OK");
}

/* ---- the others ---- */

void client_caching(struct cmd_call *call)
{
    struct host *h = call->host;
    struct tracker *tracker = h->conn->tracking.tracker;
    unsigned flags = tracker != NULL ? tracking_flags(tracker) : 0;
    bool is_yes = cmd_word_is(call->argv[2], "yes");
    if (tracker == NULL)
        host_reply_error(h, "ERR CLIENT CACHING can be called only when the client is in "
                            "tracking mode with OPTIN or OPTOUT mode enabled");
    else if (!is_yes && !cmd_word_is(call->argv[2], "no"))
        host_reply_error(h, CMD_ERR_SYNTAX);
    else if (is_yes && (flags & TRACKING_OPTIN) == 0)
        host_reply_error(h, "ERR CLIENT CACHING YES is only valid when tracking is "
                            "enabled in OPTIN mode.");
    else if (!is_yes && (flags & TRACKING_OPTOUT) == 0)
        host_reply_error(h, "ERR CLIENT CACHING NO is only valid when tracking is "
                            "enabled in OPTOUT mode.");
    else {
        tracking_set_caching(tracker, true);
        host_reply_status(h, "OK");
    }
}

void client_getredir(struct cmd_call *call)
{
    host_reply_integer(call->host, tracking_redirect_id(&call->host->conn->tracking));
}

/* The flags of TRACKINGINFO; returns how many there are. h may be NULL. */
static size_t reply_flags(struct host *h, const struct tracker *tracker)
{
    unsigned flags = tracker != NULL ? tracking_flags(tracker) : 0;
    bool is_caching = tracker != NULL && tracking_is_caching(tracker);
    const struct {
        const char *name;
        bool is_set;
    } names[] = {
        {"off", tracker == NULL},
        {"on", tracker != NULL},
        {"bcast", (flags & TRACKING_BCAST) != 0},
        {"optin", (flags & TRACKING_OPTIN) != 0},
        {"caching-yes", (flags & TRACKING_OPTIN) != 0 && is_caching},
        {"optout", (flags & TRACKING_OPTOUT) != 0},
        {"caching-no", (flags & TRACKING_OPTOUT) != 0 && is_caching},
        {"noloop", (flags & TRACKING_NOLOOP) != 0},
        {"broken_redirect", tracker != NULL && tracking_is_broken(tracker)},
    };
    size_t n = 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (!names[i].is_set)
            continue;
        n++;
        if (h != NULL)
            host_reply_bulk_text(h, names[i].name);
    }
    return n;
}

static void collect_prefix(void *ctx, struct yn_bytes prefix)
{
    struct yn_bytes **next = ctx;
    *(*next)++ = prefix;
}

static int compare_prefixes(const void *a, const void *b)
{
    return yn_bytes_compare(*(const struct yn_bytes *)a, *(const struct yn_bytes *)b);
}

void client_trackinginfo(struct cmd_call *call)
{
    struct host *h = call->host;
    const struct tracker *tracker = h->conn->tracking.tracker;
    size_t n = tracker != NULL ? tracking_prefixes(tracker, NULL, NULL) : 0;
    struct yn_bytes *prefixes = cmd_arena_take(call->arena, (n + 1) * sizeof *prefixes);
    struct yn_bytes *next = prefixes;
    if (prefixes == NULL) {
        host_reply_error(h, CMD_ERR_NOMEM);
        return;
    }
    if (tracker != NULL)
        tracking_prefixes(tracker, collect_prefix, &next);
    qsort(prefixes, n, sizeof *prefixes, compare_prefixes);
    host_reply_map(h, 3);
    host_reply_bulk_text(h, "flags");
    host_reply_set(h, reply_flags(NULL, tracker));
    reply_flags(h, tracker);
    host_reply_bulk_text(h, "redirect");
    host_reply_integer(h, tracking_redirect_id(&h->conn->tracking));
    host_reply_bulk_text(h, "prefixes");
    host_reply_array(h, n);
    for (size_t i = 0; i < n; i++)
        host_reply_bulk(h, prefixes[i]);
}
