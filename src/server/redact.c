#include "server/redact.h"

#include "cmd/cmd_args.h"
#include "server/commands.h"

static void hide(bool *is_secret, size_t n, size_t i)
{
    if (i < n)
        is_secret[i] = true;
}

/* The user and the password behind AUTH. */
static void hide_login(size_t argc, const struct yn_bytes *argv, bool *is_secret,
                       size_t n)
{
    for (size_t i = 2; i < argc; i++) {
        if (cmd_word_is(argv[i], "auth")) {
            hide(is_secret, n, i + 1);
            hide(is_secret, n, i + 2);
            return;
        }
        if (cmd_word_is(argv[i], "setname"))
            i++;
    }
}

void redact_find(const struct cmd_spec *spec, size_t argc, const struct yn_bytes *argv,
                 bool *out_is_secret, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out_is_secret[i] =
            (spec->run == session_auth && i > 0) ||
            (i > 1 && (spec->run == acl_cmd_setuser || spec->run == acl_cmd_getuser ||
                       spec->run == acl_cmd_deluser));
    if (spec->run == session_hello)
        hide_login(argc, argv, out_is_secret, n);
    for (size_t i = 2; spec->run == config_cmd_set && i + 1 < argc; i += 2) {
        if (cmd_word_is(argv[i], "requirepass") ||
            cmd_word_is(argv[i], "tls-key-file-pass"))
            hide(out_is_secret, n, i + 1);
    }
}
