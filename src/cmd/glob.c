/*
 * glob.c: the pattern matcher.
 *
 * One pass over the text with one point to go back to: where the last star was
 * and how much of the text it took. When something behind the star does not
 * fit, the star takes one byte more and matching goes on from there. An earlier
 * star never has to be reconsidered: whatever it could take more, the last star
 * can take as well. So the cost is at most pattern times text, where the
 * recursive way is exponential in the number of stars.
 */
#include "cmd/glob.h"

static unsigned char fold(char c, bool nocase)
{
    unsigned char u = (unsigned char)c;
    return nocase && u >= 'A' && u <= 'Z' ? (unsigned char)(u + ('a' - 'A')) : u;
}

/*
 * Tests one byte against the set that starts behind the '[' at *pos, and moves
 * *pos behind the set. A ']' ends the set wherever it stands; a backslash takes
 * the next byte as it is; a range may be written the wrong way round.
 */
static bool set_has(struct yn_bytes pattern, size_t *pos, unsigned char c, bool nocase)
{
    const char *p = pattern.data;
    size_t i = *pos;
    bool negated = i < pattern.len && p[i] == '^';
    bool found = false;
    if (negated)
        i++;
    while (i < pattern.len && p[i] != ']') {
        if (p[i] == '\\' && i + 1 < pattern.len) {
            i++;
            found |= fold(p[i], nocase) == c;
            i++;
        } else if (i + 2 < pattern.len && p[i + 1] == '-') {
            unsigned char low = fold(p[i], nocase);
            unsigned char high = fold(p[i + 2], nocase);
            found |= low <= high ? low <= c && c <= high : high <= c && c <= low;
            i += 3;
        } else {
            found |= fold(p[i], nocase) == c;
            i++;
        }
    }
    *pos = i < pattern.len ? i + 1 : i;
    return found != negated;
}

/* Tests one byte against the single-byte pattern at *pos and moves *pos behind it. */
static bool one_matches(struct yn_bytes pattern, size_t *pos, char byte, bool nocase)
{
    unsigned char c = fold(byte, nocase);
    char p = pattern.data[(*pos)++];
    if (p == '?')
        return true;
    if (p == '[')
        return set_has(pattern, pos, c, nocase);
    if (p == '\\' && *pos < pattern.len)
        p = pattern.data[(*pos)++];
    return fold(p, nocase) == c;
}

static bool matches(struct yn_bytes pattern, struct yn_bytes text, bool nocase)
{
    size_t at_pattern = 0, at_text = 0;
    size_t star_pattern = 0, star_text = 0; /* where to go on after the last star */
    bool has_star = false;
    while (at_text < text.len || at_pattern < pattern.len) {
        if (at_pattern < pattern.len && pattern.data[at_pattern] == '*') {
            has_star = true;
            star_pattern = ++at_pattern;
            star_text = at_text;
            if (at_pattern == pattern.len)
                return true; /* nothing behind the star: it takes the rest */
            continue;
        }
        if (at_pattern < pattern.len && at_text < text.len &&
            one_matches(pattern, &at_pattern, text.data[at_text], nocase)) {
            at_text++;
            continue;
        }
        if (!has_star || star_text >= text.len)
            return false;
        at_text = ++star_text;
        at_pattern = star_pattern;
    }
    return true;
}

bool glob_matches(struct yn_bytes pattern, struct yn_bytes text)
{
    return matches(pattern, text, false);
}

bool glob_matches_nocase(struct yn_bytes pattern, struct yn_bytes text)
{
    return matches(pattern, text, true);
}
