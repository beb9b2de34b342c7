/* check_reply.h: short forms for tests of commands on the fake host. */
#ifndef CHECK_REPLY_H
#define CHECK_REPLY_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "host_fake.h"

/* Runs the command and compares the whole reply. CR LF is written as | in `expected`. */
static inline void check_reply_at(struct fake *fake, const char *line,
                                  const char *expected, const char *file, int line_number)
{
    struct yn_buf text;
    yn_buf_init(&text);
    for (const char *c = expected; *c != '\0'; c++) {
        if (*c == '|')
            yn_buf_append_text(&text, "\r\n");
        else
            yn_buf_append(&text, c, 1);
    }
    yn_buf_append(&text, "", 1);
    const char *reply = fake_run(fake, line);
    if (strcmp(reply, text.data) != 0) {
        print_error("%s\n", line);
        print_error("expected: %s\n", text.data);
        print_error("     got: %s\n", reply);
        yn_buf_clear(&text);
        _fail(file, line_number);
    }
    yn_buf_clear(&text);
}
#define check_reply(fake, line, expected) \
    check_reply_at(fake, line, expected, __FILE__, __LINE__)

static inline int check_setup(void **state)
{
    *state = fake_new();
    return 0;
}

static inline int check_teardown(void **state)
{
    fake_free(*state);
    return 0;
}

/* A test that gets a fake host of its own as *state. */
#define check_test(name) \
    cmocka_unit_test_setup_teardown(name, check_setup, check_teardown)

#endif
