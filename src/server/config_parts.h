/*
 * config_parts.h: what config.c, which reads and prints values, and config_table.c, which
 * has the options, share.
 */
#ifndef CONFIG_PARTS_H
#define CONFIG_PARTS_H

#include <string.h>
#include <strings.h>

#include "server/config.h"

enum config_kind {
    KIND_BOOL,
    KIND_INT,
    KIND_OCTAL,
    KIND_MEMORY, /* bytes, with k, kb, m, mb, g, gb */
    KIND_CHOICE,
    KIND_STRING,
    KIND_WORDS,  /* a string of several words */
    KIND_LIMITS, /* client-output-buffer-limit */
    KIND_EVENTS, /* notify-keyspace-events */
};

struct config_choice {
    const char *name;
    int64_t value;
};

struct config_option {
    const char *name;
    enum config_kind kind;
    bool is_dynamic;
    const char *initial;
    size_t offset;
    int64_t min, max;
    const struct config_choice *choices;
    /* Refuses values that parse but are not supported. Returns what is wrong, or NULL. */
    const char *(*refuse)(struct yn_bytes text);
};

/* yes and no. */
extern const struct config_choice config_booleans[];

static inline bool config_text_is(struct yn_bytes text, const char *word)
{
    return text.len == strlen(word) && strncasecmp(text.data, word, text.len) == 0;
}

/* Takes the next blank-separated word off the front of *text. */
bool config_next_word(struct yn_bytes *text, struct yn_bytes *out_word);

#endif
