/*
 * The requests are not those that are measured, but drawn alike. Of a search the check
 * also counts what each server looks at for it: Redis the members of the cells that it
 * scans, which follow from the shape and are counted by ZCOUNT; Yonder the points that it
 * tests one by one, which its INFO tells.
 */
#include "tools/bench_verify.h"

#include <inttypes.h>
#include <stdlib.h>

#include "tools/bench_check.h"
#include "tools/bench_cover.h"
#include "tools/bench_shape.h"

#define CHECKS_POINT 200
#define CHECKS_SEARCH 20
/* Where a peer takes seconds for a search, a few comparisons must do. */
#define CHECKS_MIN 3
#define CHECK_MAX_S 10.0

struct findings {
    size_t n, n_by[BENCH_CHECK_OTHER + 1];
    uint64_t n_elements, n_nulls, n_candidates;
    size_t n_counted; /* requests whose candidates are in n_candidates */
    size_t n_in_vain; /* of them, those without any */
    bool is_covered;  /* compared with a covering search */
};

static struct yn_reply *send_raw(struct bench_server *server, struct yn_bytes request)
{
    yn_buf_append(&server->link.out, request.data, request.len);
    server->link.n_pending++;
    return cli_link_wait(&server->link);
}

static struct yn_bytes batch_of(const struct bench_ring *ring, size_t i)
{
    return (struct yn_bytes){ring->bytes.data + ring->starts[i],
                             ring->starts[i + 1] - ring->starts[i]};
}

/* ---- one request ---------------------------------------------------------- */

static bool check_same(struct bench_session *session, struct bench_result *result,
                       struct yn_reply *ours, struct yn_reply *theirs,
                       struct findings *findings)
{
    const struct bench_check_options options = {.by_value = session->by_value,
                                                .has_ties = result->row->has_ties,
                                                .has_more = result->row->has_more};
    char a[150], b[150]; /* before the check sorts them */
    bench_check_show(ours, a, sizeof a);
    bench_check_show(theirs, b, sizeof b);
    enum bench_check_verdict verdict = bench_check_replies(&options, ours, theirs);
    findings->n_by[verdict]++;
    return verdict != BENCH_CHECK_OTHER ||
           bench_session_fail(result, "different answers: A %s, B %s", a, b);
}

static bool check_covered(struct bench_result *result, struct yn_bytes request,
                          struct yn_reply *ours, struct yn_reply *theirs,
                          struct findings *findings)
{
    struct bench_shape shape;
    char error[200];
    if (!bench_shape_parse(&shape, request.data, request.len))
        return bench_session_fail(result, "the shape of a request is not known");
    bool is_fine = bench_cover_check(ours, theirs, &shape.shape, error, sizeof error);
    bench_shape_clear(&shape);
    findings->is_covered = true;
    findings->n_by[BENCH_CHECK_SAME] += is_fine;
    return is_fine || bench_session_fail(result, "%s", error);
}

static bool check_one(struct bench_session *session, struct bench_result *result,
                      const struct yn_bytes requests[BENCH_N_SIDES], bool is_covered,
                      struct findings *findings)
{
    struct bench_server *servers = session->servers;
    struct yn_reply *ours = send_raw(&servers[BENCH_OURS], requests[BENCH_OURS]);
    struct yn_reply *theirs = send_raw(&servers[BENCH_THEIRS], requests[BENCH_THEIRS]);
    bool is_fine = ours != NULL && theirs != NULL;
    if (!is_fine) {
        bench_session_fail(result, "no answer: %s",
                           servers[ours == NULL ? BENCH_OURS : BENCH_THEIRS].link.error);
    } else if (ours->type == YN_REPLY_ERROR || theirs->type == YN_REPLY_ERROR) {
        char a[150], b[150];
        bench_check_show(ours, a, sizeof a);
        bench_check_show(theirs, b, sizeof b);
        is_fine = bench_session_fail(result, "error reply: A %s, B %s", a, b);
    } else {
        findings->n++;
        findings->n_elements += bench_check_count(ours, &findings->n_nulls);
        is_fine = is_covered ? check_covered(result, requests[BENCH_OURS], ours, theirs,
                                             findings)
                             : check_same(session, result, ours, theirs, findings);
    }
    yn_reply_free(ours);
    yn_reply_free(theirs);
    return is_fine;
}

static void count_candidates(struct bench_session *session, struct yn_bytes request,
                             struct findings *findings)
{
    struct bench_shape shape;
    uint64_t n;
    if (!bench_shape_parse(&shape, request.data, request.len))
        return;
    if (bench_shape_candidates(&shape, &session->servers[BENCH_THEIRS], &n)) {
        findings->n_candidates += n;
        findings->n_counted++;
        findings->n_in_vain += n == 0;
    }
    bench_shape_clear(&shape);
}

/* ---- all of them ---------------------------------------------------------- */

/* Counters of Yonder's INFO; -1: it has none. */
struct work {
    double n_searches, n_tested, n_leaves;
};

static double counter(struct bench_server *server, const char *field)
{
    char text[64];
    return bench_cpu_info(&server->link, field, text, sizeof text) ? atof(text) : -1;
}

static struct work read_work(struct bench_server *server)
{
    return (struct work){counter(server, "geo_searches"),
                         counter(server, "geo_points_tested"),
                         counter(server, "geo_leaves_visited")};
}

static void tell_findings(const struct findings *findings, struct bench_result *result)
{
    static const char *const names[] = {"same", "in another order", "with other ties",
                                        "with more members"};
    int n = 0;
    for (size_t i = 0; i < BENCH_CHECK_OTHER; i++) {
        if (findings->n_by[i] > 0 || i == 0)
            n += snprintf(result->checked + n, sizeof result->checked - (size_t)n,
                          "%s%zu %s", i > 0 ? ", " : "", findings->n_by[i],
                          findings->is_covered ? "as tested one by one" : names[i]);
    }
}

static bool judge(const struct findings *findings, struct bench_result *result)
{
    const struct bench_row *row = result->row;
    if (findings->n_nulls > 0)
        return bench_session_fail(
            result, "%" PRIu64 " nulls: members or keys are missing", findings->n_nulls);
    if (findings->n_elements == 0 && !row->is_empty && !row->may_be_empty)
        return bench_session_fail(
            result, "all replies are empty: the key is, or the search misses");
    if (row->is_empty &&
        (findings->n_elements > 0 || findings->n_in_vain > 0 || findings->n_counted == 0))
        return bench_session_fail(
            result,
            "replies should be empty and the cells around full: %" PRIu64
            " members found, %zu of %zu searches in empty cells",
            findings->n_elements, findings->n_in_vain, findings->n_counted);
    return true;
}

static bool check_rings(struct bench_session *session, struct bench_result *result,
                        const struct bench_ring rings[BENCH_N_SIDES], bool is_covered)
{
    struct findings findings = {0};
    double end_s = bench_session_clock_s() + CHECK_MAX_S;
    struct work before = read_work(&session->servers[BENCH_OURS]);
    for (size_t i = 0; i < rings[BENCH_OURS].n_batches; i++) {
        if (i >= CHECKS_MIN && bench_session_clock_s() > end_s)
            break;
        const struct yn_bytes requests[] = {batch_of(&rings[BENCH_OURS], i),
                                            batch_of(&rings[BENCH_THEIRS], i)};
        if (!check_one(session, result, requests, is_covered, &findings))
            return false;
        if (bench_row_is_search(result->row->command))
            count_candidates(session, requests[BENCH_THEIRS], &findings);
    }
    struct work after = read_work(&session->servers[BENCH_OURS]);
    tell_findings(&findings, result);
    result->hits = (double)findings.n_elements / (double)findings.n;
    if (findings.n_counted > 0)
        result->candidates = (double)findings.n_candidates / (double)findings.n_counted;
    double n = after.n_searches - before.n_searches;
    if (before.n_searches >= 0 && n > 0) {
        result->tested = (after.n_tested - before.n_tested) / n;
        result->leaves = (after.n_leaves - before.n_leaves) / n;
    }
    return judge(&findings, result);
}

/* Both print coordinates in the same way while they are compared. */
static bool set_format(struct bench_session *session, const char *format)
{
    char command[64];
    if (!session->has_format)
        return true;
    snprintf(command, sizeof command, "CONFIG SET coordinate-format %s", format);
    return bench_server_do(&session->servers[BENCH_OURS], command);
}

bool bench_verify_row(struct bench_session *session, struct bench_result *result)
{
    const struct bench_row *row = result->row;
    struct bench_ring rings[BENCH_N_SIDES] = {0};
    uint64_t n = bench_row_is_search(row->command) ? CHECKS_SEARCH : CHECKS_POINT;
    n = row->n_checks > 0 ? row->n_checks : n;
    n = row->ring > 0 && row->ring < n ? row->ring : n;
    bool is_fine = true, is_covered = false;
    for (int i = 0; i < BENCH_N_SIDES && is_fine; i++) {
        const char *command = bench_session_command(session, row, i);
        is_covered = command != row->command;
        const struct bench_requests requests = {command, row->check, BENCH_SEED_CHECK, 0,
                                                n};
        is_fine = bench_session_fill_ring(session, result, &requests, &rings[i]);
    }
    if (is_fine) {
        is_fine = set_format(session, "fixed17") &&
                  check_rings(session, result, rings, is_covered);
        is_fine = set_format(session, "shortest") && is_fine;
        if (!is_fine && result->reason[0] == '\0')
            bench_session_fail(result, "%s", session->servers[BENCH_OURS].error);
    }
    for (int i = 0; i < BENCH_N_SIDES; i++)
        bench_ring_clear(&rings[i]);
    return is_fine;
}
