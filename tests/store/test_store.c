/* test_store.c - databases that are new, old, newer, foreign, damaged, locked, and written by two processes at once. */
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "harness.h"

static const char *const migrations[] = {
    "CREATE TABLE t(k TEXT PRIMARY KEY, v INTEGER)",
    "ALTER TABLE t ADD COLUMN w INTEGER DEFAULT 7",
};
static const tern__store_schema old_schema = {"test rows", "take another file", 0x7e57, 1, migrations};
static const tern__store_schema schema = {"test rows", "take another file", 0x7e57, 2, migrations};
static const tern__store_schema other_schema = {"other rows", "take another file", 0x07e5, 1, migrations};

static const tern__store_options create = {.create = true, .busy_timeout_ms = 2000};
static const tern__store_options existing = {.create = false, .busy_timeout_ms = 50};

static char folder[1024], path[1100];

static bool make_folder(void)
{
    if (!harness_path(folder, sizeof folder, "store") || mkdir(folder, 0700) != 0)
        return false;
    snprintf(path, sizeof path, "%s/deep/er/x.db", folder);
    return true;
}

static void remove_folder(void)
{
    char sub[1100];
    tern__store_remove(path);
    snprintf(sub, sizeof sub, "%s/deep/er", folder);
    rmdir(sub);
    snprintf(sub, sizeof sub, "%s/deep", folder);
    rmdir(sub);
    CHECK(rmdir(folder) == 0); /* nothing else was left behind */
}

static tern_status put(tern__store *store, const char *key, int64_t value)
{
    tern__query *q;
    TERN_TRY(tern__query_make(store, "INSERT OR REPLACE INTO t(k, v) VALUES(?1, ?2)", &q));
    tern__query_bind_text(q, 1, key);
    tern__query_bind_int(q, 2, value);
    tern_status status = tern__query_finish(q);
    tern__query_free(q);
    return status;
}

/* The first number that a query gives; -1 if it gives none, -2 if it fails. */
static int64_t ask(tern__store *store, const char *sql)
{
    tern__query *q;
    bool row = false;
    if (tern__query_make(store, sql, &q) != TERN_OK)
        return -2;
    tern_status status = tern__query_step(q, &row);
    int64_t value = status != TERN_OK ? -2 : row ? tern__query_int(q, 0) : -1;
    tern__query_free(q);
    return value;
}

#define NEED_SQLITE()                         \
    do {                                      \
        if (!tern__store_available())         \
            SKIP("this build has no SQLite"); \
    } while (0)

TEST(what_is_written_is_there_when_it_is_opened_again)
{
    NEED_SQLITE();
    CHECK(make_folder());
    tern__store *store;
    CHECK_STATUS(tern__store_open(path, &schema, &existing, &store), TERN_NOT_FOUND);
    CHECK_OK(tern__store_open(path, &schema, &create, &store));
    CHECK_OK(put(store, "it's", 5));
    CHECK_OK(tern__store_begin(store));
    CHECK_OK(put(store, "undone", 6));
    tern__store_close(store); /* without a commit */
    CHECK_OK(tern__store_open(path, &schema, &existing, &store));
    CHECK_EQ(ask(store, "SELECT v FROM t WHERE k='it''s'"), 5);
    CHECK_EQ(ask(store, "SELECT count(*) FROM t"), 1);
    CHECK_STATUS(tern__store_run(store, "SELECT nonsense"), TERN_FORMAT);
    tern__store_close(store);
    remove_folder();
}

TEST(older_files_are_brought_up_to_date_and_newer_ones_refused)
{
    NEED_SQLITE();
    CHECK(make_folder());
    tern__store *store;
    CHECK_OK(tern__store_open(path, &old_schema, &create, &store));
    CHECK_OK(put(store, "a", 1));
    tern__store_close(store);
    CHECK_OK(tern__store_open(path, &schema, &existing, &store));
    CHECK_EQ(ask(store, "SELECT v + w FROM t"), 8);
    tern__store_close(store);
    CHECK_STATUS(tern__store_open(path, &old_schema, &existing, &store), TERN_UNSUPPORTED);
    CHECK_STATUS(tern__store_open(path, &other_schema, &create, &store), TERN_FORMAT);
    CHECK_OK(tern__store_open(path, &schema, &existing, &store)); /* refusing did no harm */
    CHECK_EQ(ask(store, "SELECT v FROM t"), 1);
    tern__store_close(store);
    remove_folder();
}

static void scribble(long at, const char *text)
{
    FILE *f = fopen(path, "r+b");
    CHECK(f != NULL);
    fseek(f, at, SEEK_SET);
    for (int i = 0; i < 200; i++)
        fputs(text, f);
    fclose(f);
}

TEST(damaged_files_are_a_status)
{
    NEED_SQLITE();
    CHECK(make_folder());
    tern__store *store;
    CHECK_OK(tern__store_open(path, &schema, &create, &store));
    char key[32];
    CHECK_OK(tern__store_begin(store));
    for (int i = 0; i < 2000; i++) {
        snprintf(key, sizeof key, "a key to fill pages %d", i);
        CHECK_OK(put(store, key, i));
    }
    CHECK_OK(tern__store_end(store, TERN_OK));
    tern__store_close(store);
    scribble(8192, "not a page of a tree, that is sure. ");
    tern_status status = tern__store_open(path, &schema, &existing, &store);
    if (status == TERN_OK) { /* the first page is whole: the damage shows when it is read */
        CHECK_EQ(ask(store, "SELECT sum(length(k)) FROM t"), -2);
        tern__store_close(store);
    } else {
        CHECK_STATUS(status, TERN_FORMAT);
    }
    scribble(0, "rubbish ");
    CHECK_STATUS(tern__store_open(path, &schema, &create, &store), TERN_FORMAT);
    CHECK(strstr(tern_last_error(), "x.db") != NULL);
    CHECK_OK(tern__store_remove(path));
    CHECK_STATUS(tern__store_remove(path), TERN_NOT_FOUND);
    CHECK_OK(tern__store_open(path, &schema, &create, &store));
    tern__store_close(store);
    remove_folder();
}

static const tern__store_options durable = {.create = true, .busy_timeout_ms = 2000, .durable = true};

/* A page of one table is damaged; writing would touch another one only. */
TEST(nothing_is_written_into_a_file_with_a_damaged_page)
{
    NEED_SQLITE();
    CHECK(make_folder());
    tern__store *store;
    char key[32];
    CHECK_OK(tern__store_open(path, &schema, &durable, &store));
    CHECK_OK(tern__store_begin(store));
    for (int i = 0; i < 2000; i++) {
        snprintf(key, sizeof key, "a key to fill pages %d", i);
        CHECK_OK(put(store, key, i));
    }
    CHECK_OK(tern__store_end(store, TERN_OK));
    CHECK_OK(tern__store_run(store, "CREATE TABLE other(a)"));
    tern__store_close(store);
    scribble(8192, "not a page of a tree, that is sure. ");
    CHECK_OK(tern__store_open(path, &schema, &durable, &store));
    CHECK_STATUS(tern__store_begin(store), TERN_FORMAT);
    CHECK(strstr(tern_last_error(), "the file is damaged; move it away, or take another file") != NULL);
    CHECK_OK(tern__store_run(
        store, "SELECT * FROM other")); /* no transaction is open, and what is whole can be read */
    CHECK_STATUS(tern__store_begin(store), TERN_FORMAT);
    tern__store_close(store);
    remove_folder();
}

/* Somebody who may only read: the exit status is the first line that is not as it should be. */
static int be_a_stranger(const char *elsewhere)
{
    tern__store *store;
    const tern__store_options reading = {.busy_timeout_ms = 50, .durable = true};
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
        return 0;
    if (tern__store_open(path, &schema, &reading, &store) != TERN_OK)
        return __LINE__ % 256;
    if (ask(store, "SELECT v FROM t") != 5)
        return __LINE__ % 256;
    if (tern__store_begin(store) == TERN_OK && put(store, "mine", 1) == TERN_OK)
        return __LINE__ % 256;
    tern__store_close(store);
    if (tern__store_open(elsewhere, &schema, &durable, &store) != TERN_IO)
        return __LINE__ % 256;
    return strstr(tern_last_error(), "Permission denied") ? 0 : __LINE__ % 256;
}

TEST(who_may_not_write_can_read_and_is_told_why)
{
    NEED_SQLITE();
    char open_to_all[] = "/tmp/tern-store-XXXXXX",
         elsewhere[64]; /* tests have a folder that others may not even pass */
    tern__store *store;
    int status = 0;
    CHECK(mkdtemp(open_to_all) != NULL);
    snprintf(elsewhere, sizeof elsewhere, "%s/new.db", open_to_all);
    snprintf(path, sizeof path, "%s/50%% ?#.db", open_to_all); /* no character of a name means anything */
    CHECK_OK(tern__store_open(path, &schema, &durable, &store));
    CHECK_OK(put(store, "a", 5));
    tern__store_close(store);
    CHECK(chmod(path, 0444) == 0 && chmod(open_to_all, 0555) == 0);
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0)
        _exit(be_a_stranger(elsewhere));
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(chmod(open_to_all, 0700) == 0);
    CHECK_OK(tern__store_remove(path));
    CHECK(rmdir(open_to_all) == 0);
    CHECK_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
}

TEST(a_locked_file_is_waited_for_but_not_for_ever)
{
    NEED_SQLITE();
    CHECK(make_folder());
    tern__store *holder, *store;
    CHECK_OK(tern__store_open(path, &schema, &create, &holder));
    CHECK_OK(tern__store_open(path, &schema, &existing, &store));
    CHECK_OK(tern__store_begin(holder));
    CHECK_OK(put(holder, "held", 1));
    uint64_t start = tern__now_ns();
    CHECK_STATUS(tern__store_begin(store), TERN_UNAVAILABLE);
    uint64_t waited = tern__now_ns() - start;
    CHECK(waited >= 40 * 1000000ull); /* the timeout is 50 ms; a loaded machine may take longer */
    CHECK_OK(tern__store_end(holder, TERN_OK));
    CHECK_OK(put(store, "free again", 2));
    tern__store_close(store);
    tern__store_close(holder);
    remove_folder();
}

/* One of two processes: adds 1 to a counter `times` times, each time in a transaction of its own. */
static int race(int times)
{
    tern__store *store;
    tern__store_options patient = {.create = true, .busy_timeout_ms = 30000};
    if (tern__store_open(path, &schema, &patient, &store) != TERN_OK)
        return 1;
    int bad = 0;
    for (int i = 0; i < times && !bad; i++) {
        bad = tern__store_begin(store) != TERN_OK;
        int64_t value = bad ? 0 : ask(store, "SELECT v FROM t WHERE k='n'");
        bad = bad || value == -2 || put(store, "n", value < 0 ? 1 : value + 1) != TERN_OK ||
              tern__store_end(store, TERN_OK) != TERN_OK;
    }
    tern__store_close(store);
    return bad;
}

TEST(two_processes_race_and_no_write_is_lost)
{
    NEED_SQLITE();
    CHECK(make_folder());
    pid_t children[2];
    for (int i = 0; i < 2; i++) {
        children[i] = fork();
        CHECK(children[i] >= 0);
        if (children[i] == 0)
            _exit(race(100)); /* both also race to create the file and its tables */
    }
    for (int i = 0; i < 2; i++) {
        int status = 1;
        CHECK(waitpid(children[i], &status, 0) == children[i]);
        CHECK_EQ(status, 0);
    }
    tern__store *store;
    CHECK_OK(tern__store_open(path, &schema, &existing, &store));
    CHECK_EQ(ask(store, "SELECT v FROM t WHERE k='n'"), 200);
    tern__store_close(store);
    remove_folder();
}
