#include "server/acl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd_args.h"
#include "resp/request.h"
#include "server/commands.h"

static struct yn_bytes text_bytes(const char *text)
{
    return (struct yn_bytes){text, strlen(text)};
}

/* ---- users ---- */

static void user_clear(struct acl_user *user)
{
    for (size_t i = 0; i < user->n_selectors; i++)
        acl_selector_clear(&user->selectors[i]);
    free(user->selectors);
    free(user->passwords);
    free(user->name);
    memset(user, 0, sizeof *user);
}

void acl_user_free(struct acl_user *user)
{
    if (user == NULL)
        return;
    user_clear(user);
    free(user);
}

/* Adds a selector without rights. NULL: out of memory. */
static struct acl_selector *add_selector(struct acl_user *user, bool all_channels)
{
    struct acl_selector *list =
        realloc(user->selectors, (user->n_selectors + 1) * sizeof *list);
    if (list == NULL)
        return NULL;
    user->selectors = list;
    acl_selector_init(&list[user->n_selectors], all_channels);
    return &list[user->n_selectors++];
}

/* A user without rights. */
static struct acl_user *user_new(struct yn_bytes name, bool all_channels)
{
    struct acl_user *user = calloc(1, sizeof *user);
    if (user == NULL)
        return NULL;
    user->name = strndup(name.len > 0 ? name.data : "", name.len);
    if (user->name == NULL || add_selector(user, all_channels) == NULL) {
        acl_user_free(user);
        return NULL;
    }
    return user;
}

static bool add_password(struct acl_user *user, const char *digest)
{
    for (size_t i = 0; i < user->n_passwords; i++) {
        if (digest_is_equal(user->passwords[i], digest))
            return true;
    }
    char(*list)[DIGEST_LEN + 1] =
        realloc(user->passwords, (user->n_passwords + 1) * sizeof *list);
    if (list == NULL)
        return false;
    user->passwords = list;
    memcpy(list[user->n_passwords], digest, DIGEST_LEN);
    list[user->n_passwords++][DIGEST_LEN] = '\0';
    return true;
}

static bool remove_password(struct acl_user *user, const char *digest)
{
    for (size_t i = 0; i < user->n_passwords; i++) {
        if (!digest_is_equal(user->passwords[i], digest))
            continue;
        memmove(user->passwords[i], user->passwords[i + 1],
                (user->n_passwords - i - 1) * sizeof *user->passwords);
        user->n_passwords--;
        return true;
    }
    return false;
}

static struct acl_user *user_copy(const struct acl_user *from)
{
    struct acl_user *user = calloc(1, sizeof *user);
    if (user == NULL)
        return NULL;
    user->name = strdup(from->name);
    user->is_on = from->is_on;
    user->is_nopass = from->is_nopass;
    user->skips_sanitizing = from->skips_sanitizing;
    bool ok = user->name != NULL;
    for (size_t i = 0; ok && i < from->n_passwords; i++)
        ok = add_password(user, from->passwords[i]);
    for (size_t i = 0; ok && i < from->n_selectors; i++) {
        struct acl_selector *s = add_selector(user, false);
        ok = s != NULL && acl_selector_copy(s, &from->selectors[i]);
    }
    if (!ok) {
        acl_user_free(user);
        return NULL;
    }
    return user;
}

static void note_may_all(struct acl_user *user)
{
    user->may_all = false;
    for (size_t i = 0; i < user->n_selectors; i++)
        user->may_all |= acl_selector_may_all(&user->selectors[i]);
}

/* ---- rules ---- */

static void drop_passwords(struct acl_user *user)
{
    free(user->passwords);
    user->passwords = NULL;
    user->n_passwords = 0;
}

static void drop_selectors(struct acl_user *user)
{
    while (user->n_selectors > 1)
        acl_selector_clear(&user->selectors[--user->n_selectors]);
}

/* ">password", "<password", "#digest", "!digest" */
static const char *apply_password(struct acl_user *user, struct yn_bytes rule)
{
    struct yn_bytes text = {rule.data + 1, rule.len - 1};
    char digest[DIGEST_LEN + 1];
    bool is_digest = rule.data[0] == '#' || rule.data[0] == '!';
    bool adds = rule.data[0] == '#' || rule.data[0] == '>';
    if (is_digest && !digest_is_valid(text))
        return "The password hash must be exactly 64 characters and contain only "
               "lowercase hexadecimal characters";
    if (is_digest)
        memcpy(digest, text.data, DIGEST_LEN);
    else if (!digest_of(text, digest))
        return ACL_ERR_NOMEM;
    if (!adds)
        return remove_password(user, digest)
                   ? NULL
                   : "The password you are trying to remove from the user does not exist";
    user->is_nopass = false;
    return add_password(user, digest) ? NULL : ACL_ERR_NOMEM;
}

struct selector_rules {
    struct acl_selector *selector;
    const char *error;
};

static bool take_rule(void *ctx, struct yn_bytes rule)
{
    struct selector_rules *r = ctx;
    r->error = acl_selector_apply(r->selector, rule);
    return r->error == NULL;
}

/* "(rule rule ...)" */
static const char *apply_selector(struct acl_user *user, struct yn_bytes rule,
                                  bool all_channels)
{
    struct yn_bytes inner = {rule.data + 1, rule.len - 2};
    struct selector_rules rules = {.selector = add_selector(user, all_channels)};
    if (rules.selector == NULL)
        return ACL_ERR_NOMEM;
    struct yn_buf scratch;
    yn_buf_init(&scratch);
    if (!yn_words_visit(inner, &scratch, take_rule, &rules) && rules.error == NULL)
        rules.error = scratch.failed ? ACL_ERR_NOMEM : ACL_ERR_SYNTAX;
    yn_buf_clear(&scratch);
    return rules.error;
}

static void reset(struct acl_user *user, bool all_channels)
{
    user->is_on = user->is_nopass = user->skips_sanitizing = false;
    drop_passwords(user);
    drop_selectors(user);
    acl_selector_clear(&user->selectors[0]);
    user->selectors[0].channels.all = all_channels;
}

/* A rule that is one of the fixed words about the user itself. */
static bool apply_word(struct acl_user *user, struct yn_bytes rule, bool all_channels)
{
    if (cmd_word_is(rule, "on") || cmd_word_is(rule, "off")) {
        user->is_on = rule.len == 2;
    } else if (cmd_word_is(rule, "nopass")) {
        user->is_nopass = true;
        drop_passwords(user);
    } else if (cmd_word_is(rule, "resetpass")) {
        user->is_nopass = false;
        drop_passwords(user);
    } else if (cmd_word_is(rule, "skip-sanitize-payload") ||
               cmd_word_is(rule, "sanitize-payload")) {
        user->skips_sanitizing = rule.len > strlen("sanitize-payload");
    } else if (cmd_word_is(rule, "clearselectors")) {
        drop_selectors(user);
    } else if (cmd_word_is(rule, "reset")) {
        reset(user, all_channels);
    } else {
        return false;
    }
    return true;
}

static const char *apply(struct acl_user *user, struct yn_bytes rule, bool all_channels)
{
    if (rule.len == 0 || apply_word(user, rule, all_channels))
        return NULL;
    if (strchr("><#!", rule.data[0]) != NULL && rule.data[0] != '\0')
        return apply_password(user, rule);
    if (rule.data[0] == '(' && rule.len > 1 && rule.data[rule.len - 1] == ')')
        return apply_selector(user, rule, all_channels);
    return acl_selector_apply(&user->selectors[0], rule);
}

/* ---- selectors of several words ---- */

#define SHOWN_MAX 256

static int shown(struct yn_bytes word)
{
    return (int)strnlen(word.data, word.len < SHOWN_MAX ? word.len : SHOWN_MAX);
}

/* Takes the next rule off the list: a word, or the words of a selector joined by blanks
 * in `joined`. Returns false when a parenthesis is not closed. */
static bool next_rule(const struct yn_bytes *rules, size_t n, size_t *i,
                      struct yn_buf *joined, struct yn_bytes *out)
{
    *out = rules[(*i)++];
    if (out->len == 0) {
        out->data = "";
        return true;
    }
    if (out->data[0] != '(' || out->data[out->len - 1] == ')')
        return true;
    joined->len = 0;
    yn_buf_append(joined, out->data, out->len);
    while (*i < n) {
        struct yn_bytes word = rules[(*i)++];
        yn_buf_append(joined, " ", 1);
        yn_buf_append(joined, word.data, word.len);
        if (word.len > 0 && word.data[word.len - 1] == ')') {
            *out = (struct yn_bytes){joined->data, joined->len};
            return true;
        }
    }
    return false;
}

static bool check_parentheses(const struct yn_bytes *rules, size_t n,
                              struct yn_buf *joined, char *error)
{
    struct yn_bytes rule;
    for (size_t i = 0; i < n;) {
        struct yn_bytes first = rules[i];
        if (next_rule(rules, n, &i, joined, &rule))
            continue;
        snprintf(error, ACL_ERROR_MAX,
                 "Unmatched parenthesis in acl selector starting at '%.*s'.",
                 shown(first), first.data);
        return false;
    }
    return true;
}

static bool apply_all(const struct acl *acl, struct acl_user *user,
                      const struct yn_bytes *rules, size_t n, char *error)
{
    struct yn_buf joined;
    struct yn_bytes rule;
    yn_buf_init(&joined);
    bool ok = check_parentheses(rules, n, &joined, error);
    for (size_t i = 0; ok && i < n;) {
        next_rule(rules, n, &i, &joined, &rule);
        const char *reason =
            joined.failed ? ACL_ERR_NOMEM : apply(user, rule, acl->new_all_channels);
        ok = reason == NULL;
        if (!ok)
            snprintf(error, ACL_ERROR_MAX, "Error in %s '%.*s': %s", acl->rule_subject,
                     shown(rule), rule.data, reason);
    }
    yn_buf_clear(&joined);
    return ok;
}

/* ---- the table of users ---- */

/* Where the name is, or where it belongs. */
static size_t place_of(const struct acl *acl, struct yn_bytes name, bool *out_found)
{
    size_t low = 0, high = acl->n_users;
    *out_found = false;
    while (low < high && !*out_found) {
        size_t mid = (low + high) / 2;
        size_t len = strlen(acl->users[mid]->name);
        size_t shorter = len < name.len ? len : name.len;
        int c = shorter > 0 ? memcmp(name.data, acl->users[mid]->name, shorter) : 0;
        if (c == 0)
            c = name.len < len ? -1 : name.len > len;
        *out_found = c == 0;
        if (c <= 0)
            high = mid;
        else
            low = mid + 1;
    }
    return high;
}

struct acl_user *acl_find(const struct acl *acl, struct yn_bytes name)
{
    bool found;
    size_t i = place_of(acl, name, &found);
    return found ? acl->users[i] : NULL;
}

static bool insert(struct acl *acl, struct acl_user *user)
{
    bool found;
    size_t i = place_of(acl, text_bytes(user->name), &found);
    struct acl_user **list =
        realloc(acl->users, (acl->n_users + 1) * sizeof(struct acl_user *));
    if (list == NULL)
        return false;
    acl->users = list;
    memmove(list + i + 1, list + i, (acl->n_users - i) * sizeof *list);
    list[i] = user;
    acl->n_users++;
    return true;
}

struct acl_user *acl_remove(struct acl *acl, struct yn_bytes name)
{
    bool found;
    size_t i = place_of(acl, name, &found);
    if (!found)
        return NULL;
    struct acl_user *user = acl->users[i];
    memmove(acl->users + i, acl->users + i + 1,
            (acl->n_users - i - 1) * sizeof *acl->users);
    acl->n_users--;
    return user;
}

bool acl_name_is_valid(struct yn_bytes name)
{
    for (size_t i = 0; i < name.len; i++) {
        if (strchr(" \t\n\v\f\r", name.data[i]) != NULL) /* or a zero byte */
            return false;
    }
    return true;
}

bool acl_set_user(struct acl *acl, struct yn_bytes name, size_t n_rules,
                  const struct yn_bytes *rules, struct acl_user **out_before, char *error)
{
    struct acl_user *known = acl_find(acl, name);
    struct acl_user *user =
        known != NULL ? user_copy(known) : user_new(name, acl->new_all_channels);
    if (out_before != NULL)
        *out_before = NULL;
    if (user == NULL) {
        snprintf(error, ACL_ERROR_MAX, "%s", ACL_ERR_NOMEM);
        return false;
    }
    bool ok = apply_all(acl, user, rules, n_rules, error);
    note_may_all(user);
    if (ok && known == NULL && !insert(acl, user)) {
        snprintf(error, ACL_ERROR_MAX, "%s", ACL_ERR_NOMEM);
        ok = false;
    }
    if (!ok) {
        acl_user_free(user);
        return false;
    }
    if (known == NULL)
        return true;
    struct acl_user before = *known;
    *known = *user;
    *user = before;
    if (out_before != NULL)
        *out_before = user;
    else
        acl_user_free(user);
    return true;
}

bool acl_set_default_password(struct acl *acl, struct yn_bytes password)
{
    char digest[DIGEST_LEN + 1];
    struct acl_user *user = acl->default_user;
    char(*list)[DIGEST_LEN + 1] = malloc(sizeof *list);
    if (list == NULL || !digest_of(password, digest)) {
        free(list);
        return false;
    }
    drop_passwords(user);
    user->is_nopass = password.len == 0;
    if (user->is_nopass) {
        free(list);
        return true;
    }
    memcpy(list[0], digest, sizeof digest);
    user->passwords = list;
    user->n_passwords = 1;
    return true;
}

bool acl_init(struct acl *acl)
{
    static const char *const words[] = {"on", "nopass", "~*", "&*", "+@all"};
    struct yn_bytes rules[5];
    char error[ACL_ERROR_MAX];
    *acl = (struct acl){.rule_subject = "ACL SETUSER modifier"};
    for (size_t i = 0; i < 5; i++)
        rules[i] = text_bytes(words[i]);
    if (!acl_set_user(acl, text_bytes("default"), 5, rules, NULL, error)) {
        acl_clear(acl);
        return false;
    }
    acl->default_user = acl->users[0];
    return true;
}

void acl_clear(struct acl *acl)
{
    for (size_t i = 0; i < acl->n_users; i++)
        acl_user_free(acl->users[i]);
    free(acl->users);
    memset(acl, 0, sizeof *acl);
}

void acl_user_format(const struct acl_user *user, struct yn_buf *out)
{
    yn_buf_append_text(out, "user ");
    yn_buf_append_text(out, user->name);
    yn_buf_append_text(out, user->is_on ? " on" : " off");
    yn_buf_append_text(out, user->is_nopass ? " nopass" : "");
    yn_buf_append_text(out, user->skips_sanitizing ? " skip-sanitize-payload "
                                                   : " sanitize-payload ");
    for (size_t i = 0; i < user->n_passwords; i++) {
        yn_buf_append_text(out, "#");
        yn_buf_append_text(out, user->passwords[i]);
        yn_buf_append_text(out, " ");
    }
    for (size_t i = 0; i < user->n_selectors; i++) {
        yn_buf_append_text(out, i > 0 ? " (" : "");
        acl_selector_format(&user->selectors[i], out);
        yn_buf_append_text(out, i > 0 ? ")" : "");
    }
}

bool acl_user_may_login(const struct acl_user *user, struct yn_bytes password)
{
    char digest[DIGEST_LEN + 1];
    bool is_right = false;
    if (!digest_of(password, digest))
        return false;
    for (size_t i = 0; user != NULL && i < user->n_passwords; i++)
        is_right |= digest_is_equal(user->passwords[i], digest);
    return user != NULL && user->is_on && (user->is_nopass || is_right);
}

/* ---- checks ---- */

/* What a command touches, found once for all selectors. */
struct touched {
    size_t n_keys;
    const size_t *keys; /* indexes of arguments */
    size_t first_channel, n_channels;
    bool is_pattern;
};

static void find_channels(const struct cmd_spec *spec, size_t argc, struct touched *t)
{
    bool one = spec->run == pubsub_publish_cmd || spec->run == pubsub_spublish;
    bool many = spec->run == pubsub_subscribe || spec->run == pubsub_ssubscribe;
    t->is_pattern = spec->run == pubsub_psubscribe;
    t->first_channel = 1;
    if (one || many || t->is_pattern)
        t->n_channels = one ? 1 : argc - 1;
}

static unsigned access_of(const char *flags)
{
    unsigned access = strstr(flags, "access") != NULL ? ACL_READ : 0;
    if (strstr(flags, "insert") != NULL || strstr(flags, "delete") != NULL ||
        strstr(flags, "update") != NULL)
        access |= ACL_WRITE;
    return access;
}

static struct acl_denial check_selector(const struct acl_selector *s,
                                        const struct cmd_spec *spec, size_t argc,
                                        const struct yn_bytes *argv,
                                        const struct touched *t)
{
    if (!acl_selector_allows_command(s, spec, argc, argv))
        return (struct acl_denial){ACL_DENIED_COMMAND, 0};
    for (size_t i = 0; i < t->n_keys && !s->keys.all; i++) {
        const char *flags = cmd_key_flags_of(spec, argc, argv, i);
        if (!acl_selector_allows_key(s, argv[t->keys[i]], access_of(flags)))
            return (struct acl_denial){ACL_DENIED_KEY, t->keys[i]};
    }
    for (size_t i = t->first_channel; i < t->first_channel + t->n_channels; i++) {
        if (!acl_selector_allows_channel(s, argv[i], t->is_pattern))
            return (struct acl_denial){ACL_DENIED_CHANNEL, i};
    }
    return (struct acl_denial){ACL_OK, 0};
}

#define KEYS_ON_STACK 32

bool acl_check(const struct acl_user *user, const struct cmd_spec *spec, size_t argc,
               const struct yn_bytes *argv, struct cmd_arena *arena,
               struct acl_denial *out)
{
    size_t some[KEYS_ON_STACK], *keys = some;
    struct touched t = {.n_keys = cmd_keys_named(spec, argc, argv, some, KEYS_ON_STACK)};
    *out = (struct acl_denial){ACL_OK, 0};
    if (user->may_all)
        return true;
    if (t.n_keys > KEYS_ON_STACK) {
        keys = cmd_arena_take(arena, t.n_keys * sizeof *keys);
        if (keys == NULL) {
            out->reason = ACL_FAILED;
            return false;
        }
        cmd_keys_named(spec, argc, argv, keys, t.n_keys);
    }
    t.keys = keys;
    find_channels(spec, argc, &t);
    for (size_t i = 0; i < user->n_selectors; i++) {
        struct acl_denial d = check_selector(&user->selectors[i], spec, argc, argv, &t);
        if (d.reason == ACL_OK) {
            *out = d;
            return true;
        }
        if (d.reason > out->reason || (d.reason == out->reason && d.index > out->index))
            *out = d;
    }
    return false;
}

bool acl_user_allows_channel(const struct acl_user *user, struct yn_bytes channel,
                             bool is_pattern)
{
    for (size_t i = 0; i < user->n_selectors; i++) {
        if (acl_selector_allows_channel(&user->selectors[i], channel, is_pattern))
            return true;
    }
    return false;
}
