/*
 * refs.h: entries that lie in the leaves of other sets, on their way into a new one, and
 * putting them in the order of a set.
 *
 * They are borrowed: the sets must not change meanwhile.
 */
#ifndef YN_REFS_H
#define YN_REFS_H

#include "core/leaf.h"
#include "core/mem.h"
#include "core/stop.h"

struct yn_ref {
    const char *entry; /* as it stands in its leaf */
    double score;      /* that it is to have; not NaN */
};

/* The member of an entry whose length is not known: its bulk tells. */
static inline struct yn_bytes yn_ref_member(const char *entry)
{
    if (yn_entry_is_long(entry))
        return yn_entry_member(entry, YN_LONG_ENTRY_LEN);
    size_t len = 0;
    for (entry++; *entry != '\r'; entry++)
        len = len * 10 + (size_t)(*entry - '0');
    return (struct yn_bytes){entry + 2, len};
}

/* Sorts by (score, member). Returns YN_OK; or YN_ENOMEM or YN_ESTOPPED (`stop` may be
 * NULL), with the refs spoilt. Refs of one score that are in order already, or are a few
 * ordered runs, cost little. */
enum yn_status yn_refs_sort(struct yn_mem *mem, struct yn_ref *refs, size_t n,
                            const struct yn_stop *stop);

#endif
