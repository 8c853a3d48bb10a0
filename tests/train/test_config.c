/* test_config.c - every key of a training config: its default goes out and comes in again, and what it cannot be is refused by name. */
#include <stdio.h>
#include <string.h>

#include <tern/alloc.h>
#include <tern/train_config.h>

#include "gate.h"
#include "harness.h"

static tern_status parse(const char *text, tern_train_config *out)
{
    return tern_train_config_parse(text, strlen(text), "c.json", out);
}

#if TERN_HAVE_JANSSON
#define NEED_JANSSON() ((void)0)
#else
#define NEED_JANSSON() SKIP("this build has no libjansson")
#endif

static void check_refused(const char *text, tern_status status, const char *message)
{
    tern_train_config c;
    memset(&c, 0x5a, sizeof c);
    const tern_train_config before = c;
    CHECK_EQ(parse(text, &c), status);
    if (strcmp(tern_last_error(), message) != 0)
        harness_fail(__FILE__, __LINE__, "%s\n  gave: %s\n  not:  %s", text, tern_last_error(), message);
    CHECK(memcmp(&c, &before, sizeof c) == 0);
}

TEST(what_is_printed_is_read)
{
    NEED_JANSSON();
    tern_train_config c = tern_train_config_default(), d;
    char *text = NULL, *again = NULL;
    c.options.shape.layers = 3;
    c.options.optimiser.kind = TERN_OPTIMISER_SGD;
    c.options.seed = 77;
    c.schedule.kind = TERN_SCHEDULE_LINEAR;
    c.schedule.rate = 0.1 + 0.2;
    c.tokens = TERN_TRAIN_TOKENS_BPE;
    c.export_type = TERN_STORED_TQ2_0;
    snprintf(c.sample_prompt, sizeof c.sample_prompt, "\"\n\xc3\xa4");
    CHECK_OK(tern_train_config_print(&c, &text));
    CHECK_OK(parse(text, &d));
    CHECK_OK(tern_train_config_print(&d, &again));
    CHECK_STR(text, again);
    CHECK(d.schedule.rate == c.schedule.rate && d.export_type == TERN_STORED_TQ2_0 && d.options.seed == 77);
    tern_string_free(text);
    tern_string_free(again);
}

TEST(nothing_said_is_the_default)
{
    NEED_JANSSON();
    tern_train_config c, d = tern_train_config_default();
    char *text = NULL, *usual = NULL;
    CHECK_OK(parse(" { } ", &c));
    CHECK_OK(tern_train_config_print(&c, &text));
    CHECK_OK(tern_train_config_print(&d, &usual));
    CHECK_STR(text, usual);
    tern_string_free(text);
    tern_string_free(usual);
}

TEST(an_update_keeps_what_it_does_not_name)
{
    NEED_JANSSON();
    tern_train_config c = tern_train_config_default();
    const char *good = "{\"schedule\": {\"rate\": 0.5}}", *bad = "{\"batch\": 3, \"steps\": 0}";
    c.options.shape.context = 77;
    c.options.batch = 5;
    CHECK_OK(tern_train_config_update(good, strlen(good), "c.json", &c));
    CHECK(c.schedule.rate == 0.5 && c.options.shape.context == 77 && c.options.batch == 5);
    CHECK_EQ(tern_train_config_update(bad, strlen(bad), "c.json", &c), TERN_INVALID_ARGUMENT);
    CHECK(c.options.batch == 5 && c.schedule.rate == 0.5);
}

TEST(notes_have_progress)
{
    NEED_JANSSON();
    const tern_train_config c = tern_train_config_default();
    const tern_train_progress p = {.step = 12,
                                   .loss = 1.0 / 3,
                                   .best_step = -1,
                                   .best_loss = 0,
                                   .seconds = 1.5,
                                   .data = UINT64_C(1) << 61};
    tern_train_config d;
    tern_train_progress q;
    char *text = NULL;
    CHECK_OK(tern_train_note_print(&c, &p, &text));
    CHECK_OK(tern_train_note_parse(text, strlen(text), "c.json", &d, &q));
    CHECK(memcmp(&p, &q, sizeof p) == 0);
    CHECK_STATUS(parse(text, &d), TERN_NOT_FOUND); /* a config has none */
    CHECK(strstr(tern_last_error(), "there is no key 'progress'"));
    tern_string_free(text);
}

/* "model.layers" with a value: {"model": {"layers": value}} */
static void text_of(const char *key, const char *value, char *out, size_t room)
{
    const char *dot = strchr(key, '.');
    if (dot)
        snprintf(out, room, "{\"%.*s\": {\"%s\": %s}}", (int)(dot - key), key, dot + 1, value);
    else
        snprintf(out, room, "{\"%s\": %s}", key, value);
}

TEST(every_key)
{
    NEED_JANSSON();
    static const char *const bad[] = {"null", "[]", "{}", "true", "-1e300", "\"no such word\""};
    tern_train_key key;
    tern_train_config c;
    int n = 0;
    char text[512];
    for (; tern_train_config_key(n, &key) == TERN_OK; n++) {
        text_of(key.name, key.usual, text, sizeof text);
        CHECK_OK(parse(text, &c));
        CHECK(*key.meaning && *key.range);
        const bool free_text = strncmp(key.range, "a text", 6) == 0;
        for (size_t i = 0; i < sizeof bad / sizeof *bad - free_text; i++) {
            text_of(key.name, bad[i], text, sizeof text);
            if (parse(text, &c) != TERN_INVALID_ARGUMENT || !strstr(tern_last_error(), key.name) ||
                !strstr(tern_last_error(), key.range))
                harness_fail(__FILE__, __LINE__, "%s gave: %s", text, tern_last_error());
        }
    }
    CHECK(n > 30);
    CHECK_STATUS(tern_train_config_key(n, &key), TERN_OUT_OF_RANGE);
    CHECK_STATUS(tern_train_config_key(-1, &key), TERN_OUT_OF_RANGE);
}

/* Each word of a choice is the enumerator that has its name: the order of words is kept by hand. */
TEST(words_mean_what_they_say)
{
    NEED_JANSSON();
    tern_train_config c;
    char text[512];
#define MEANS(key, word, field, enumerator)              \
    do {                                                 \
        text_of(key, "\"" word "\"", text, sizeof text); \
        CHECK_OK(parse(text, &c));                       \
        CHECK_EQ(c.field, enumerator);                   \
    } while (0)
    MEANS("model.weights", "ternary", options.shape.weights, TERN_TRAIN_WEIGHTS_TERNARY);
    MEANS("model.weights", "float", options.shape.weights, TERN_TRAIN_WEIGHTS_FLOAT);
    MEANS("tokenizer.kind", "bytes", tokens, TERN_TRAIN_TOKENS_BYTES);
    MEANS("tokenizer.kind", "bpe", tokens, TERN_TRAIN_TOKENS_BPE);
    MEANS("activations", "f32", options.activations, TERN_PRECISION_EXACT);
    MEANS("activations", "bf16", options.activations, TERN_PRECISION_BF16);
    MEANS("activations", "f16", options.activations, TERN_PRECISION_F16);
    MEANS("optimiser.kind", "adamw", options.optimiser.kind, TERN_OPTIMISER_ADAMW);
    MEANS("optimiser.kind", "sgd", options.optimiser.kind, TERN_OPTIMISER_SGD);
#define RECOMPUTE(id, number, name, meaning) MEANS("recompute", name, options.recompute, TERN_RECOMPUTE_##id);
#define SCHEDULE(id, number, name, meaning) MEANS("schedule.kind", name, schedule.kind, TERN_SCHEDULE_##id);
    TERN_RECOMPUTE_LIST(RECOMPUTE)
    TERN_SCHEDULE_LIST(SCHEDULE)
}

TEST(out_of_memory)
{
    const tern_train_config c = tern_train_config_default();
    tern_train_key key;
    bool fired = true;
    for (int n = 1; fired && !harness_failed(); n++) {
        gate g = {.countdown = n};
        char *text = NULL;
        tern_alloc_set_gate(gate_allow, &g);
        const tern_status status = tern_train_config_print(&c, &text);
        const tern_status of_key = tern_train_config_key(n % 30, &key);
        tern_alloc_set_gate(NULL, NULL);
        CHECK(status == TERN_OK || (status == TERN_OUT_OF_MEMORY && !text));
        CHECK(of_key == TERN_OK || of_key == TERN_OUT_OF_MEMORY);
        fired = g.fired;
        CHECK(fired || (status == TERN_OK && of_key == TERN_OK));
        tern_string_free(text);
    }
}

TEST(messages)
{
    NEED_JANSSON();
    check_refused("{\"model\": {\"layers\": 0}}", TERN_INVALID_ARGUMENT,
                  "c.json: model.layers is 0; it must be a whole number from 1 to 4096");
    check_refused("{\"model\": {\"layers\": 2.5}}", TERN_INVALID_ARGUMENT,
                  "c.json: model.layers is 2.5; it must be a whole number from 1 to 4096");
    check_refused("{\"batch\": \"16\"}", TERN_INVALID_ARGUMENT,
                  "c.json: batch is \"16\"; it must be a whole number from 1 to 1048576");
    check_refused("{\"schedule\": {\"kind\": \"cosinus\"}}", TERN_INVALID_ARGUMENT,
                  "c.json: schedule.kind is \"cosinus\"; it must be \"cosine\", \"linear\" or \"constant\"");
    check_refused("{\"model\": {\"layer\": 2}}", TERN_NOT_FOUND,
                  "c.json: there is no key 'model.layer'; did you mean 'model.layers'?");
    check_refused("{\"bacth\": 2}", TERN_NOT_FOUND, "c.json: there is no key 'bacth'; did you mean 'batch'?");
    check_refused("{\"zzzzzzzzzz\": 2}", TERN_NOT_FOUND,
                  "c.json: there is no key 'zzzzzzzzzz'; `tern train --config-keys` lists them");
    check_refused("{\"model\": 2}", TERN_INVALID_ARGUMENT, "c.json: model must be an object of keys, {...}");
    check_refused("[1]", TERN_FORMAT, "c.json: JSON: not an object of keys, {...}");
    check_refused("{\"tokenizer\": {\"vocabulary\": 4096}}", TERN_INVALID_ARGUMENT,
                  "c.json: tokenizer.vocabulary is 4096, but a tokenizer of bytes has 257 tokens: say "
                  "\"kind\": \"bpe\"");
    tern_train_config c;
    CHECK_STATUS(parse("{\"batch\": 1, \"batch\": 2}", &c), TERN_FORMAT);
    CHECK_STATUS(parse("{\"batch\": 1", &c), TERN_FORMAT);
    CHECK_STATUS(parse("", &c), TERN_FORMAT);
}
