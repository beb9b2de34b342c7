#include "resp/quote.h"

/* Writes one byte as itself, as a letter escape, or as \xHH. Returns how many bytes that
 * takes: at most four. */
static size_t quote_byte(char *to, unsigned char byte)
{
    static const char escaped[] = "\"\\\n\r\t\a\b";
    static const char letters[] = "\"\\nrtab";
    static const char digits[] = "0123456789abcdef";
    const char *at = byte != 0 ? strchr(escaped, byte) : NULL;
    if (at == NULL && byte >= 0x20 && byte < 0x7f) {
        to[0] = (char)byte;
        return 1;
    }
    to[0] = '\\';
    if (at != NULL) {
        to[1] = letters[at - escaped];
        return 2;
    }
    to[1] = 'x';
    to[2] = digits[byte >> 4];
    to[3] = digits[byte & 15];
    return 4;
}

void yn_quote(struct yn_buf *out, struct yn_bytes bytes)
{
    yn_buf_append_text(out, "\"");
    for (size_t i = 0; i < bytes.len; i++) {
        char *to = yn_buf_reserve(out, 4);
        if (to == NULL)
            return;
        out->len += quote_byte(to, (unsigned char)bytes.data[i]);
    }
    yn_buf_append_text(out, "\"");
}
