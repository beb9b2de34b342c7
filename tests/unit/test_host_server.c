/*
 * test_host_server.c: numbers as replies.
 * link: server
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/num.h"
#include "server/host_server.h"
#include "server/server.h"

typedef void (*reply_fn)(struct host *h, double value);

static void expect(int resp, bool is_fixed17, reply_fn reply, double value,
                   const char *want)
{
    struct yn_buf out;
    yn_buf_init(&out);
    struct host host = {.out = &out, .resp = resp, .is_fixed17 = is_fixed17};
    yn_buf_append_text(&out, "+OK\r\n"); /* what stands before stays */
    reply(&host, value);
    yn_buf_append(&out, "", 1);
    assert_string_equal(out.data + 5, want);
    assert_memory_equal(out.data, "+OK\r\n", 5);
    yn_buf_clear(&out);
}

static void test_distances(void **state)
{
    (void)state;
    expect(2, false, host_reply_distance, 0, "$6\r\n0.0000\r\n");
    expect(3, false, host_reply_distance, 0.00005, "$6\r\n0.0000\r\n");
    expect(2, false, host_reply_distance, 9999.9998, "$9\r\n9999.9998\r\n");
    /* either side of the guess, and where rounding makes it wrong */
    expect(2, false, host_reply_distance, 9999.9999, "$9\r\n9999.9999\r\n");
    expect(2, false, host_reply_distance, nextafter(9999.9999, 0), "$9\r\n9999.9999\r\n");
    expect(2, false, host_reply_distance, 9999.99996, "$10\r\n10000.0000\r\n");
    expect(2, false, host_reply_distance, 10000, "$10\r\n10000.0000\r\n");
    expect(2, false, host_reply_distance, -9999.5, "$10\r\n-9999.5000\r\n");
    expect(2, false, host_reply_distance, -123456.5, "$12\r\n-123456.5000\r\n");
    expect(2, false, host_reply_distance, HUGE_VAL, "$3\r\ninf\r\n");
    expect(2, false, host_reply_distance, 1e22,
           "$28\r\n10000000000000000000000.0000\r\n");
}

static void test_coordinates(void **state)
{
    (void)state;
    expect(2, false, host_reply_coordinate, 13.361389338970184,
           "$18\r\n13.361389338970184\r\n");
    expect(2, true, host_reply_coordinate, 13.361389338970184,
           "$20\r\n13.36138933897018433\r\n");
    expect(2, false, host_reply_coordinate, -0.5, "$4\r\n-0.5\r\n");
    expect(2, false, host_reply_coordinate, 12345678.5, "$10\r\n12345678.5\r\n");
    expect(2, false, host_reply_coordinate, 1234567.5, "$9\r\n1234567.5\r\n");
    expect(3, false, host_reply_coordinate, 0.25, ",0.25\r\n");
    expect(3, true, host_reply_coordinate, 0.25, ",0.25\r\n");
}

/* No coordinate, but what the formatter may write must fit: 309 digits. */
static void test_longest_text(void **state)
{
    (void)state;
    char want[400], text[YN_NUM_FIXED17_MAX + 1];
    text[yn_num_format_fixed17(1.7976931348623157e308, text)] = '\0';
    snprintf(want, sizeof want, "$309\r\n%s\r\n", text);
    expect(2, true, host_reply_coordinate, 1.7976931348623157e308, want);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_distances),
        cmocka_unit_test(test_coordinates),
        cmocka_unit_test(test_longest_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
