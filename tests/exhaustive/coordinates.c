/*
 * Every coordinate that a cell can decode to, 2^26 latitudes and 2^26 longitudes: the
 * cell's number comes back from it, its shortest text reads back and none is shorter,
 * and its fixed-17 text is what printf gives. Takes some minutes a core; an argument
 * limits it to so many cells an axis, spread evenly.
 */
#include "core/geodesy.h"

#include <unistd.h>

#include "num_check.h"

static unsigned long long n_passed, n_failed;

static void judge(const char *axis, uint32_t index, double value, uint32_t encoded)
{
    char text[YN_NUM_TEXT_MAX];
    double parsed;
    const char *fault = encoded == index ? NULL : "the cell's number does not come back";

    if (fault == NULL)
        fault = check_shortest(value);
    if (fault == NULL)
        fault = check_fixed17(value);
    if (fault == NULL) {
        size_t len = yn_num_format_shortest(value, text);
        if (!yn_num_parse_double((struct yn_bytes){text, len}, &parsed) ||
            !is_same_double(parsed, value))
            fault = "the parser does not read the shortest text back";
    }
    if (fault == NULL) {
        n_passed++;
        return;
    }
    n_failed++;
    if (n_failed <= 20)
        printf("%s %u, %.17g: %s\n", axis, index, value, fault);
}

int main(int argc, char **argv)
{
    uint32_t wanted = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : YN_CELL_AXIS_MAX;
    uint32_t step =
        wanted > 0 && wanted < YN_CELL_AXIS_MAX ? YN_CELL_AXIS_MAX / wanted : 1;
    uint32_t shown = 101;
    bool is_terminal = isatty(STDERR_FILENO) == 1;

    for (uint32_t i = 0; i < YN_CELL_AXIS_MAX; i += step) {
        uint32_t percent = (uint32_t)((uint64_t)i * 100 / YN_CELL_AXIS_MAX);
        double lat = yn_cell_lat_deg(i), lon = yn_cell_lon_deg(i);
        judge("latitude", i, lat, yn_cell_encode_lat(lat));
        judge("longitude", i, lon, yn_cell_encode_lon(lon));
        if (percent != shown && (is_terminal || percent % 10 == 0)) {
            fprintf(stderr, "%scoordinates: %u %%%s", is_terminal ? "\r" : "", percent,
                    is_terminal ? "" : "\n");
            shown = percent;
        }
    }
    fprintf(stderr, "%scoordinates: 100 %%\n", is_terminal ? "\r" : "");
    printf("%llu passed, %llu failed\n", n_passed, n_failed);
    return n_failed == 0 ? 0 : 1;
}
