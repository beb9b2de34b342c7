#include "server/digest.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "core/buf.h"

bool digest_of(struct yn_bytes bytes, char out[DIGEST_LEN + 1])
{
    static const char digits[] = "0123456789abcdef";
    unsigned char raw[DIGEST_LEN / 2];
    unsigned n = 0;
    if (EVP_Digest(bytes.len > 0 ? bytes.data : "", bytes.len, raw, &n, EVP_sha256(),
                   NULL) != 1 ||
        n != sizeof raw)
        return false;
    for (size_t i = 0; i < sizeof raw; i++) {
        out[2 * i] = digits[raw[i] >> 4];
        out[2 * i + 1] = digits[raw[i] & 15];
    }
    out[DIGEST_LEN] = '\0';
    return true;
}

bool digest_is_valid(struct yn_bytes text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
            return false;
    }
    return text.len == DIGEST_LEN;
}

bool digest_is_equal(const char *a, const char *b)
{
    return CRYPTO_memcmp(a, b, DIGEST_LEN) == 0;
}
