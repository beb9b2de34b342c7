/*
 * Fuzz target: glob patterns, against a matcher that tries everything.
 *
 * An input is a pattern and a text, a zero byte between them. The other matcher goes over
 * the pattern element by element and keeps the set of places in the text where it can be:
 * no going back, so nothing to forget.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/glob.h"

#define TEXT_MAX 256

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int lower(int c, bool nocase)
{
    return nocase && c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

/* An element of the pattern: any bytes, or one byte of those allowed. */
struct element {
    bool is_star;
    bool allows[256];
};

static void allow(struct element *element, int from, int to, bool nocase)
{
    from = lower(from, nocase);
    to = lower(to, nocase);
    for (int c = 0; c < 256; c++) {
        int x = lower(c, nocase);
        if (x >= (from < to ? from : to) && x <= (from < to ? to : from))
            element->allows[c] = true;
    }
}

/* Reads what is behind a '['; returns what is behind the ']'. */
static const uint8_t *read_set(const uint8_t *p, const uint8_t *end, bool nocase,
                               struct element *element)
{
    bool is_negated = p < end && *p == '^';
    p += is_negated;
    for (; p < end && *p != ']'; p++) {
        if (*p == '\\' && end - p >= 2) {
            p++;
            allow(element, *p, *p, nocase);
        } else if (end - p >= 3 && p[1] == '-') {
            allow(element, p[0], p[2], nocase);
            p += 2;
        } else {
            allow(element, *p, *p, nocase);
        }
    }
    for (int c = 0; is_negated && c < 256; c++)
        element->allows[c] = !element->allows[c];
    return p < end ? p + 1 : p;
}

static const uint8_t *read_element(const uint8_t *p, const uint8_t *end, bool nocase,
                                   struct element *element)
{
    *element = (struct element){.is_star = *p == '*'};
    if (*p == '*')
        return p + 1;
    if (*p == '[')
        return read_set(p + 1, end, nocase, element);
    if (*p == '?')
        memset(element->allows, true, sizeof element->allows);
    else if (*p == '\\' && end - p >= 2)
        p++, allow(element, *p, *p, nocase);
    else
        allow(element, *p, *p, nocase);
    return p + 1;
}

static bool matches(const uint8_t *pattern, size_t pattern_len, const uint8_t *text,
                    size_t text_len, bool nocase)
{
    bool can_be_at[TEXT_MAX + 1] = {true};
    const uint8_t *end = pattern + pattern_len;
    for (const uint8_t *p = pattern; p < end;) {
        struct element element;
        p = read_element(p, end, nocase, &element);
        for (size_t i = text_len + 1; !element.is_star && i-- > 0;)
            can_be_at[i] = i > 0 && can_be_at[i - 1] && element.allows[text[i - 1]];
        for (size_t i = 1; element.is_star && i <= text_len; i++)
            can_be_at[i] = can_be_at[i] || can_be_at[i - 1];
    }
    return can_be_at[text_len];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *zero = size > 0 ? memchr(data, '\0', size) : NULL;
    size_t pattern_len = zero != NULL ? (size_t)(zero - data) : size;
    size_t text_len = zero != NULL ? size - pattern_len - 1 : 0;
    if (text_len > TEXT_MAX)
        text_len = TEXT_MAX;
    /* blocks of their own, so that a read behind either is seen */
    char *pattern = malloc(pattern_len + 1), *text = malloc(text_len + 1);
    if (pattern == NULL || text == NULL)
        abort();
    char *pattern_at = pattern + 1, *text_at = text + 1;
    if (pattern_len > 0)
        memcpy(pattern_at, data, pattern_len);
    if (text_len > 0)
        memcpy(text_at, zero + 1, text_len);
    struct yn_bytes p = {pattern_at, pattern_len}, t = {text_at, text_len};
    const uint8_t *bytes = (const uint8_t *)text_at;
    if (glob_matches(p, t) != matches(data, pattern_len, bytes, text_len, false) ||
        glob_matches_nocase(p, t) != matches(data, pattern_len, bytes, text_len, true)) {
        fprintf(stderr, "the matchers do not agree\n");
        abort();
    }
    free(pattern);
    free(text);
    return 0;
}
