/* compare_devices.h - how devices compare: times of operations by size and element type with 95 % intervals, what a run takes around its
 * steps and for copies, from which size on a device is faster, and what to use for what; of a model also whether they say the same. The
 * advice is computed from the times and from nothing else.
 *
 * Ownership: a comparison is its caller's, copies what it is given and owns all that it holds; what it gives are copies, whose texts lie
 * in the structs. Threading: a comparison belongs to one thread at a time. */
#ifndef TERN_COMPARE_DEVICES_H
#define TERN_COMPARE_DEVICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tern/export.h>
#include <tern/status.h>

typedef struct tern_device_comparison tern_device_comparison;

/* What people use devices for. X(enumerator, number, name, meaning). */
#define TERN_DEVICE_USE_LIST(X)                                                             \
    X(SMALL, 0, "small steps", "steps that do little: what counts is what a run costs")     \
    X(GENERATE, 1, "generating", "a row at a time: products bound by the bytes of weights") \
    X(PROMPT, 2, "prompts and training", "many rows at once: products bound by arithmetic") \
    X(ARRAYS, 3, "large arrays", "elementwise work, norms and softmax, bound by memory")

typedef enum tern_device_use {
#define TERN_DEVICE_USE_ENUM(id, number, name, meaning) TERN_DEVICE_USE_##id = number,
    TERN_DEVICE_USE_LIST(TERN_DEVICE_USE_ENUM)
#undef TERN_DEVICE_USE_ENUM
} tern_device_use;

/* An operation of one size on one device. */
typedef struct tern_device_time {
    char device[24], op[32], dtype[16];
    char shape[96]; /* of its operands, for people */
    double size;    /* by which rows of one op and dtype are ordered: elements it reads and gives */
    tern_device_use use;
    double median_us, low_us, high_us; /* of a run; NaN: unknown */
    double around_us; /* of that: beside the steps themselves - binding, launching, copies that nothing hides;
                           NaN: not known, and `around_missing` says why */
    char around_missing[64];
    double
        transfer_us; /* what copies to the device and back took, by its own clock; they may overlap steps. 0: it uses
                           host memory in place; NaN: it does not tell */
    int samples; /* 0: there is no time, and `error` says why */
    char error[160];
} tern_device_time;

/* From which size on is `device` faster than the first one, beyond doubt: with intervals that do not meet? */
typedef struct tern_device_crossover {
    char device[24], op[32], dtype[16];
    bool any, always; /* somewhere in the sizes that were measured; in all of them */
    /* elements that it reads and gives, where the lines through the times meet; of `always` the smallest; NaN: nowhere */
    double size;
} tern_device_crossover;

typedef struct tern_device_advice {
    tern_device_use use;
    char device[24]; /* what to use; "" if no device has times for this use */
    /* its time over that of the first device, the geometric mean over the cases; 1 for the first itself */
    double ratio;
    int cases, clear; /* that were compared; of those, with intervals that do not meet */
    char words[200];  /* the same as a sentence */
} tern_device_advice;

/* What a model says on a device, beside what it says on the first: greedy, and both read what the first one chose. */
typedef struct tern_device_text {
    char device[24];
    int tokens;            /* that both would choose, one after the other */
    bool parts;            /* the next one not; else all were compared that were to be */
    int32_t chosen, other; /* if it parts: the first device's token, and this one's */
    /* if it parts: by how much the first device's logit of the one is above that of the other; else NaN */
    double margin;
    double difference; /* most that a logit differed by */
    double
        bound; /* most that rounding moves a logit by: at the first token where it was more, else at the last one */
    bool wrong;      /* it was more: an error of a device */
    char error[160]; /* why there is nothing; or "" */
} tern_device_text;

/* Zeroed fields are the defaults. */
typedef struct tern_device_compare_options {
    int n_devices; /* the first is what the others are compared with; 0 = all of this machine */
    const char *const *devices;
    int n_ops; /* operations, by name; 0 = all that there are cases of */
    const char *const *ops;
    int threads;     /* 0 = as many as the machine allows */
    int rounds;      /* samples of each; 0 = 15 */
    double budget_s; /* for each case, if three rounds fit; 0 = 0.5 */
    const char *
        model; /* a model's file: how fast it reads prompts and generates, and whether it says the same, in place of
                   operations; or NULL */
    const char *prompt; /* the text that it continues; NULL = "The " */
    int tokens;         /* most that are compared of what it says; 0 = 128 */
    bool guard;         /* of the model's file: tern_model_file_options */
    /* Called before each case; false stops: TERN_CANCELLED. Or NULL. */
    bool (*progress)(void *user, const char *what, int done, int total);
    void *user;
} tern_device_compare_options;

#ifdef __cplusplus
extern "C" {
#endif

TERN_API tern_device_compare_options tern_device_compare_options_default(void);

TERN_API tern_status tern_device_comparison_create(tern_device_comparison **out);
TERN_API void tern_device_comparison_free(tern_device_comparison *comparison); /* NULL is fine */

/* Measures. A device that is named and not there is an error; of 0 = all, it is left out. What a device cannot run has a row that says
 * so. */
TERN_API tern_status tern_devices_compare(const tern_device_compare_options *options,
                                          tern_device_comparison **out);

/* Adds a time. The device of the first is what others are compared with. */
TERN_API tern_status tern_device_comparison_add(tern_device_comparison *comparison,
                                                const tern_device_time *time);

/* Each: TERN_OUT_OF_RANGE past the last. */
TERN_API tern_status tern_device_comparison_time(const tern_device_comparison *comparison, int i,
                                                 tern_device_time *out);
TERN_API tern_status tern_device_comparison_crossover(const tern_device_comparison *comparison, int i,
                                                      tern_device_crossover *out);
/* One for each use that has times. */
TERN_API tern_status tern_device_comparison_advice(const tern_device_comparison *comparison, int i,
                                                   tern_device_advice *out);

/* Adds what a model says on a device, and gives what was added: TERN_OUT_OF_RANGE past the last. */
TERN_API tern_status tern_device_comparison_add_text(tern_device_comparison *comparison,
                                                     const tern_device_text *text);
TERN_API tern_status tern_device_comparison_text(const tern_device_comparison *comparison, int i,
                                                 tern_device_text *out);
/* The same as a sentence, "the same 128 tokens as cpu; ...", into `to`, which has room for `room` bytes and is returned. `first` is
 * the device that it is compared with. */
TERN_API const char *tern_device_text_words(const tern_device_text *text, const char *first, char *to,
                                            size_t room);

/* "small steps"; "unknown" for numbers that are no uses. Static. */
TERN_API const char *tern_device_use_name(tern_device_use use);

/* All of it as JSON, which `tern report` reads ("format": "tern-devices"). Free with tern_string_free. */
TERN_API tern_status tern_device_comparison_json(const tern_device_comparison *comparison, char **text);

#ifdef __cplusplus
}
#endif
#endif
