/* packed.h: an element of a packed list (listpack or ziplist): text, or a number that
 * stands for its decimal text. */
#ifndef PACKED_H
#define PACKED_H

#include "yonder.h"

struct packed_element {
    bool is_integer;
    int64_t integer;
    struct yn_bytes text; /* borrowed from the list */
};

#endif
