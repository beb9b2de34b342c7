/* Number parsers against strtod and strtoll, formatters against printf. The input is
 * taken as a text, and its first eight bytes as a double and as an integer. */
#include "core/num.h"
#include "num_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(const char *fault, const char *text)
{
    if (fault != NULL) {
        fprintf(stderr, "%s: \"%s\"\n", fault, text);
        abort();
    }
}

static void try_text(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (text == NULL)
        return;
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    demand(check_parse_double(text, size), text);
    demand(check_parse_int64(text, size), text);
    free(text);
}

static void try_value(const uint8_t *data)
{
    char text[YN_NUM_TEXT_MAX + 1];
    double value;
    int64_t integer;

    memcpy(&value, data, sizeof value);
    memcpy(&integer, data, sizeof integer);
    text[yn_num_format_int64(integer, text)] = '\0';
    demand(check_parse_int64(text, strlen(text)), text);
    if (isnan(value))
        return;
    snprintf(text, sizeof text, "%a", value);
    demand(check_formats(value), text);
    demand(check_parse_double(text, strlen(text)), text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    try_text(data, size);
    if (size >= sizeof(double))
        try_value(data);
    return 0;
}
