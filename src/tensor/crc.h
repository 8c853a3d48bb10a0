/* crc.h - CRC-32 as zip and gzip use it (polynomial 0xedb88320, reflected). */
#ifndef TERN_TENSOR_CRC_H
#define TERN_TENSOR_CRC_H

#include <stddef.h>
#include <stdint.h>

/* Continues `crc` (0 at the start) over more bytes. zlib's where there is zlib. */
uint32_t tern__crc32(uint32_t crc, const void *data, size_t bytes);

/* The version that stands in where there is no zlib. */
uint32_t tern__crc32_own(uint32_t crc, const void *data, size_t bytes);

#endif
