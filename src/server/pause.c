#include "server/pause.h"

#include "cmd/cmd_args.h"
#include "core/num.h"
#include "server/commands.h"
#include "server/dispatch.h"
#include "server/host_server.h"
#include "server/server.h"

/* ---- holding ---- */

static bool may_change(const struct conn *conn, const struct cmd_spec *spec)
{
    if (spec->run == multi_exec)
        return (conn->multi.flags & CMD_WRITE) != 0;
    return (spec->flags & CMD_WRITE) != 0 || spec->run == pubsub_publish_cmd ||
           spec->run == pubsub_spublish;
}

bool pause_holds(struct conn *conn, const struct cmd_spec *spec, size_t argc,
                 const struct yn_bytes *argv)
{
    struct pause *pause = &conn->loop->server->pause;
    if (pause->mode == PAUSE_NONE)
        return false;
    if (spec == NULL)
        spec = cmd_find(argv[0]);
    if (spec != NULL && spec->subcommands != NULL && argc > 1)
        spec = cmd_find_sub(spec, argv[1]);
    if (spec == NULL || !cmd_arity_is_ok(spec, argc))
        return false; /* to be refused at once */
    if (pause->mode == PAUSE_WRITES && !may_change(conn, spec))
        return false;
    if (!conn->is_held) {
        conn->is_held = true;
        pause->n_held++;
    }
    return true;
}

void pause_release(struct conn *conn)
{
    if (!conn->is_held)
        return;
    conn->is_held = false;
    conn->loop->server->pause.n_held--;
    if (conn->state == CONN_OPEN)
        loop_wake(conn->loop, conn);
}

/* ---- the pause ---- */

static void end_pause(struct server *server)
{
    struct link *conns = &server->conns;
    server->pause.mode = PAUSE_NONE;
    server->pause.end_ns = 0;
    server_note_readers(server);
    pause_set_timer(server);
    for (struct link *l = conns->next; l != conns; l = l->next)
        pause_release(LIST_ITEM(l, struct conn, in_conns));
}

static void on_timer(uv_timer_t *timer)
{
    struct server *server = timer->data;
    struct loop *loop = &server->loops[0];
    loop_lock(loop, LOOP_EXCLUSIVE);
    /* libuv's clock is that of the iteration's start: it may ring a little early. */
    if (loop_update_mono(loop) < server->pause.end_ns)
        uv_timer_start(timer, on_timer, 1, 0);
    else
        end_pause(server);
    loop_unlock(loop);
}

void pause_init(struct pause *pause, uv_loop_t *uv)
{
    pause->mode = PAUSE_NONE;
    pause->end_ns = 0;
    pause->n_held = 0;
    uv_timer_init(uv, &pause->timer);
}

void pause_set_timer(struct server *server)
{
    struct pause *pause = &server->pause;
    struct loop *loop = &server->loops[0];
    if (loop_current() != loop) {
        server_poke(server);
        return;
    }
    uint64_t now_ns = loop_update_mono(loop);
    if (pause->mode == PAUSE_NONE)
        uv_timer_stop(&pause->timer);
    else
        uv_timer_start(&pause->timer, on_timer,
                       pause->end_ns > now_ns ? (pause->end_ns - now_ns) / 1000000 : 0,
                       0);
}

/* A pause that is under way becomes stricter or longer, never less. */
static void begin_pause(struct server *server, enum pause_mode mode, uint64_t length_ms)
{
    struct pause *pause = &server->pause;
    uint64_t end_ns = loop_update_mono(loop_current()) + length_ms * UINT64_C(1000000);
    if (end_ns > pause->end_ns)
        pause->end_ns = end_ns;
    if (mode > pause->mode)
        pause->mode = mode;
    server_note_readers(server);
    pause_set_timer(server);
}

/* ---- CLIENT PAUSE, CLIENT UNPAUSE ---- */

/* What the clock can still count to. */
#define LENGTH_MS_MAX (INT64_MAX / 2000000)

void client_pause(struct cmd_call *call)
{
    enum pause_mode mode = PAUSE_ALL;
    int64_t length_ms;
    if (call->argc > 4) {
        server_reply_subcommand_error(call, "ERR unknown subcommand or wrong number of "
                                            "arguments for '%.*s'. Try CLIENT HELP.");
        return;
    }
    if (call->argc == 4 && cmd_word_is(call->argv[3], "write")) {
        mode = PAUSE_WRITES;
    } else if (call->argc == 4 && !cmd_word_is(call->argv[3], "all")) {
        host_reply_error(call->host, "ERR CLIENT PAUSE mode must be WRITE or ALL");
        return;
    }
    if (!yn_num_parse_int64(call->argv[2], &length_ms)) {
        host_reply_error(call->host, "ERR timeout is not an integer or out of range");
        return;
    }
    if (length_ms < 0) {
        host_reply_error(call->host, "ERR timeout is negative");
        return;
    }
    if (length_ms > LENGTH_MS_MAX)
        length_ms = LENGTH_MS_MAX;
    begin_pause(call->host->loop->server, mode, (uint64_t)length_ms);
    host_reply_status(call->host, "OK");
}

void client_unpause(struct cmd_call *call)
{
    end_pause(call->host->loop->server);
    host_reply_status(call->host, "OK");
}
