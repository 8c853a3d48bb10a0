/* test_sampler.c - what each way of sampling keeps, and that a token is a function of its seed and place. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tern/tern.h>

#include "harness.h"

enum { N = 100, DRAWS = 4000 };

/* Logit i is -i / 10, shuffled, so that place[i] is the i-th likeliest. */
static void make_logits(float *logits, int *place)
{
    for (int i = 0; i < N; i++) {
        place[i] = (i * 37 + 11) % N;
        logits[place[i]] = -(float)i / 10;
    }
}

static int32_t draw(const tern_sampling *s, uint64_t index)
{
    float logits[N];
    int place[N];
    int32_t token = -1;
    make_logits(logits, place);
    if (tern_sample(s, N, logits, 0, NULL, index, &token) != TERN_OK)
        return -1;
    for (int i = 0; i < N; i++)
        if (place[i] == token)
            return i;
    return -1;
}

/* The least likely rank that is ever drawn. */
static int worst(const tern_sampling *s)
{
    int rank = 0;
    for (uint64_t i = 0; i < DRAWS; i++)
        rank = draw(s, i) > rank ? draw(s, i) : rank;
    return rank;
}

static const tern_sampling everything = {
    .temperature = 1, .top_k = 0, .top_p = 1, .min_p = 0, .repeat_penalty = 1};

/* Those that users of llama.cpp know. */
TEST(defaults)
{
    const tern_sampling d = tern_sampling_default();
    CHECK(d.temperature == 0.8 && d.top_k == 40 && d.top_p == 0.95 && d.min_p == 0.05);
    CHECK(d.repeat_penalty == 1 && d.repeat_last == 64);
}

TEST(what_is_cut_is_never_drawn_and_what_is_kept_is)
{
    tern_sampling s = everything;
    CHECK(worst(&s) > 40);
    s.top_k = 7;
    CHECK_EQ(worst(&s), 6);
    s = everything;
    s.min_p = 0.5; /* exp(-0.6) > 0.5 > exp(-0.7) */
    CHECK_EQ(worst(&s), 6);
    s = everything;
    s.top_p = 0.5; /* 1 - exp(-n / 10) reaches half at n = 7 */
    CHECK_EQ(worst(&s), 6);
    s.temperature = 0;
    CHECK_EQ(worst(&s), 0);
    s = everything;
    s.top_k = 1;
    CHECK_EQ(worst(&s), 0);
}

/* Of the `kept` likeliest, each as often as exp(logit / temperature) says. */
static void check_draws(const tern_sampling *s, int kept)
{
    int seen[N] = {0};
    for (uint64_t i = 0; i < 20000; i++) {
        int rank = draw(s, i);
        CHECK(rank >= 0 && rank < kept);
        seen[rank]++;
    }
    const double step = 0.1 / s->temperature, sum = (1 - exp(-step * kept)) / (1 - exp(-step));
    for (int i = 0; i < 20 && i < kept; i++) {
        double expected = 20000 * exp(-step * i) / sum;
        CHECK(fabs(seen[i] - expected) < 6 * sqrt(expected));
    }
}

TEST(draws_follow_the_probabilities_at_every_temperature)
{
    static const double temperatures[] = {0.5, 1, 2};
    for (int i = 0; i < 3; i++) {
        tern_sampling s = everything;
        s.temperature = temperatures[i];
        check_draws(&s, N);
    }
}

/* What is cut is what the model thinks unlikely, however hot its tokens are drawn. */
TEST(temperature_comes_behind_the_cuts)
{
    static const double temperatures[] = {0.5, 2};
    for (int i = 0; i < 2; i++) {
        tern_sampling s = everything;
        s.temperature = temperatures[i];
        s.top_p = 0.5;
        check_draws(&s, 7);
        CHECK_EQ(worst(&s), 6);
        s.top_p = 1;
        s.min_p = 0.5;
        check_draws(&s, 7);
        CHECK_EQ(worst(&s), 6);
    }
}

/* Of a whole vocabulary, as the few that are kept are. */
TEST(large_vocabularies_are_cut_like_small_ones)
{
    enum { TOKENS = 50000, KEPT = 7 };
    static float logits[TOKENS];
    static const tern_sampling cuts[] = {
        {.temperature = 1, .top_k = KEPT, .top_p = 1, .repeat_penalty = 1},
        {.temperature = 1, .top_p = 1, .min_p = 0.5, .repeat_penalty = 1},
        {.temperature = 1, .top_p = 0.5, .repeat_penalty = 1},
        {.temperature = 1, .top_k = TOKENS - 1, .top_p = 1, .min_p = 0.5, .repeat_penalty = 1},
    };
    for (int k = 0; k < 4; k++) {
        int seen[KEPT] = {0};
        for (uint64_t i = 0; i < 200; i++) {
            int32_t token;
            for (int t = 0; t < TOKENS; t++) /* token t has the rank (t + 11) * 7 % TOKENS */
                logits[t] = -(float)((t + 11) * 7 % TOKENS) / 10;
            CHECK_OK(tern_sample(&cuts[k], TOKENS, logits, 0, NULL, i, &token));
            const int rank = (token + 11) * 7 % TOKENS;
            CHECK(rank < KEPT);
            if (rank < KEPT)
                seen[rank]++;
        }
        for (int i = 0; i < KEPT; i++)
            CHECK(seen[i] > 0);
    }
}

static int descending(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return x > y ? -1 : x < y;
}

/* To sort 128,256 logits for each token takes about half as long as computing them with a model of two billion weights. In processor
 * time, of which others on the machine take none. */
TEST(drawing_from_a_large_vocabulary_does_not_sort_it)
{
    enum { TOKENS = 128256, DRAWN = 10 };
    static float logits[TOKENS];
    tern_sampling s = tern_sampling_default();
    s.top_k = 0;
    clock_t drawing = 0, sorting = 0;
    for (uint64_t i = 0; i < 2 * DRAWN; i++) {
        int32_t token;
        for (int t = 0; t < TOKENS; t++)
            logits[t] = (float)(((unsigned)t * 2654435761u >> 8) % 100003) / 10000;
        const clock_t start = clock();
        if (i % 2)
            qsort(logits, TOKENS, sizeof *logits, descending);
        else
            CHECK_OK(tern_sample(&s, TOKENS, logits, 0, NULL, i, &token));
        *(i % 2 ? &sorting : &drawing) += clock() - start;
    }
    if (HARNESS_ASAN || HARNESS_TSAN || getenv("TERN_EMULATOR"))
        SKIP("sanitizers and emulators slow down a draw more than the C library's sort");
    CHECK(drawing < sorting);
}

TEST(a_token_is_a_function_of_seed_and_place)
{
    tern_sampling s = everything, other = everything;
    other.seed = 1;
    int same = 0;
    for (uint64_t i = 0; i < 1000; i++) {
        CHECK_EQ(draw(&s, i), draw(&s, i));
        same += draw(&s, i) == draw(&other, i);
    }
    CHECK(same < 200);
}

TEST(bias_and_penalty_change_logits)
{
    int32_t token;
    float logits[4] = {1, 2, 3, -1};
    tern_sampling s = everything;
    s.temperature = 0;
    const tern_logit_bias bias[] = {{2, -INFINITY}, {0, 0.5f}};
    s.n_bias = 2;
    s.bias = bias;
    CHECK_OK(tern_sample(&s, 4, logits, 0, NULL, 0, &token));
    CHECK_EQ(token, 1);
    s.n_bias = 0;
    s.repeat_penalty = 4;
    s.repeat_last = 2;
    float again[4] = {1, 2, 3, -1};
    const int32_t recent[] = {1, 2, 2, 3}; /* the last two count */
    CHECK_OK(tern_sample(&s, 4, again, 4, recent, 0, &token));
    CHECK_EQ(token, 1);
    CHECK_EQ(again[2], 0.75f);
    CHECK_EQ(again[3], -4.0f);
}

/* However often a token was there, and however long ago, if all of the context counts. */
TEST(penalties_come_once_for_each_token)
{
    enum { TOKENS = 1000, RECENT = 2 * TOKENS };
    static float logits[TOKENS];
    static int32_t recent[RECENT];
    int32_t token;
    for (int i = 0; i < TOKENS; i++)
        logits[i] = 8;
    for (int i = 0; i < RECENT; i++)
        recent[i] = (i * 7 + 3) % TOKENS; /* each of them, twice */
    tern_sampling s = everything;
    s.temperature = 0;
    s.repeat_penalty = 2;
    s.repeat_last = 1 << 30;
    CHECK_OK(tern_sample(&s, TOKENS, logits, RECENT, recent, 0, &token));
    for (int i = 0; i < TOKENS; i++)
        CHECK(logits[i] == 4);
}

TEST(nothing_is_made_up_from_logits_that_are_not_numbers)
{
    for (int k = 0; k < 2; k++) {
        int32_t token = -5;
        float one[4] = {1, NAN, 2, 3}, all[2] = {NAN, NAN}, none[2] = {-INFINITY, -INFINITY}, logprob;
        tern_token_logprob top[4];
        int count;
        tern_sampling s = everything;
        s.temperature = k;
        CHECK_STATUS(tern_sample(&s, 4, one, 0, NULL, 0, &token), TERN_STATE);
        CHECK_STATUS(tern_sample(&s, 2, all, 0, NULL, 0, &token), TERN_STATE);
        CHECK_STATUS(tern_sample(&s, 2, none, 0, NULL, 0, &token), TERN_STATE);
        CHECK_EQ(token, -5);
        CHECK_STATUS(tern_logprob_of(4, one, 0, &logprob), TERN_STATE);
        CHECK_STATUS(tern_logprobs(4, one, 2, top, &count), TERN_STATE);
    }
    float forbidden[3] = {-INFINITY, 1, -INFINITY};
    int32_t token;
    CHECK_OK(tern_sample(&everything, 3, forbidden, 0, NULL, 0, &token));
    CHECK_EQ(token, 1);
}

TEST(equal_logits_go_to_the_first)
{
    int32_t token;
    float logits[5] = {0, 2, 2, -1, 1};
    tern_sampling s = everything;
    s.temperature = 0;
    CHECK_OK(tern_sample(&s, 5, logits, 0, NULL, 0, &token));
    CHECK_EQ(token, 1);
    tern_token_logprob top[5];
    float finite[3] = {0, 0, (float)log(2)};
    int count;
    CHECK_OK(tern_logprobs(3, finite, 5, top, &count));
    CHECK_EQ(count, 3);
    CHECK_EQ(top[0].token, 2);
    CHECK_EQ(top[1].token, 0);
    CHECK(fabs((double)top[0].logprob - log(0.5)) < 1e-6);
}

TEST(impossible_settings_are_refused)
{
    float logits[2] = {0, 1};
    int32_t token;
    tern_sampling bad[8];
    for (int i = 0; i < 8; i++)
        bad[i] = everything;
    bad[0].temperature = -1;
    bad[1].temperature = NAN;
    bad[2].top_k = -1;
    bad[3].top_p = 0;
    bad[4].top_p = 1.5;
    bad[5].min_p = 2;
    bad[6].repeat_penalty = 0;
    bad[7].repeat_last = -1;
    for (int i = 0; i < 8; i++)
        CHECK_STATUS(tern_sample(&bad[i], 2, logits, 0, NULL, 0, &token), TERN_INVALID_ARGUMENT);
    /* A ban and its opposite make no number, and no weights are damaged. */
    const tern_logit_bias biases[][2] = {
        {{1, INFINITY}, {1, -INFINITY}}, {{1, -INFINITY}, {1, INFINITY}}, {{0, NAN}, {1, 0}}};
    for (int i = 0; i < 3; i++) {
        tern_sampling s = everything;
        s.n_bias = 2;
        s.bias = biases[i];
        CHECK_STATUS(tern_sample(&s, 2, logits, 0, NULL, 0, &token), TERN_INVALID_ARGUMENT);
        CHECK(strstr(tern_last_error(), "the bias of token"));
    }
}
