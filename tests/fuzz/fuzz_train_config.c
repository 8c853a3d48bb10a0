/* fuzz_train_config.c - libFuzzer target: any bytes as the config of a training run, and as the note of a checkpoint. They are refused
 * with one line, or they are a config that is printed and read back as the same text. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tern/graph.h>
#include <tern/train_config.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "fuzz_train_config: %s (%s)\n", what, tern_last_error());
        abort();
    }
}

static tern_status parse(int note, const char *text, size_t length, tern_train_config *c,
                         tern_train_progress *p)
{
    return note ? tern_train_note_parse(text, length, "fuzz", c, p)
                : tern_train_config_parse(text, length, "fuzz", c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (int note = 0; note < 2; note++) {
        tern_train_config c;
        tern_train_progress p = {0};
        char *text = NULL, *again = NULL;
        if (parse(note, (const char *)data, size, &c, &p) != TERN_OK) {
            check(!strchr(tern_last_error(), '\n') && tern_last_error()[0], "no single line");
            continue;
        }
        check((note ? tern_train_note_print(&c, &p, &text) : tern_train_config_print(&c, &text)) == TERN_OK,
              "printing fails");
        check(parse(note, text, strlen(text), &c, &p) == TERN_OK, "what was printed is not read");
        check((note ? tern_train_note_print(&c, &p, &again) : tern_train_config_print(&c, &again)) == TERN_OK,
              "printing again fails");
        check(strcmp(text, again) == 0, "reading changes it");
        tern_string_free(text);
        tern_string_free(again);
    }
    return 0;
}
