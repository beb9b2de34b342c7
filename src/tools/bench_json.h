/*
 * bench_json.h: reads a JSON document into a tree, for the reports that compare writes.
 */
#ifndef BENCH_JSON_H
#define BENCH_JSON_H

#include <stdbool.h>
#include <stddef.h>

enum bench_json_type {
    BENCH_JSON_NULL,
    BENCH_JSON_BOOL,
    BENCH_JSON_NUMBER,
    BENCH_JSON_TEXT,
    BENCH_JSON_ARRAY,
    BENCH_JSON_OBJECT,
};

struct bench_json {
    enum bench_json_type type;
    double number;            /* bool: 0 or 1 */
    char *text;               /* NUL-terminated; owned */
    char *name;               /* in an object; owned */
    struct bench_json *items; /* of an array or object; owned */
    size_t n_items;
};

/* Parses a whole document. NULL: it is none, or memory is out. The caller frees it. */
struct bench_json *bench_json_parse(const char *text, size_t len);
void bench_json_free(struct bench_json *json);

/* A member of an object, or NULL (also when json is NULL or no object). */
const struct bench_json *bench_json_find(const struct bench_json *json, const char *name);
/* The same as a text or number; "" and 0 when it is missing or something else. */
const char *bench_json_text(const struct bench_json *json, const char *name);
double bench_json_number(const struct bench_json *json, const char *name);

#endif
