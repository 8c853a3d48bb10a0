/* utf8.h - one reader of UTF-8 for everything here: encoding, decoding, blanks. */
#ifndef TERN_BASE_UTF8_H
#define TERN_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum tern__utf8_kind {
    TERN__UTF8_WHOLE,   /* a character */
    TERN__UTF8_CUT,     /* the start of one; the rest may follow */
    TERN__UTF8_INVALID, /* no character starts like this */
} tern__utf8_kind;

/* What `bytes[0..length)`, length > 0, starts with. `*used`: its bytes; of what is invalid, the longest part that starts
 * a character, at least 1, which is what one U+FFFD stands for. */
static inline tern__utf8_kind tern__utf8_next(const char *bytes, size_t length, size_t *used)
{
    const unsigned char *b = (const unsigned char *)bytes;
    unsigned least = 0x80, most = 0xBF;
    size_t need;
    *used = 1;
    if (b[0] < 0x80)
        return TERN__UTF8_WHOLE;
    if (b[0] < 0xC2 || b[0] > 0xF4)
        return TERN__UTF8_INVALID;
    need = b[0] < 0xE0 ? 2 : b[0] < 0xF0 ? 3 : 4;
    if (b[0] == 0xE0)
        least = 0xA0; /* overlong */
    else if (b[0] == 0xED)
        most = 0x9F; /* surrogates */
    else if (b[0] == 0xF0)
        least = 0x90; /* overlong */
    else if (b[0] == 0xF4)
        most = 0x8F; /* past U+10FFFF */
    for (size_t i = 1; i < need; i++) {
        if (i == length)
            return TERN__UTF8_CUT;
        if (b[i] < least || b[i] > most)
            return TERN__UTF8_INVALID;
        least = 0x80, most = 0xBF;
        *used = i + 1;
    }
    return TERN__UTF8_WHOLE;
}

/* Bytes of the character that `bytes` starts with, or 0 if there is none. */
static inline size_t tern__utf8_length(const char *bytes, size_t length)
{
    size_t used;
    return length > 0 && tern__utf8_next(bytes, length, &used) == TERN__UTF8_WHOLE ? used : 0;
}

/* The code point of a whole character of `length` bytes. */
static inline uint32_t tern__utf8_value(const char *bytes, size_t length)
{
    const unsigned char *b = (const unsigned char *)bytes;
    if (length == 1)
        return b[0];
    uint32_t value = b[0] & (0x7Fu >> length);
    for (size_t i = 1; i < length; i++)
        value = value << 6 | (b[i] & 0x3Fu);
    return value;
}

/* Unicode's White_Space. */
static inline bool tern__is_space(uint32_t c)
{
    return (c >= 9 && c <= 13) || c == ' ' || c == 0x85 || c == 0xA0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
           c == 0x3000;
}

/* The end of text[0..length) without the blanks that it ends in. */
static inline size_t tern__utf8_without_blanks(const char *text, size_t length)
{
    while (length > 0) {
        size_t start = length - 1;
        while (start > 0 && length - start < 4 && ((unsigned char)text[start] & 0xC0) == 0x80)
            start--;
        size_t used = tern__utf8_length(text + start, length - start);
        if (used != length - start || !tern__is_space(tern__utf8_value(text + start, used)))
            break;
        length = start;
    }
    return length;
}

/* The first place at or behind `at` where no blank is. */
static inline size_t tern__utf8_behind_blanks(const char *text, size_t length, size_t at)
{
    size_t used;
    while (at < length && (used = tern__utf8_length(text + at, length - at)) > 0 &&
           tern__is_space(tern__utf8_value(text + at, used)))
        at += used;
    return at;
}

#endif
