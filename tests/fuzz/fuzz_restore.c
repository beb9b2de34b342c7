/*
 * Fuzz target: values as RESTORE reads them.
 *
 * An input is a value in RDB format, without version and checksum. Checked: a set that is
 * read is sound and not empty; what is read is written, in each form, and read again as
 * the same; memory stays in proportion to the input; DUMP and RESTORE of the commands
 * agree with the layer under them; the bytes as a whole payload are no harm either.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rdb/rdb.h"
#include "unit/host_fake.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A set takes so many times its encoded bytes at most (a member of one byte with a score
 * of one), beside what an empty one takes. */
#define MEMORY_RATIO 64
#define MEMORY_FIXED ((size_t)64 * 1024)

static void die(const char *what)
{
    fprintf(stderr, "%s\n", what);
    abort();
}

static bool is_same_text(struct yn_bytes a, struct yn_bytes b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

static bool is_same_set(const struct yn_view *a, const struct yn_view *b)
{
    struct yn_cursor x, y;
    if (yn_view_count(a) != yn_view_count(b))
        return false;
    bool is_at = yn_cursor_seek(&x, a, 0) && yn_cursor_seek(&y, b, 0);
    while (is_at) {
        struct yn_entry left = yn_cursor_entry(&x), right = yn_cursor_entry(&y);
        /* the bits: -0 stays what it is */
        if (memcmp(&left.score, &right.score, sizeof left.score) != 0 ||
            !is_same_text(left.member, right.member))
            return false;
        is_at = yn_cursor_next(&x) && yn_cursor_next(&y);
    }
    return true;
}

static void check_reread(const struct rdb_value *value, struct yn_buf *buf)
{
    struct rdb_value again;
    if (buf->failed)
        return;
    if (rdb_read_value((struct yn_bytes){buf->data, buf->len}, NULL, &again) != RDB_OK)
        die("what was written cannot be read");
    if ((again.zset == NULL) != (value->zset == NULL) ||
        (value->zset == NULL && !is_same_text(value->string, again.string)) ||
        (value->zset != NULL &&
         !is_same_set(yn_zset_view(value->zset), yn_zset_view(again.zset))))
        die("what was written is read as something else");
    rdb_value_clear(&again);
    buf->len = 0;
}

static void check_value(const struct rdb_value *value, size_t size)
{
    struct yn_buf buf;
    yn_buf_init(&buf);
    if (value->zset == NULL) {
        rdb_write_string_value(&buf, value->string);
        check_reread(value, &buf);
    } else {
        const char *fault = yn_zset_check(value->zset);
        if (fault != NULL || yn_zset_count(value->zset) == 0)
            die(fault != NULL ? fault : "an empty set");
        if (yn_zset_memory(value->zset) > MEMORY_FIXED + MEMORY_RATIO * size)
            die("too much memory for a set");
        rdb_write_zset_value(&buf, yn_zset_view(value->zset));
        check_reread(value, &buf);
        if (!rdb_write_packed_zset(&buf, yn_zset_view(value->zset)))
            die("no packed list");
        check_reread(value, &buf);
    }
    yn_buf_clear(&buf);
}

/* The same value through the commands: restored, dumped, restored elsewhere, dumped. */
static void check_commands(const uint8_t *data, size_t size, enum rdb_status status)
{
    struct fake *fake = fake_new();
    struct yn_buf payload;
    yn_buf_init(&payload);
    yn_buf_append(&payload, data, size);
    rdb_write_footer(&payload);
    struct yn_bytes words[] = {
        {"RESTORE", 7}, {"k", 1}, {"0", 1}, {payload.data, payload.len}};
    struct yn_bytes reply = fake_run_words(fake, 4, words);
    bool is_ok = reply.len > 0 && reply.data[0] == '+';
    if (is_ok != (status == RDB_OK))
        die("RESTORE and its reader do not agree");
    struct yn_bytes dump[] = {{"DUMP", 4}, {"k", 1}};
    reply = fake_run_words(fake, 2, dump);
    if (is_ok) {
        const char *start = memchr(reply.data, '\n', reply.len);
        if (reply.data[0] != '$' || start == NULL)
            die("no dump");
        size_t head_len = (size_t)(start + 1 - reply.data);
        payload.len = 0;
        yn_buf_append(&payload, start + 1, reply.len - head_len - 2);
        words[1].data = "l";
        words[3] = (struct yn_bytes){payload.data, payload.len};
        dump[1].data = "l";
        reply = fake_run_words(fake, 4, words);
        if (reply.data[0] != '+')
            die("a dump cannot be restored");
        reply = fake_run_words(fake, 2, dump);
        if (!is_same_text(
                (struct yn_bytes){payload.data, payload.len},
                (struct yn_bytes){reply.data + head_len, reply.len - head_len - 2}))
            die("a second dump differs");
    }
    yn_buf_clear(&payload);
    fake_free(fake);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rdb_value value;
    struct yn_bytes bytes = {(const char *)data, size}, within;
    enum rdb_status status = rdb_read_value(bytes, NULL, &value);
    if (status == RDB_OK)
        check_value(&value, size);
    else if (value.zset != NULL || value.block != NULL || value.string.data != NULL)
        die("half a value");
    rdb_value_clear(&value);
    check_commands(data, size, status);
    if (rdb_open_payload(bytes, &within) && within.len + RDB_FOOTER_LEN != size)
        die("a wrong length within a payload");
    return 0;
}
