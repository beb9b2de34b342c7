/*
 * yonder.h: the Yonder engine, an embeddable set of members with positions.
 *
 * A set (struct yn_zset) maps members (any bytes) to scores (doubles) and keeps
 * them ordered by (score, member bytes). The score of a position is its 52-bit
 * cell number, so the set is at once a sorted set and a spatial index.
 *
 * Units: degrees and metres everywhere. Longitude comes first, -180..180;
 * latitude is -85.05112878..85.05112878 (the square Mercator world).
 *
 * Threads: a set may be read by many threads while nobody changes it; functions that
 * take it as const do no more than read. Who changes it must be alone with it. A frozen
 * view may be read by any thread at any time, with no lock, whatever becomes of its set.
 * In between lie yn_zset_freeze and yn_view_free: they disturb no reader, but must not
 * run beside a change of the set or beside each other. With a reader-writer lock around
 * the set: share it to read, take it exclusively to change, share it and hold a mutex to
 * make and free views. Searches are their caller's own; they take and give memory through
 * the set's allocator in the thread that makes, asks and frees them.
 *
 * Ownership: every *_new, *_freeze and *_decode has one *_free; free(NULL) is
 * fine. Bytes handed out (struct yn_bytes) are borrowed: valid until the next
 * change of the set, or until the frozen view they came from is freed.
 *
 * Failure: functions that can fail return an enum yn_status and leave every
 * object as it was.
 */
#ifndef YONDER_H
#define YONDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define YN_API __attribute__((visibility("default")))
#else
#define YN_API
#endif

/* ---- status ------------------------------------------------------------- */

/* name, value, text */
#define YN_STATUS_MAP(X)                                                \
    X(OK, 0, "ok")                                                      \
    X(ENOMEM, -1, "out of memory")                                      \
    X(ENAN, -2, "score is not a number (NaN)")                          \
    X(ERANGE, -3, "value out of range")                                 \
    X(ECORRUPT, -4, "encoded set is corrupt")                           \
    X(EORDER, -5, "entries are not in ascending (score, member) order") \
    X(EEXIST, -6, "member occurs twice")                                \
    X(ESHAPE, -7, "shape is not valid")                                 \
    X(ESTOPPED, -8, "stopped before its end")

enum yn_status {
#define YN_STATUS_ENUM(name, value, text) YN_##name = (value),
    YN_STATUS_MAP(YN_STATUS_ENUM)
#undef YN_STATUS_ENUM
};

/* Returns a constant text for a status; "unknown status" for other numbers. */
YN_API const char *yn_status_text(enum yn_status status);

/*
 * A way to end long work before its end: it asks now and then, in the thread that works,
 * some thousand times a second. Once the answer is true it frees what it has made and
 * returns YN_ESTOPPED. Where a stop may be given, NULL stands for one that never is.
 */
struct yn_stop {
    bool (*is_wanted)(void *ctx);
    void *ctx;
};

/* ---- bytes, points ------------------------------------------------------ */

/* A borrowed run of bytes; data may be NULL when len is 0. */
struct yn_bytes {
    const char *data;
    size_t len;
};

struct yn_point {
    double lon; /* degrees, -180..180 */
    double lat; /* degrees, -85.05112878..85.05112878 */
};

#define YN_LON_MAX_DEG 180.0
#define YN_LAT_MAX_DEG 85.05112878
/* Radius of the sphere on which distances are measured. */
#define YN_EARTH_RADIUS_M 6372797.560856
/* Longest member: what one RESP bulk may hold. */
#define YN_MEMBER_MAX ((size_t)512 * 1024 * 1024)

/* ---- geodesy ------------------------------------------------------------ */

/* True if both coordinates are inside the limits (inclusive); false for NaN. */
YN_API bool yn_point_is_valid(struct yn_point point);

/*
 * Returns the cell number of a valid point as a score: each axis scaled to
 * 0..1, times 2^26, truncated; latitude bits even, longitude bits odd. A point
 * at longitude 180 or latitude 85.05112878 gets a bit above the 52.
 */
YN_API double yn_score_encode(struct yn_point point);

/* Returns the midpoint of the score's cell. Defined for every double but NaN:
 * scores that are no cells decode as an x86-64 cast to uint64_t would have it,
 * and the result is clamped to the limits. */
YN_API struct yn_point yn_score_decode(double score);

/* Great-circle distance in metres by the haversine formula on a sphere of
 * YN_EARTH_RADIUS_M, evaluated in one fixed order of operations. */
YN_API double yn_distance_m(struct yn_point a, struct yn_point b);

#define YN_GEOHASH_LEN 11
/* Writes the 11-character geohash of the score's position (no NUL). The last
 * character is always '0': a score has 52 bits. */
YN_API void yn_geohash_format(double score, char out_text[YN_GEOHASH_LEN]);

/* ---- sets --------------------------------------------------------------- */

struct yn_zset;
struct yn_view;

struct yn_entry {
    struct yn_bytes member;
    double score;
};

/* Where a set, and searches over it, take their memory from. Both functions are
 * required. They are called from every thread that changes or searches the set. Large
 * blocks (2 KB, 16 KB) are best aligned to 64 bytes, for speed only. */
struct yn_allocator {
    void *(*alloc)(void *ctx, size_t size);            /* NULL on failure */
    void (*free)(void *ctx, void *block, size_t size); /* size as allocated */
    void *ctx;
};

struct yn_options {
    const struct yn_allocator
        *allocator;     /* NULL: malloc and free; must outlive the set */
    uint64_t hash_seed; /* 0: one random seed per process */
    /* Ends the making of a set of many entries (yn_zset_build, yn_zset_copy,
     * yn_zset_combine, yn_zset_decode; yn_zset_count_common) before it is done, with
     * YN_ESTOPPED; or NULL. Looked at during the call only. */
    const struct yn_stop *stop;
};

/* Creates an empty set. options may be NULL. Returns NULL when out of memory. */
YN_API struct yn_zset *yn_zset_new(const struct yn_options *options);

/* Frees the set. Frozen views of it stay readable until they are freed. */
YN_API void yn_zset_free(struct yn_zset *set);

YN_API size_t yn_zset_count(const struct yn_zset *set);

/* Bytes taken from the allocator by this set, frozen copies included, searches not. May
 * be asked while views are made and freed. */
YN_API size_t yn_zset_memory(const struct yn_zset *set);

enum yn_change { YN_UNCHANGED, YN_ADDED, YN_UPDATED };

/* What a put did. */
struct yn_put {
    enum yn_change change;
    double old_score; /* before the put; 0 when the member was added */
};

/*
 * Gives the member this score, adding it when it is new. -0 and 0 are the same
 * score: replacing one by the other is no change.
 * Returns YN_OK, YN_ENAN, YN_ERANGE (member longer than YN_MEMBER_MAX) or
 * YN_ENOMEM. *out_put (may be NULL) tells what happened. Cost O(log n).
 */
YN_API enum yn_status yn_zset_put(struct yn_zset *set, struct yn_bytes member,
                                  double score, struct yn_put *out_put);

/* Removes the member. *out_removed (may be NULL) tells whether it was there.
 * Returns YN_OK, or YN_ENOMEM (only while a frozen view is open). */
YN_API enum yn_status yn_zset_remove(struct yn_zset *set, struct yn_bytes member,
                                     bool *out_removed);

/*
 * Removes the members of ranks first .. first+n-1 in ascending order, as many of them as
 * there are. *out_removed (may be NULL) tells how many. Returns YN_OK, or YN_ENOMEM,
 * nothing changed. Cost O(log n) and little for each member: whole leaves go at once.
 */
YN_API enum yn_status yn_zset_remove_range(struct yn_zset *set, size_t first, size_t n,
                                           size_t *out_removed);

/* Looks the member up. Returns false when it is not there. */
YN_API bool yn_zset_find(const struct yn_zset *set, struct yn_bytes member,
                         double *out_score);

/* Looks n members up, side by side: in a set that is larger than the processor's caches
 * ten look-ups take little longer than the waiting for one. out_scores[i] is NaN when
 * members[i] is not there. */
YN_API void yn_zset_find_many(const struct yn_zset *set, const struct yn_bytes *members,
                              size_t n_members, double *out_scores);

/* Tells that these entries are about to be put, in this order: finds where they will
 * stand and asks the processor to fetch what that will change, side by side. For speed
 * only: the first 16 entries count, and puts of others are right, too. A score that is
 * NaN is not known yet. */
YN_API void yn_zset_prefetch(struct yn_zset *set, const struct yn_entry *entries,
                             size_t n_entries);

/* Number of entries before the member in ascending order. Returns false when
 * the member is not there. Cost O(log n). */
YN_API bool yn_zset_rank(const struct yn_zset *set, struct yn_bytes member,
                         size_t *out_rank);

/*
 * Cursor over all members in an order that is stable under changes: every
 * member that is in the set during the whole scan is handed out at least once,
 * whatever is added, moved or removed in between. Start with cursor 0; the scan
 * is over when 0 is returned. Hands out about `count` members a call (all of a
 * small set). `visit` must not change the set.
 */
typedef void (*yn_scan_fn)(void *ctx, struct yn_bytes member, double score);
YN_API uint64_t yn_zset_scan(const struct yn_zset *set, uint64_t cursor, size_t count,
                             yn_scan_fn visit, void *ctx);

/*
 * Builds a set from entries in strictly ascending (score, member) order, the
 * fast way to load. On success *out_set owns copies of everything.
 * Returns YN_OK, YN_ENOMEM, YN_ENAN, YN_ERANGE (a member longer than YN_MEMBER_MAX),
 * YN_EORDER or YN_EEXIST (a member twice, with two scores).
 */
YN_API enum yn_status yn_zset_build(const struct yn_options *options,
                                    const struct yn_entry *entries, size_t n_entries,
                                    struct yn_zset **out_set);

/* Verifies every invariant of the structure (order, counts, rectangles,
 * dictionary, epochs). Returns NULL when all hold, else what is wrong. For
 * tests: cost O(n log n). */
YN_API const char *yn_zset_check(const struct yn_zset *set);

/* ---- views and cursors -------------------------------------------------- */

/* The live view: the set as it is now. Borrowed; reads follow every change. */
YN_API const struct yn_view *yn_zset_view(const struct yn_zset *set);

/* Freezes the set in O(1). *out_view shows the set as it is now, whatever is
 * changed later, and may be read from any thread. See "Threads" above for where this and
 * yn_view_free may be called. Returns YN_OK or YN_ENOMEM. */
YN_API enum yn_status yn_zset_freeze(struct yn_zset *set, struct yn_view **out_view);

/* Frees a frozen view, what only it still needed, and with the last one a set that was
 * freed before. */
YN_API void yn_view_free(struct yn_view *view);

/* The same in two steps, since there may be much that only it needed: the first, called
 * where yn_view_free may be, ends the view; the second frees the rest, in any thread, at
 * any time. */
struct yn_garbage {
    void *first;
    size_t n; /* blocks */
    const struct yn_allocator *allocator;
};
YN_API struct yn_garbage yn_view_release(struct yn_view *view);
YN_API void yn_garbage_free(struct yn_garbage garbage);

/* Whether the set is still as the frozen view shows it. Called where the set may be read.
 * False only means that it has been written to. */
YN_API bool yn_view_is_current(const struct yn_view *view);

YN_API size_t yn_view_count(const struct yn_view *view);

/* Number of entries with a score below `score`; with or_equal, not above it. */
YN_API size_t yn_view_count_below(const struct yn_view *view, double score,
                                  bool or_equal);

/* The same by member, for sets whose scores are all equal (as ZRANGE BYLEX
 * asks); for others the answer is some number between 0 and the count. Cost
 * O(log^2 n). */
YN_API size_t yn_view_count_below_lex(const struct yn_view *view, struct yn_bytes member,
                                      bool or_equal);

#define YN_TREE_DEPTH_MAX 16

/* A position in a view, for iteration in both directions. Fields are private.
 * Valid until the view's set changes (live view) or the view is freed. */
struct yn_cursor {
    const void *node[YN_TREE_DEPTH_MAX];
    uint16_t slot[YN_TREE_DEPTH_MAX];
    int depth; /* -1: at no entry */
};

/* Places the cursor at the entry of this rank (0 = lowest). Returns false, and
 * leaves it at no entry, when rank is not below the count. Cost O(log n). */
YN_API bool yn_cursor_seek(struct yn_cursor *cursor, const struct yn_view *view,
                           size_t rank);

/* Step to the next higher or lower entry. Return false, and leave the cursor at
 * no entry, when there is none. Amortised O(1). */
YN_API bool yn_cursor_next(struct yn_cursor *cursor);
YN_API bool yn_cursor_prev(struct yn_cursor *cursor);

/* Reads the entry under the cursor, which must be at one. */
YN_API struct yn_entry yn_cursor_entry(const struct yn_cursor *cursor);

/* Makes a set of the entries of ranks first .. first+n-1 in ascending order, as many of
 * them as there are. Returns YN_OK or YN_ENOMEM. On success *out_set owns copies of
 * everything. */
YN_API enum yn_status yn_zset_copy(const struct yn_view *view, size_t first, size_t n,
                                   const struct yn_options *options,
                                   struct yn_zset **out_set);

/* ---- combining ---------------------------------------------------------- */

enum yn_combine_kind {
    YN_UNION,
    YN_INTERSECTION,
    YN_DIFFERENCE, /* what is in the first source alone; its scores are kept */
};
enum yn_aggregate { YN_SUM, YN_MIN, YN_MAX };

struct yn_source {
    const struct yn_zset *set; /* NULL: an empty one. A set may occur more than once */
    double weight;             /* its scores are multiplied by it; not for differences */
};

struct yn_combination {
    enum yn_combine_kind kind;
    enum yn_aggregate aggregate; /* of scores of one member; not for differences */
    const struct yn_source *sources;
    size_t n_sources;
    /* NULL: the sets are read. Or a frozen view for each source (NULL where the set is),
     * which are read in their place, so that it may be done in any thread. */
    const struct yn_view *const *views;
    bool is_for_cursors; /* the result is only gone through: look-ups in it are slow */
};

/*
 * Makes a set of several. Scores are those that Redis computes, to the last bit: sources
 * with fewer members come first in a sum, those of one number in their order; 0 stands
 * for what is no number (0 * inf, inf - inf). Returns YN_OK, YN_ENOMEM or YN_ESTOPPED;
 * the sources stay as they are.
 */
YN_API enum yn_status yn_zset_combine(const struct yn_combination *combination,
                                      const struct yn_options *options,
                                      struct yn_zset **out_set);

/* Number of members that all sources of an intersection have; with a limit (not 0) at
 * most that, and then it looks no further. Weights do not count. Returns YN_OK,
 * YN_ENOMEM or YN_ESTOPPED. */
YN_API enum yn_status yn_zset_count_common(const struct yn_combination *combination,
                                           size_t limit, const struct yn_options *options,
                                           size_t *out_n);

/* About how long it takes to combine the sources, in nanoseconds: the sets as they are,
 * and frozen views of them, in which nothing can be looked up. */
struct yn_combine_cost {
    uint64_t live_ns, frozen_ns;
};
YN_API struct yn_combine_cost
yn_combination_cost(const struct yn_combination *combination);

/* ---- search ------------------------------------------------------------- */

enum yn_shape_kind { YN_CIRCLE, YN_BOX, YN_POLYGON };

/*
 * What a search looks for, on decoded positions:
 *   circle: distance(centre, p) <= radius_m
 *   box:    R*|lat - lat_c| <= height_m/2 and the distance along p's own
 *           parallel to the centre's longitude <= width_m/2
 *   polygon: even-odd rule with edges straight in longitude and latitude
 *           (W. R. Franklin's crossing test), half-open edges, implicitly closed
 * Every member that satisfies it is found, nothing else.
 */
struct yn_shape {
    enum yn_shape_kind kind;
    struct yn_point center;          /* circle, box; for polygons set by the search */
    double radius_m;                 /* circle: 0..inf */
    double width_m;                  /* box: 0..inf, west to east */
    double height_m;                 /* box: 0..inf, south to north */
    const struct yn_point *vertices; /* polygon; borrowed until the search is freed */
    size_t n_vertices;               /* at least 3 */
};

enum yn_order {
    YN_ORDER_CELLS, /* nine cells around the centre (C N S E W NE NW SE SW), inside a
                       cell by (score, member); members outside the nine cells last */
    YN_ORDER_ASC,   /* by distance from the centre, ties by (score, member) */
    YN_ORDER_DESC,  /* by falling distance, ties by (score, member) */
};

struct yn_query {
    struct yn_shape shape;
    enum yn_order order;
    size_t limit; /* at most so many results; 0: all */
    double
        rounding_unit_m; /* 0: hits carry exact distances. Else they need only be as exact
                            as printing takes: distance_m / rounding_unit_m * 10^4 rounds
                            to the integer that the exact distance gives. Faster. */
    bool any; /* with limit: the first ones in cell order, then put in `order` */
};

struct yn_search;

/*
 * Plans a search over a view and counts its results. The search reads from the
 * view until it is freed: over the live view the set must not change meanwhile,
 * unless the set is frozen before the next change and that view is freed after
 * the search. Returns YN_OK, YN_ENOMEM or YN_ESHAPE (NaN, negative size,
 * centre or vertex out of range, fewer than 3 vertices).
 */
YN_API enum yn_status yn_search_new(const struct yn_view *view,
                                    const struct yn_query *query,
                                    struct yn_search **out_search);
YN_API void yn_search_free(struct yn_search *search);

/*
 * The same in two steps, for searches that may take long. The first checks the query and
 * takes memory from the view's set; the second, once, plans over a view of the same set,
 * in any thread if it is a frozen one, and may be stopped. A search that is not planned
 * can be asked for its cost and be freed, nothing else.
 * Returns YN_OK, YN_ENOMEM or YN_ESHAPE; and YN_OK, YN_ENOMEM or YN_ESTOPPED.
 */
YN_API enum yn_status yn_search_prepare(const struct yn_view *view,
                                        const struct yn_query *query,
                                        struct yn_search **out_search);
YN_API enum yn_status yn_search_plan(struct yn_search *search, const struct yn_view *view,
                                     const struct yn_stop *stop);

/* About how long planning will take, in nanoseconds, and at most how many results there
 * will be (NULL: not asked for), from the counts in the upper nodes of the tree. It is
 * only as good as it takes to compare it with enough_ns, and costs a microsecond or two
 * at the most. */
YN_API uint64_t yn_search_cost_ns(const struct yn_search *search,
                                  const struct yn_view *view, uint64_t enough_ns,
                                  size_t *out_n_results);

/* Number of results. */
YN_API size_t yn_search_count(const struct yn_search *search);

/* The point that distances are measured from. */
YN_API struct yn_point yn_search_center(const struct yn_search *search);

/* What the plan cost. With a limit in cell order, a leaf that several cells share is
 * visited, and counted, once for each. */
struct yn_search_work {
    size_t n_leaves; /* leaves that hold results or were tested */
    size_t n_tested; /* points that were tested or measured one by one */
};
YN_API struct yn_search_work yn_search_work(const struct yn_search *search);

struct yn_hit {
    struct yn_bytes member;
    double score;
    struct yn_point position;
    double distance_m; /* from the centre, by yn_distance_m; see rounding_unit_m */
};

/* Hands out the next result. Returns false when there are no more. */
YN_API bool yn_search_next(struct yn_search *search, struct yn_hit *out_hit);

/*
 * Hands out the next results as a run of RESP bulk strings ("$3\r\nabc\r\n"
 * back to back): `wire` holds `n` members. Returns false when there are no
 * more. A run is never longer than one leaf or one long member. May be mixed
 * with yn_search_next.
 */
struct yn_run {
    struct yn_bytes wire;
    size_t n;
};
YN_API bool yn_search_next_run(struct yn_search *search, struct yn_run *out_run);

/*
 * Hands out the next results with their distances, many at a time: `n` members, each as
 * a RESP bulk string, and distances as yn_search_next gives them. The arrays are the
 * search's, and good until it is asked again. Returns false, with n 0, when there are no
 * more. May be mixed with yn_search_next.
 *
 * `parts` is NULL or holds what is printed of them: distance_m / rounding_unit_m * 10^4,
 * rounded to an integer; YN_PARTS_OPEN where that is left to be computed.
 */
#define YN_PARTS_OPEN UINT64_MAX
struct yn_hits {
    size_t n;
    const struct yn_bytes *wire;
    const double *distance_m;
    const uint64_t *parts;
};
YN_API bool yn_search_next_hits(struct yn_search *search, struct yn_hits *out_hits);

/* ---- encoding ----------------------------------------------------------- */

/*
 * Encodes a whole view into one block of bytes, checksummed, and back. The
 * block is taken from malloc; the caller frees it with free(). Decoding trusts
 * nothing: order, duplicates, NaN, lengths and checksum are verified.
 * Encoding returns YN_OK or YN_ENOMEM; decoding YN_OK, YN_ENOMEM, YN_ECORRUPT (checksum,
 * or lengths and number that do not fit the data), or what yn_zset_build returns for
 * such entries.
 */
YN_API enum yn_status yn_view_encode(const struct yn_view *view, char **out_data,
                                     size_t *out_len);
YN_API enum yn_status yn_zset_decode(const struct yn_options *options,
                                     struct yn_bytes data, struct yn_zset **out_set);

#ifdef __cplusplus
}
#endif

#endif
