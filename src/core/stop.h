/* stop.h: long work asks now and then whether to go on (struct yn_stop). */
#ifndef YN_STOP_H
#define YN_STOP_H

#include "yonder.h"

/* Work between two questions. A unit is about what an entry costs that is looked at: some
 * nanoseconds, so that it asks every ten to a hundred microseconds. */
#define YN_STOP_EVERY 4096

/* Who asks. All zero: never stopped. */
struct yn_stopper {
    const struct yn_stop *stop;
    size_t done; /* since it has asked last */
};

static inline const struct yn_stop *yn_stop_of(const struct yn_options *options)
{
    return options == NULL ? NULL : options->stop;
}

/* Counts so much work. Returns whether to end it. */
static inline bool yn_stopper_ends(struct yn_stopper *stopper, size_t work)
{
    stopper->done += work;
    if (stopper->done < YN_STOP_EVERY || stopper->stop == NULL)
        return false;
    stopper->done = 0;
    return stopper->stop->is_wanted(stopper->stop->ctx);
}

#endif
