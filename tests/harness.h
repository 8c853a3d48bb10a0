/* harness.h - the whole test framework: tests register themselves, checks say where and what.
 *
 *     TEST(pool_counts_add_up)
 *     {
 *         CHECK_OK(tern_thing_create(&thing));
 *         CHECK_EQ(tern_thing_count(thing), 3);
 *     }
 *
 * main() is in harness.c; each tests/<dir>/test_*.c is a program of its own. Usage: test_x [-v] [SUBSTRING].
 * A failing check marks the running test as failed, prints file, line and values, and returns from the
 * function it stands in, so checks belong in functions that return void. Checks may be used from one thread
 * only. */
#ifndef TERN_TESTS_HARNESS_H
#define TERN_TESTS_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tern/status.h>

typedef struct harness_test {
    const char *name, *file;
    int line;
    void (*run)(void);
    struct harness_test *next;
} harness_test;

/* For the macros below. harness_fail marks the running test as failed and prints one line. */
void harness_register(harness_test *test);
void harness_fail(const char *file, int line, const char *format, ...) TERN_PRINTF(3, 4);
void harness_skip(const char *reason);
bool harness_check_ok(tern_status status, const char *file, int line, const char *text);
bool harness_check_status(tern_status got, tern_status want, const char *file, int line, const char *text);
bool harness_check_eq(intmax_t a, intmax_t b, const char *file, int line, const char *a_text,
                      const char *b_text);
bool harness_check_str(const char *a, const char *b, const char *file, int line, const char *text);
bool harness_check_near(double a, double b, double tolerance, const char *file, int line, const char *text);

/* The seed of this run: TERN_TEST_SEED, or a fixed number. Printed at the first call, so that any run can be
 * repeated. */
uint64_t harness_seed(void);

/* Builds that run many times slower (TSan, emulation) look at every Nth case of what is drawn at random or enumerated:
 * TERN_TEST_EVERY=N, 1 unless set. harness_cases: how many of n cases those are, at least 1. */
int harness_every(void);
int harness_cases(int n);

/* A folder of this program's own, empty at first, in $TMPDIR (or /tmp). Removed at exit with all that is in it. */
const char *harness_folder(void);

/* Writes "<harness_folder()>/<name>"; false, and the test has failed, if it does not fit. */
bool harness_path(char *out, size_t size, const char *name);

/* Did the running test fail? For helpers whose caller must stop too. */
bool harness_failed(void);

#define TEST(id)                                                                        \
    static void test_##id(void);                                                        \
    static harness_test harness_test_##id = {#id, __FILE__, __LINE__, test_##id, NULL}; \
    __attribute__((constructor)) static void harness_register_##id(void)                \
    {                                                                                   \
        harness_register(&harness_test_##id);                                           \
    }                                                                                   \
    static void test_##id(void)

#define CHECK(condition)                                        \
    do {                                                        \
        if (!(condition)) {                                     \
            harness_fail(__FILE__, __LINE__, "%s", #condition); \
            return;                                             \
        }                                                       \
    } while (0)

#define HARNESS_RETURN_UNLESS(call) \
    do {                            \
        if (!(call))                \
            return;                 \
    } while (0)

/* Status of a call; on failure the thread's message is printed too. */
#define CHECK_OK(call) HARNESS_RETURN_UNLESS(harness_check_ok((call), __FILE__, __LINE__, #call))
#define CHECK_STATUS(call, status) \
    HARNESS_RETURN_UNLESS(harness_check_status((call), (status), __FILE__, __LINE__, #call))

/* Integers of any type; both values are printed. */
#define CHECK_EQ(a, b) \
    HARNESS_RETURN_UNLESS(harness_check_eq((intmax_t)(a), (intmax_t)(b), __FILE__, __LINE__, #a, #b))

/* Strings; NULL equals only NULL. */
#define CHECK_STR(a, b) HARNESS_RETURN_UNLESS(harness_check_str((a), (b), __FILE__, __LINE__, #a))

/* |a - b| <= tolerance; NaN never is. */
#define CHECK_NEAR(a, b, tolerance) \
    HARNESS_RETURN_UNLESS(harness_check_near((a), (b), (tolerance), __FILE__, __LINE__, #a))

/* Ends the test without a verdict. The reason appears on screen. */
#define SKIP(reason)          \
    do {                      \
        harness_skip(reason); \
        return;               \
    } while (0)

/* Built with a sanitizer? A few tests have to know. */
#if defined(__has_feature)
#define HARNESS_HAS_FEATURE(x) __has_feature(x)
#else
#define HARNESS_HAS_FEATURE(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || HARNESS_HAS_FEATURE(address_sanitizer)
#define HARNESS_ASAN 1
#else
#define HARNESS_ASAN 0
#endif
#if defined(__SANITIZE_THREAD__) || HARNESS_HAS_FEATURE(thread_sanitizer)
#define HARNESS_TSAN 1
#else
#define HARNESS_TSAN 0
#endif

#endif
