/* crc.c - CRC-32. */
#include "tensor/crc.h"

#if TERN_HAVE_ZLIB
#include <zlib.h>
#endif

/* Four bits at a time: the table is small enough to check by eye, and this version is only for builds without
 * zlib. Entry i is i shifted right four times, each time with the polynomial folded in if a 1 falls out. */
uint32_t tern__crc32_own(uint32_t crc, const void *data, size_t bytes)
{
    static const uint32_t TABLE[16] = {
        0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
        0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
    };
    const uint8_t *p = data;
    crc = ~crc;
    for (size_t i = 0; i < bytes; i++) {
        crc ^= p[i];
        crc = TABLE[crc & 15] ^ (crc >> 4);
        crc = TABLE[crc & 15] ^ (crc >> 4);
    }
    return ~crc;
}

uint32_t tern__crc32(uint32_t crc, const void *data, size_t bytes)
{
#if TERN_HAVE_ZLIB
    const uint8_t *p = data;
    while (bytes > 0) { /* zlib counts in unsigned int */
        uInt n = bytes < (1u << 30) ? (uInt)bytes : 1u << 30;
        crc = (uint32_t)crc32(crc, p, n);
        p += n;
        bytes -= n;
    }
    return crc;
#else
    return tern__crc32_own(crc, data, bytes);
#endif
}
