/* harness.c - main() of every test program: runs the registered tests and counts. */
#include "harness.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static harness_test *first_test;
static const harness_test *running;
static bool running_failed;
static const char *running_skipped; /* the reason, or NULL */

/* Constructors of one file may run in any order, so the list is kept in the order of the source. */
void harness_register(harness_test *test)
{
    harness_test **at = &first_test;
    while (*at != NULL && (*at)->line < test->line)
        at = &(*at)->next;
    test->next = *at;
    *at = test;
}

void harness_fail(const char *file, int line, const char *format, ...)
{
    printf("FAIL %s: %s:%d: ", running != NULL ? running->name : "?", file, line);
    va_list args;
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
    running_failed = true;
}

void harness_skip(const char *reason)
{
    printf("SKIP %s: %s\n", running != NULL ? running->name : "?", reason);
    running_skipped = reason;
}

bool harness_failed(void)
{
    return running_failed;
}

bool harness_check_ok(tern_status status, const char *file, int line, const char *text)
{
    if (status == TERN_OK)
        return true;
    harness_fail(file, line, "%s gave %s: %s", text, tern_status_name(status), tern_last_error());
    return false;
}

bool harness_check_status(tern_status got, tern_status want, const char *file, int line, const char *text)
{
    if (got == want)
        return true;
    harness_fail(file, line, "%s gave %s instead of %s (last message: \"%s\")", text, tern_status_name(got),
                 tern_status_name(want), tern_last_error());
    return false;
}

bool harness_check_eq(intmax_t a, intmax_t b, const char *file, int line, const char *a_text,
                      const char *b_text)
{
    if (a == b)
        return true;
    harness_fail(file, line, "%s == %s: %" PRIdMAX " against %" PRIdMAX, a_text, b_text, a, b);
    return false;
}

bool harness_check_str(const char *a, const char *b, const char *file, int line, const char *text)
{
    if (a == b || (a != NULL && b != NULL && strcmp(a, b) == 0))
        return true;
    harness_fail(file, line, "%s:\n  got  \"%s\"\n  want \"%s\"", text, a != NULL ? a : "(null)",
                 b != NULL ? b : "(null)");
    return false;
}

bool harness_check_near(double a, double b, double tolerance, const char *file, int line, const char *text)
{
    if (fabs(a - b) <= tolerance)
        return true;
    harness_fail(file, line, "%s: %.17g is not within %g of %.17g", text, a, tolerance, b);
    return false;
}

int harness_every(void)
{
    const char *text = getenv("TERN_TEST_EVERY");
    const int every = text ? atoi(text) : 1;
    return every > 1 ? every : 1;
}

int harness_cases(int n)
{
    return (n + harness_every() - 1) / harness_every();
}

uint64_t harness_seed(void)
{
    static bool known;
    static uint64_t seed = 20240229;
    if (known)
        return seed;
    known = true;
    const char *text = getenv("TERN_TEST_SEED");
    if (text != NULL && *text != '\0') {
        char *end;
        errno = 0;
        uint64_t value = strtoull(text, &end, 0);
        if (errno != 0 || *end != '\0') {
            fprintf(stderr, "TERN_TEST_SEED=%s is not a number\n", text);
            exit(2);
        }
        seed = value;
    }
    printf("seed %" PRIu64 " (repeat with TERN_TEST_SEED=%" PRIu64 ")\n", seed, seed);
    return seed;
}

/* ---- scratch files ---- */

static char folder[PATH_MAX / 2];

static void remove_tree(const char *path)
{
    char inner[PATH_MAX];
    DIR *dir = unlink(path) == 0 ? NULL : opendir(path);
    if (dir == NULL)
        return;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name) < (int)sizeof inner)
            remove_tree(inner);
    }
    closedir(dir);
    rmdir(path);
}

static void remove_folder(void)
{
    remove_tree(folder);
}

const char *harness_folder(void)
{
    if (folder[0] == '\0') {
        const char *parent = getenv("TMPDIR");
        snprintf(folder, sizeof folder, "%s/tern-test-XXXXXX", parent != NULL && *parent ? parent : "/tmp");
        if (mkdtemp(folder) == NULL) {
            perror(folder);
            exit(2);
        }
        atexit(remove_folder);
    }
    return folder;
}

bool harness_path(char *out, size_t size, const char *name)
{
    int length = snprintf(out, size, "%s/%s", harness_folder(), name);
    if (length >= 0 && (size_t)length < size)
        return true;
    harness_fail(__FILE__, __LINE__, "the path of %s is too long", name);
    return false;
}

int main(int argc, char **argv)
{
    bool verbose = false;
    const char *filter = "";
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-v") == 0)
            verbose = true;
        else
            filter = argv[i];
    }
    /* Line by line even into a pipe: after a crash the last line still says which test it was. */
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);

    int passed = 0, failed = 0, skipped = 0;
    for (const harness_test *test = first_test; test != NULL; test = test->next) {
        if (strstr(test->name, filter) == NULL)
            continue;
        running = test;
        running_failed = false;
        running_skipped = NULL;
        if (verbose)
            printf("run  %s\n", test->name);
        test->run();
        if (running_failed)
            failed++;
        else if (running_skipped != NULL)
            skipped++;
        else
            passed++;
    }
    running = NULL;
    printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
    if (passed + failed + skipped == 0) {
        fprintf(stderr, "no test matches \"%s\"\n", filter);
        return 2;
    }
    return failed == 0 ? 0 : 1;
}
