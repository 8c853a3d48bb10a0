/* test_status.c - codes, names and the thread's message. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/status.h"
#include "harness.h"

TEST(every_code_has_a_name_and_a_meaning)
{
    CHECK_STR(tern_status_name(TERN_OK), "ok");
    CHECK_STR(tern_status_name(TERN_SHAPE), "shape");
    CHECK_STR(tern_status_meaning(TERN_OUT_OF_MEMORY), "an allocation failed");
    CHECK_EQ(TERN_INTERNAL, 14);
    CHECK_EQ(TERN_CANCELLED, 15);
    for (int code = 0; code <= 15; code++) {
        CHECK(strcmp(tern_status_name((tern_status)code), "unknown") != 0);
        CHECK(strcmp(tern_status_meaning((tern_status)code), "unknown") != 0);
        for (int other = 0; other < code; other++)
            CHECK(strcmp(tern_status_name((tern_status)code), tern_status_name((tern_status)other)) != 0);
    }
    CHECK_STR(tern_status_name((tern_status)16), "unknown");
    CHECK_STR(tern_status_meaning((tern_status)16), "unknown");
}

TEST(version_matches_the_headers)
{
    char want[32];
    snprintf(want, sizeof want, "%d.%d.%d", TERN_VERSION_MAJOR, TERN_VERSION_MINOR, TERN_VERSION_PATCH);
    CHECK_STR(tern_version(), want);
}

TEST(fail_sets_the_message_and_returns_the_code)
{
    CHECK_STATUS(tern__fail(TERN_SHAPE, "matmul: inner sizes differ: %d and %d", 3, 4), TERN_SHAPE);
    CHECK_STR(tern_last_error(), "matmul: inner sizes differ: 3 and 4");
    CHECK_STATUS(tern__fail_in(TERN_SHAPE, "model.graph"), TERN_SHAPE);
    CHECK_STR(tern_last_error(), "model.graph: matmul: inner sizes differ: 3 and 4");
    CHECK_STATUS(tern__fail(TERN_IO, "again: %s", tern_last_error()), TERN_IO);
    CHECK_STR(tern_last_error(), "again: model.graph: matmul: inner sizes differ: 3 and 4");
    CHECK_STATUS(tern__out_of_memory(123), TERN_OUT_OF_MEMORY);
    CHECK(strstr(tern_last_error(), "123") != NULL);
}

static tern_status fails_if(int value)
{
    TERN__FAIL_IF(value > 2, TERN_OUT_OF_RANGE, "value %d is above 2", value);
    return TERN_OK;
}

static tern_status tries(int value)
{
    TERN_TRY(fails_if(value));
    return TERN_OK;
}

TEST(macros_return_the_code)
{
    CHECK_OK(tries(2));
    CHECK_STATUS(tries(3), TERN_OUT_OF_RANGE);
    CHECK_STR(tern_last_error(), "value 3 is above 2");
}

TEST(long_messages_are_cut_and_say_so)
{
    char text[TERN__MESSAGE_MAX + 50];
    memset(text, 'a', sizeof text);
    text[TERN__MESSAGE_MAX - 1] = '\0';
    tern__fail(TERN_IO, "%s", text); /* just fits */
    CHECK_STR(tern_last_error(), text);

    text[TERN__MESSAGE_MAX - 1] = 'a';
    text[TERN__MESSAGE_MAX] = '\0';
    tern__fail(TERN_IO, "%s", text); /* one too long */
    CHECK_EQ(strlen(tern_last_error()), TERN__MESSAGE_MAX - 1);
    CHECK_STR(tern_last_error() + TERN__MESSAGE_MAX - 5, "a...");

    tern__fail_in(TERN_IO, "context");
    CHECK(strncmp(tern_last_error(), "context: aaa", 12) == 0);
    CHECK_STR(tern_last_error() + TERN__MESSAGE_MAX - 5, "a...");
}

TEST(a_cut_does_not_split_a_character)
{
    char text[TERN__MESSAGE_MAX * 2] = "";
    for (size_t at = 0; at + 4 < sizeof text; at += 3)
        memcpy(text + at, "\xe2\x82\xac", 4); /* the euro sign, three bytes */
    for (int shift = 0; shift < 3; shift++) {
        tern__fail(TERN_IO, "%.*s%s", shift, "xx", text);
        const char *message = tern_last_error();
        size_t length = strlen(message);
        CHECK(length < TERN__MESSAGE_MAX);
        CHECK_STR(message + length - 3, "...");
        CHECK_EQ((length - 3 - (size_t)shift) % 3, 0);
    }
}

TEST(control_characters_never_reach_a_terminal)
{
    tern__fail(TERN_FORMAT, "a tensor \"%s\" is missing", "x\ny\x1b[2Jz\x7f");
    CHECK_STR(tern_last_error(), "a tensor \"x\\ny\\x1b[2Jz\\x7f\" is missing");
    tern__fail_in(TERN_FORMAT, "a\tb"); /* what is escaped stays as it is */
    CHECK_STR(tern_last_error(), "a\\x09b: a tensor \"x\\ny\\x1b[2Jz\\x7f\" is missing");

    char text[TERN__MESSAGE_MAX]; /* grows beyond the buffer by its escapes */
    for (size_t shift = 0; shift < 4; shift++) {
        memset(text, 1, sizeof text);
        memset(text, 'a', shift);
        text[sizeof text - 1] = '\0';
        tern__fail(TERN_FORMAT, "%s", text);
        const char *message = tern_last_error();
        size_t length = strlen(message);
        CHECK_EQ(length, TERN__MESSAGE_MAX - 1);
        CHECK_STR(message + length - 3, "...");
        CHECK(!strchr(message, 1));
    }
}

static void *other_thread(void *arg)
{
    (void)arg;
    const char *first = tern_last_error();
    bool clean = first[0] == '\0';
    tern__fail(TERN_IO, "from the other thread");
    return clean && strcmp(tern_last_error(), "from the other thread") == 0 ? arg : NULL;
}

TEST(threads_have_their_own_message)
{
    tern__fail(TERN_SHAPE, "mine");
    pthread_t thread;
    void *result = NULL;
    int token;
    CHECK_EQ(pthread_create(&thread, NULL, other_thread, &token), 0);
    pthread_join(thread, &result);
    CHECK(result == &token);
    CHECK_STR(tern_last_error(), "mine");
}

typedef struct heard {
    int count;
    tern_log_level level;
    char text[2048];
} heard;

static void hear(void *user, tern_log_level level, const char *message)
{
    heard *h = user;
    h->count++;
    h->level = level;
    snprintf(h->text, sizeof h->text, "%s", message);
}

TEST(log_reaches_the_callback_at_its_level)
{
    heard h = {0};
    tern__log(TERN_LOG_ERROR, "nobody listens");
    tern_log_set(TERN_LOG_WARN, hear, &h);
    tern__log(TERN_LOG_INFO, "too chatty");
    CHECK_EQ(h.count, 0);
    tern__log(TERN_LOG_WARN, "kernel %s is slow", "x");
    CHECK_EQ(h.count, 1);
    CHECK_EQ(h.level, TERN_LOG_WARN);
    CHECK_STR(h.text, "kernel x is slow");
    tern__log(TERN_LOG_ERROR, "%2000d", 1);
    CHECK_EQ(h.count, 2);
    CHECK_STR(h.text + strlen(h.text) - 3, "...");
    tern_log_set(TERN_LOG_DEBUG, NULL, NULL);
    tern__log(TERN_LOG_ERROR, "silence again");
    CHECK_EQ(h.count, 2);
    CHECK_STR(tern_log_level_name(TERN_LOG_DEBUG), "debug");
    CHECK_STR(tern_log_level_name((tern_log_level)9), "unknown");
}
