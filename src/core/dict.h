/*
 * dict.h: the dictionary of a set: member -> where it stands in the tree.
 *
 * An entry is eight bytes: a 12-bit tag of the member's hash and the 52-bit cell
 * number, which is the address: the member is found by descending to (code,
 * member). Members whose score is no cell, and those in cells shared by very
 * many, live in a side table of (hash, key) instead. See dict.c.
 *
 * The dictionary knows hashes and keys, not members; where it has to learn more
 * it asks the tree of the view it is given.
 */
#ifndef YN_DICT_H
#define YN_DICT_H

#include "core/tree.h"

struct yn_dict;

/* generation: another one for each dictionary that a set has in turn, so that a scan
 * notices that its cursor is of an earlier one. */
struct yn_dict *yn_dict_new(struct yn_mem *mem, uint64_t seed, unsigned generation);
void yn_dict_free(struct yn_mem *mem, struct yn_dict *dict);

uint64_t yn_dict_hash(const struct yn_dict *dict, struct yn_bytes member);

/* Finds the member in the view's tree. Returns whether it is there, path filled. */
bool yn_dict_find(const struct yn_dict *dict, const struct yn_view *view,
                  struct yn_bytes member, uint64_t hash, struct yn_path *out_path);

/* Finds the scores of n (at most YN_AHEAD_MAX) members side by side; NaN for those that
 * are not there. */
void yn_dict_find_many(const struct yn_dict *dict, const struct yn_view *view,
                       const struct yn_bytes *members, size_t n, double *out_scores);
/* For n entries that are to be put: replaces keys[i], where the entry is to stand (0: not
 * known), by where its member probably stands now, if it is there, and asks for that part
 * of the dictionary. */
void yn_dict_probable_keys(const struct yn_dict *dict, const struct yn_bytes *members,
                           size_t n, uint64_t *keys);

/* Fills an empty dictionary from the view's tree. YN_OK, YN_ENOMEM, or YN_EEXIST when a
 * member occurs twice. */
enum yn_status yn_dict_build(struct yn_dict *dict, struct yn_mem *mem,
                             const struct yn_view *view, const struct yn_stop *stop);

/* Adds an entry for a member that is not in the dictionary. `prefer_side`: its cell is
 * crowded. The view's tree must hold every member that the dictionary has. */
enum yn_status yn_dict_add(struct yn_dict *dict, struct yn_mem *mem,
                           const struct yn_view *view, uint64_t hash, double score,
                           bool prefer_side);
/* Removes the entry of a member with this hash and score. Never fails. */
void yn_dict_remove(struct yn_dict *dict, uint64_t hash, double score);
/* The same for n (at most YN_AHEAD_MAX) members and their scores, side by side. */
void yn_dict_remove_many(struct yn_dict *dict, const struct yn_entry *entries, size_t n);
/* Changes the score in an entry. `prefer_side`: the new cell is crowded. May need memory
 * when the entry goes to the side table; then returns YN_ENOMEM, nothing changed. Never
 * fails when it takes back the last move and prefer_side is false. */
enum yn_status yn_dict_move(struct yn_dict *dict, struct yn_mem *mem, uint64_t hash,
                            double old_score, double score, bool prefer_side);

/* See yn_zset_scan. */
uint64_t yn_dict_scan(const struct yn_dict *dict, const struct yn_view *view,
                      uint64_t cursor, size_t count, yn_scan_fn visit, void *ctx);

size_t yn_dict_count(const struct yn_dict *dict);
/* Verifies the table's own invariants; NULL or what is wrong. */
const char *yn_dict_check(const struct yn_dict *dict);

#endif
