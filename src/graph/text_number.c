/* text_number.c - numbers to text and back, exactly. A process that runs in a locale with a decimal comma reads and
 * writes the same text as any other. */
#include "graph/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/point.h"
#include "tensor/half.h"

enum {
    LONGEST_READ = 512, /* characters of a number */
    PLAIN_FROM = -4,    /* decimal exponents in this range are written without an e */
    PLAIN_TO = 15,
};

static double rounded_to(tern_dtype dtype, double value)
{
    switch (dtype) {
    case TERN_F16:
        return (double)tern__f16_to_f32(tern__f64_to_f16(value));
    case TERN_BF16:
        return (double)tern__bf16_to_f32(tern__f64_to_bf16(value));
    case TERN_F32:
        return (double)(float)value;
    default:
        return value;
    }
}

/* "-1.2345e-07" -> sign, digits without trailing zeros, decimal exponent. */
static void take_apart(const char *scientific, char *digits, int *n_digits, int *exponent)
{
    int n = 0;
    for (; *scientific != 'e'; scientific++)
        if (*scientific >= '0' && *scientific <= '9')
            digits[n++] = *scientific;
    while (n > 1 && digits[n - 1] == '0')
        n--;
    *n_digits = n;
    *exponent = (int)strtol(scientific + 1, NULL, 10);
}

/* The digits, of which some stand behind the point, as people write them: 0.001, 12.5, 1e-5, 3.4028235e38. */
static void put_together(bool negative, const char *digits, int n, int exponent, char *out)
{
    if (negative)
        *out++ = '-';
    if (exponent < PLAIN_FROM || exponent > PLAIN_TO) {
        *out++ = digits[0];
        if (n > 1)
            *out++ = '.';
        memcpy(out, digits + 1, (size_t)(n - 1));
        out += n - 1;
        snprintf(out, 8, "e%d", exponent);
        return;
    }
    for (int i = exponent < 0 ? exponent : 0; i < n; i++) {
        *out++ = i >= 0 ? digits[i] : '0';
        if (i == exponent)
            *out++ = '.';
    }
    *out = '\0';
}

char *tern__number_text(tern_dtype dtype, double value, char buffer[TERN__NUMBER_TEXT])
{
    if (isnan(value) || isinf(value)) {
        const char *text = isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
        return memcpy(buffer, text, strlen(text) + 1);
    }
    if (fabs(value) < 1e16 && value == trunc(value)) { /* in full: the f16 65504 is not 65500 to a reader */
        snprintf(buffer, TERN__NUMBER_TEXT, "%.0f", value);
        return buffer;
    }
    const tern__point point = tern__point_begin();
    char scientific[40], digits[20];
    int precision = 0, n, exponent;
    do
        snprintf(scientific, sizeof scientific, "%.*e", precision, value);
    while (rounded_to(dtype, strtod(scientific, NULL)) != value && ++precision < 17);
    tern__point_end(point);
    take_apart(scientific, digits, &n, &exponent);
    put_together(signbit(value), digits, n, exponent, buffer);
    return buffer;
}

static size_t skip_digits(const char *text, size_t length, size_t at)
{
    while (at < length && text[at] >= '0' && text[at] <= '9')
        at++;
    return at;
}

/* -?digits(.digits)?([eE][+-]?digits)?  */
static bool is_decimal(const char *text, size_t length)
{
    size_t at = length > 0 && text[0] == '-', from = at;
    at = skip_digits(text, length, at);
    if (at == from)
        return false;
    if (at < length && text[at] == '.') {
        from = at + 1;
        at = skip_digits(text, length, from);
        if (at == from)
            return false;
    }
    if (at < length && (text[at] == 'e' || text[at] == 'E')) {
        at++;
        at += at < length && (text[at] == '-' || text[at] == '+');
        from = at;
        at = skip_digits(text, length, from);
        if (at == from)
            return false;
    }
    return at == length;
}

static bool is_word(const char *text, size_t length, const char *word)
{
    return strlen(word) == length && memcmp(text, word, length) == 0;
}

bool tern__number_read_float(tern_dtype dtype, const char *text, size_t length, double *out, bool *overflow)
{
    *overflow = false;
    bool negative = length > 0 && text[0] == '-';
    if (is_word(text + negative, length - negative, "inf")) {
        *out = negative ? -INFINITY : INFINITY;
        return true;
    }
    if (is_word(text, length, "nan")) {
        *out = NAN;
        return true;
    }
    if (length >= LONGEST_READ || !is_decimal(text, length))
        return false;
    char copy[LONGEST_READ];
    memcpy(copy, text, length);
    copy[length] = '\0';
    const tern__point point = tern__point_begin();
    double value = strtod(copy, NULL);
    tern__point_end(point);
    value = rounded_to(dtype, value);
    *overflow = isinf(value);
    if (*overflow)
        return false;
    *out = value;
    return true;
}

bool tern__number_read_int(const char *text, size_t length, int64_t *out, bool *overflow)
{
    *overflow = false;
    bool negative = length > 0 && text[0] == '-';
    size_t at = negative;
    if (at == length || skip_digits(text, length, at) != length)
        return false;
    int64_t value = 0;
    for (; at < length; at++) {
        /* downwards, because INT64_MIN has no positive twin */
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_sub_overflow(value, (int64_t)(text[at] - '0'), &value)) {
            *overflow = true;
            return false;
        }
    }
    *overflow = !negative && value == INT64_MIN;
    if (*overflow)
        return false;
    *out = negative ? value : -value;
    return true;
}
