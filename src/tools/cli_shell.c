#include "tools/cli_shell.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "resp/request.h"
#include "tools/cli_link.h"
#include "tools/cli_print.h"

#define OUT_KEEP_LEN ((size_t)1024 * 1024)

struct shell {
    const struct cli_options *options;
    struct cli_link link;
    struct yn_buf text; /* a reply as text */
    int db;             /* the prompt shows it */
    bool is_silent;     /* CLIENT REPLY OFF is in force */
    bool skips_next;    /* CLIENT REPLY SKIP was sent */
    bool had_error;     /* the server answered with an error */
};

static bool is_word(struct yn_bytes bytes, const char *word)
{
    return bytes.len == strlen(word) && strncasecmp(bytes.data, word, bytes.len) == 0;
}

static bool is_words(size_t argc, const struct yn_bytes *argv, const char *first,
                     const char *second)
{
    return argc >= 2 && is_word(argv[0], first) && is_word(argv[1], second);
}

/* Reports of many lines, which are for people as they are. */
static bool is_report(size_t argc, const struct yn_bytes *argv)
{
    return is_word(argv[0], "info") || is_word(argv[0], "lolwut") ||
           is_words(argc, argv, "client", "list") ||
           is_words(argc, argv, "client", "info") ||
           is_words(argc, argv, "memory", "doctor") ||
           is_words(argc, argv, "memory", "malloc-stats") ||
           is_words(argc, argv, "latency", "doctor") ||
           is_words(argc, argv, "latency", "graph") ||
           is_words(argc, argv, "cluster", "nodes") ||
           is_words(argc, argv, "cluster", "info") ||
           is_words(argc, argv, "debug", "htstats") ||
           is_words(argc, argv, "debug", "htstats-key");
}

static void print_reply(struct shell *shell, const struct yn_reply *reply, bool as_raw)
{
    yn_buf_reset(&shell->text, OUT_KEEP_LEN);
    if (shell->options->is_raw || as_raw)
        cli_print_raw(&shell->text, reply);
    else
        cli_print_pretty(&shell->text, reply);
    if (shell->options->is_raw)
        cli_print_text(&shell->text, "\n");
    if (shell->text.failed)
        fputs("yonder-cli: the reply does not fit into memory\n", stderr);
    else
        fwrite(shell->text.data, 1, shell->text.len, stdout);
    fflush(stdout);
}

/* True if the server will send no reply to this request. */
static bool goes_unanswered(struct shell *shell, size_t argc, const struct yn_bytes *argv)
{
    bool is_skipped = shell->skips_next;
    shell->skips_next = false;
    if (argc == 1 && is_word(argv[0], "reset")) {
        shell->is_silent = false; /* RESET switches replies on, its own is the first */
        return false;
    }
    if (argc == 3 && is_words(argc, argv, "client", "reply")) {
        if (is_word(argv[2], "on"))
            shell->is_silent = is_skipped = false;
        else if (is_word(argv[2], "off"))
            shell->is_silent = true;
        else if (is_word(argv[2], "skip"))
            shell->skips_next = is_skipped = true;
    }
    return shell->is_silent || is_skipped;
}

/* Keeps the number of the database that a successful command has chosen. */
static void note_selected(struct shell *shell, size_t argc, const struct yn_bytes *argv)
{
    char text[16];
    long db;
    if (argc == 1 && is_word(argv[0], "reset"))
        shell->db = 0;
    if (argc != 2 || !is_word(argv[0], "select") || argv[1].len >= sizeof text)
        return;
    memcpy(text, argv[1].data, argv[1].len);
    text[argv[1].len] = '\0';
    if (cli_options_parse_number(text, 0, 1 << 30, &db))
        shell->db = (int)db;
}

/* Sends what is queued without waiting for an answer. */
static bool send_only(struct shell *shell)
{
    shell->link.n_pending--;
    while (shell->link.out.len > 0) {
        if (!cli_link_pump(&shell->link))
            return false;
    }
    return true;
}

/* True if messages without end follow this reply. Inside of MULTI, the reply is QUEUED.
 */
static bool begins_stream(size_t argc, const struct yn_bytes *argv,
                          const struct yn_reply *reply)
{
    if (argc == 1 && is_word(argv[0], "monitor"))
        return reply->type == YN_REPLY_STATUS && is_word(reply->text, "ok");
    return argc > 1 && (reply->type == YN_REPLY_ARRAY || reply->type == YN_REPLY_PUSH) &&
           (is_word(argv[0], "subscribe") || is_word(argv[0], "psubscribe") ||
            is_word(argv[0], "ssubscribe"));
}

/* Shows what comes until the connection is lost or the user ends the program. */
static bool follow(struct shell *shell)
{
    if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))
        fputs("(waiting for messages; Ctrl-C ends)\n", stderr);
    struct yn_reply *reply;
    while ((reply = cli_link_wait(&shell->link)) != NULL) {
        print_reply(shell, reply, false);
        yn_reply_free(reply);
        if (ferror(stdout)) /* nobody reads any more */
            return true;
    }
    return false;
}

/* Runs one command. Returns false when the connection is lost; link.error says why. */
static bool run_command(struct shell *shell, size_t argc, const struct yn_bytes *argv)
{
    if (!cli_link_queue(&shell->link, argc, argv))
        return false;
    if (goes_unanswered(shell, argc, argv))
        return send_only(shell);
    for (;;) {
        struct yn_reply *reply = cli_link_wait(&shell->link);
        if (reply == NULL)
            /* a server that stops as it was told to says nothing more */
            return shell->link.was_lost && is_word(argv[0], "shutdown");
        bool is_push = reply->type == YN_REPLY_PUSH;
        bool is_error = reply->type == YN_REPLY_ERROR;
        shell->had_error = shell->had_error || is_error;
        if (!is_error)
            note_selected(shell, argc, argv);
        print_reply(shell, reply, is_report(argc, argv));
        bool is_stream = begins_stream(argc, argv, reply);
        yn_reply_free(reply);
        if (is_stream)
            return follow(shell);
        if (!is_push)
            return true;
    }
}

static bool open_link(struct shell *shell)
{
    shell->db = shell->options->db;
    shell->is_silent = shell->skips_next = false;
    return cli_link_open(&shell->link, shell->options);
}

static void shell_init(struct shell *shell, const struct cli_options *options)
{
    memset(shell, 0, sizeof *shell);
    shell->options = options;
    cli_link_init(&shell->link);
    yn_buf_init(&shell->text);
}

static int shell_end(struct shell *shell, bool is_ok)
{
    if (!is_ok)
        fprintf(stderr, "yonder-cli: %s\n", shell->link.error);
    /* replies that nobody could read are a failure, of a full disk for example */
    if (fflush(stdout) != 0 || ferror(stdout)) {
        if (is_ok)
            fputs("yonder-cli: could not write the output\n", stderr);
        is_ok = false;
    }
    cli_link_close(&shell->link);
    yn_buf_clear(&shell->text);
    return !is_ok || (shell->had_error && shell->options->fail_on_error) ? 1 : 0;
}

/* ---- one command -------------------------------------------------------- */

static bool read_all(FILE *file, struct yn_buf *out)
{
    char chunk[65536];
    size_t n;
    while ((n = fread(chunk, 1, sizeof chunk, file)) > 0)
        cli_print_bytes(out, (struct yn_bytes){chunk, n});
    return ferror(file) == 0 && !out->failed;
}

int cli_shell_run_words(const struct cli_options *options)
{
    size_t argc = (size_t)options->n_words;
    struct yn_bytes *argv = calloc(argc + 1, sizeof *argv);
    struct yn_buf last;
    yn_buf_init(&last);
    if (argv == NULL || (options->last_from_stdin && !read_all(stdin, &last))) {
        fputs("yonder-cli: could not read the last argument\n", stderr);
        free(argv);
        return 1;
    }
    for (size_t i = 0; i < argc; i++)
        argv[i] = (struct yn_bytes){options->words[i], strlen(options->words[i])};
    if (options->last_from_stdin)
        argv[argc++] = (struct yn_bytes){last.data, last.len};

    struct shell shell;
    shell_init(&shell, options);
    bool is_ok = open_link(&shell) && run_command(&shell, argc, argv);
    int status = shell_end(&shell, is_ok);
    yn_buf_clear(&last);
    free(argv);
    return status;
}

/* ---- one command a line ------------------------------------------------- */

static const char help_text[] =
    "Type any command of the server: COMMAND LIST names them, COMMAND DOCS NAME\n"
    "tells about one.\n"
    "SUBSCRIBE and MONITOR show what comes until Ctrl-C. quit ends.";

struct words {
    struct yn_bytes *argv;
    size_t n, cap;
};

static void words_clear(struct words *words)
{
    for (size_t i = 0; i < words->n; i++)
        free((char *)words->argv[i].data);
    words->n = 0;
}

static bool add_word(void *ctx, struct yn_bytes word)
{
    struct words *words = ctx;
    if (words->n == words->cap) {
        size_t cap = words->cap * 2 + 8;
        struct yn_bytes *argv = realloc(words->argv, cap * sizeof *argv);
        if (argv == NULL)
            return false;
        words->argv = argv;
        words->cap = cap;
    }
    char *copy = malloc(word.len + 1);
    if (copy == NULL)
        return false;
    if (word.len > 0)
        memcpy(copy, word.data, word.len);
    words->argv[words->n++] = (struct yn_bytes){copy, word.len};
    return true;
}

static void print_prompt(const struct shell *shell)
{
    const struct cli_options *options = shell->options;
    if (shell->link.fd < 0)
        fputs("not connected", stdout);
    else if (options->socket_path != NULL)
        fputs(options->socket_path, stdout);
    else
        printf("%s:%d", options->host, options->port);
    if (shell->link.fd >= 0 && shell->db != 0)
        printf("[%d]", shell->db);
    fputs("> ", stdout);
    fflush(stdout);
}

/* A lost connection ends a script. At a prompt it is told, and opened again by the next
 * command. */
static bool run_line(struct shell *shell, const struct words *words, bool is_prompting)
{
    bool is_ok = (shell->link.fd >= 0 || open_link(shell)) &&
                 run_command(shell, words->n, words->argv);
    if (is_ok || !is_prompting)
        return is_ok;
    fprintf(stderr, "yonder-cli: %s\n", shell->link.error);
    return true;
}

int cli_shell_run_input(const struct cli_options *options)
{
    struct shell shell;
    shell_init(&shell, options);
    bool is_prompting = isatty(STDIN_FILENO) != 0;
    bool is_ok = open_link(&shell) || is_prompting;
    if (is_prompting && shell.link.fd < 0)
        fprintf(stderr, "yonder-cli: %s\n", shell.link.error);

    struct words words = {0};
    struct yn_buf scratch;
    yn_buf_init(&scratch);
    char *line = NULL;
    size_t line_cap = 0;
    while (is_ok) {
        if (is_prompting)
            print_prompt(&shell);
        ssize_t len = getline(&line, &line_cap, stdin);
        if (len < 0)
            break;
        while (len > 0 && (line[len - 1] == '\n' || line[len - 1] == '\r'))
            len--;
        words_clear(&words);
        if (!yn_words_visit((struct yn_bytes){line, (size_t)len}, &scratch, add_word,
                            &words)) {
            puts("Invalid argument(s)");
            continue;
        }
        if (words.n == 0)
            continue;
        if (words.n == 1 &&
            (is_word(words.argv[0], "quit") || is_word(words.argv[0], "exit")))
            break;
        if (is_prompting && is_word(words.argv[0], "help")) {
            puts(help_text);
            continue;
        }
        is_ok = run_line(&shell, &words, is_prompting);
    }
    words_clear(&words);
    free(words.argv);
    free(line);
    yn_buf_clear(&scratch);
    return shell_end(&shell, is_ok);
}
