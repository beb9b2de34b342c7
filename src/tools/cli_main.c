#include <string.h>

#include "tools/cli_import.h"
#include "tools/cli_options.h"
#include "tools/cli_shell.h"

int main(int argc, char **argv)
{
    struct cli_options options;
    switch (cli_options_parse(&options, argc, argv)) {
    case CLI_OPTIONS_BAD:
        return 1;
    case CLI_OPTIONS_DONE:
        return 0;
    default:
        break;
    }
    if (options.n_words > 0 && strcmp(options.words[0], "import") == 0)
        return cli_import_run(&options);
    if (options.n_words > 0 || options.last_from_stdin)
        return cli_shell_run_words(&options);
    return cli_shell_run_input(&options);
}
