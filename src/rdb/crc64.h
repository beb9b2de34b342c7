/* crc64.h: the checksum of RDB files and DUMP payloads. */
#ifndef CRC64_H
#define CRC64_H

#include <stddef.h>
#include <stdint.h>

/* Goes on with the checksum of what came before; 0 at the start. */
uint64_t crc64(uint64_t crc, const void *bytes, size_t len);

#endif
