/* test_strbuf.c - text grows, and a failure sticks until the end. */
#include <string.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "gate.h"
#include "harness.h"

TEST(pieces_join)
{
    tern__strbuf s = TERN__STRBUF_EMPTY;
    tern__strbuf_add(&s, "matmul");
    tern__strbuf_add_n(&s, "(a, b)garbage", 6);
    tern__strbuf_addf(&s, " -> [%d,%d]", 3, 4);
    tern__strbuf_add(&s, "");
    CHECK_STR(s.text, "matmul(a, b) -> [3,4]");
    CHECK_EQ(s.length, strlen(s.text));
    char *text = NULL;
    CHECK_OK(tern__strbuf_take(&s, &text));
    CHECK_STR(text, "matmul(a, b) -> [3,4]");
    CHECK(s.text == NULL && s.length == 0 && s.capacity == 0);
    tern__free(text);
}

TEST(empty_text_can_be_taken)
{
    tern__strbuf s = TERN__STRBUF_EMPTY;
    char *text = NULL;
    CHECK_OK(tern__strbuf_take(&s, &text));
    CHECK_STR(text, "");
    tern__free(text);
}

TEST(formatted_pieces_of_every_length)
{
    tern__strbuf s = TERN__STRBUF_EMPTY;
    size_t want = 0;
    for (int width = 1; width < 700; width++) { /* passes every distance to the end of the capacity */
        tern__strbuf_addf(&s, "%*d", width, 7);
        want += (size_t)width;
        CHECK_EQ(s.length, want);
        CHECK_EQ(strlen(s.text), want);
        CHECK_EQ(s.text[want - 1], '7');
    }
    tern__strbuf_free(&s);
    CHECK(s.text == NULL);
    tern__strbuf_free(&s);
}

TEST(a_failure_sticks)
{
    uint64_t before = live_blocks();
    for (int allowed = 0; allowed < 4; allowed++) {
        gate g = {.countdown = allowed + 1, .for_ever = true};
        char *text = NULL;
        tern__strbuf s = TERN__STRBUF_EMPTY;
        tern_alloc_set_gate(gate_allow, &g);
        tern__strbuf_add(&s, "head ");
        tern__strbuf_addf(&s, "%100d", 1);
        tern__strbuf_addf(&s, "%1000d", 2);
        tern__strbuf_addf(&s, "%10000d", 3);
        tern_alloc_set_gate(NULL, NULL);
        CHECK(s.failed);
        static const size_t kept[] = {0, 5, 105, 1105};
        CHECK_EQ(s.length, kept[allowed]);
        if (s.text != NULL)
            CHECK_EQ(strlen(s.text), s.length);
        tern__strbuf_add(&s, "ignored even though there is memory now");
        CHECK_EQ(s.length, kept[allowed]);
        CHECK_STATUS(tern__strbuf_take(&s, &text), TERN_OUT_OF_MEMORY);
        CHECK(text == NULL);
        CHECK_EQ(live_blocks(), before);
    }
}
