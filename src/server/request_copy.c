#include "server/request_copy.h"

#include <stdlib.h>
#include <string.h>

struct request_copy *request_copy_new(const struct cmd_spec *spec, size_t argc,
                                      const struct yn_bytes *argv)
{
    size_t n_bytes = sizeof(struct request_copy) + argc * sizeof argv[0];
    for (size_t i = 0; i < argc; i++)
        n_bytes += argv[i].len;
    struct request_copy *copy = malloc(n_bytes);
    if (copy == NULL)
        return NULL;
    *copy = (struct request_copy){.spec = spec, .n_bytes = n_bytes, .argc = argc};
    char *to = (char *)(copy->argv + argc);
    for (size_t i = 0; i < argc; i++) {
        if (argv[i].len > 0)
            memcpy(to, argv[i].data, argv[i].len);
        copy->argv[i] = (struct yn_bytes){to, argv[i].len};
        to += argv[i].len;
    }
    return copy;
}

void request_copy_free(struct request_copy *copy)
{
    free(copy);
}
