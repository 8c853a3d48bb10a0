/* gguf_meta.c - numbers and tokenizers as entries of GGUF. */
#include "model/convert/gguf_meta.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/status.h"
#include "model/arch/hparams.h"
#include "model/tokenizer/tokenizer.h"

/* ---- numbers ------------------------------------------------------------------------------------------------------- */

void tern__gguf_add_shape(tern__model_writer *w, const tern_model_shape *s, double norm_eps)
{
    const struct {
        tern__hparam id;
        int64_t value;
    } sizes[] = {
        {TERN__HPARAM_VOCABULARY, s->vocabulary},
        {TERN__HPARAM_CONTEXT, s->context},
        {TERN__HPARAM_WIDTH, s->width},
        {TERN__HPARAM_LAYERS, s->layers},
        {TERN__HPARAM_FEED_FORWARD, s->feed_forward},
        {TERN__HPARAM_ROPE_WIDTH, s->width / s->heads},
        {TERN__HPARAM_HEADS, s->heads},
        {TERN__HPARAM_KV_HEADS, s->kv_heads},
    };
    char key[TERN__ARCH_KEY];
    tern__gguf_meta_string(w, "general.architecture", s->architecture, strlen(s->architecture));
    tern__gguf_meta_string(w, "general.name", s->name, strlen(s->name));
    for (size_t i = 0; i < TERN__COUNT(sizes); i++)
        tern__gguf_meta_u32(w, tern__hparam_key(s->architecture, sizes[i].id, key), (uint32_t)sizes[i].value);
    tern__gguf_meta_f32(w, tern__hparam_key(s->architecture, TERN__HPARAM_NORM_EPS, key), (float)norm_eps);
    tern__gguf_meta_f32(w, tern__hparam_key(s->architecture, TERN__HPARAM_ROPE_THETA, key),
                        (float)s->rope_base);
}

/* ---- tokenizers ---------------------------------------------------------------------------------------------------- */

static void add_texts(tern__model_writer *w, const char *key, const tern_token_text *texts, size_t n)
{
    tern__gguf_meta_begin(w, key, TERN_META_STRING, (int64_t)n);
    for (size_t i = 0; i < n; i++)
        tern__gguf_element_string(w, texts[i].bytes ? texts[i].bytes : "", texts[i].length);
}

static void add_types(tern__model_writer *w, const tern_vocabulary *d)
{
    const int32_t normal = TERN_TOKEN_NORMAL;
    tern__gguf_meta_begin(w, "tokenizer.ggml.token_type", TERN_META_I32, (int64_t)d->n_tokens);
    for (size_t i = 0; i < d->n_tokens; i++)
        tern__strbuf_add_n(&w->metas, (const char *)(d->types ? &d->types[i] : &normal), sizeof normal);
}

static void add_id(tern__model_writer *w, const tern_model_file *said, const char *key, int32_t id)
{
    int entry;
    if (id != TERN_NO_TOKEN && (!said || tern_model_file_meta_find(said, key, &entry) != TERN_OK))
        tern__gguf_meta_u32(w, key, (uint32_t)id);
}

/* What the new file has in this place: what was said of the model goes first. */
static int32_t id_in(const tern_model_file *said, const char *key, int32_t id)
{
    int64_t stated;
    return said && tern_model_file_get_int(said, key, &stated) == TERN_OK && stated >= 0 && stated < INT32_MAX
               ? (int32_t)stated
               : id;
}

/* Which tokens end an answer, eos apart: the end of a turn first, none twice. */
typedef struct ends {
    int32_t ids[TERN__MOST_LISTED_ENDS + 1];
    size_t n;
} ends;

static void add_end(ends *e, int32_t eos, int32_t id)
{
    bool known = id == TERN_NO_TOKEN || id == eos;
    for (size_t i = 0; i < e->n && !known; i++)
        known = e->ids[i] == id;
    if (!known)
        e->ids[e->n++] = id;
}

static ends ends_of(const tern_model_file *said, const tern_vocabulary *d)
{
    const int32_t eos = id_in(said, "tokenizer.ggml.eos_token_id", d->eos);
    ends e = {.n = 0};
    add_end(&e, eos, d->eot);
    for (size_t i = 0; i < d->n_ends; i++)
        add_end(&e, eos, d->ends[i]);
    return e;
}

/* GGUF has places for two of them beside eos. Readers stop at both; if there are more, all of them are listed where Tern looks. */
static void add_ends(tern__model_writer *w, const tern_model_file *said, const tern_vocabulary *d)
{
    static const char *const places[] = {"tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"};
    const ends e = ends_of(said, d);
    for (size_t i = 0; i < TERN__COUNT(places) && i < e.n; i++)
        add_id(w, said, places[i], e.ids[i]);
    if (e.n <= TERN__COUNT(places))
        return;
    tern__gguf_meta_begin(w, TERN__ENDS_KEY, TERN_META_U32, (int64_t)e.n);
    tern__strbuf_add_n(&w->metas, (const char *)e.ids, e.n * sizeof *e.ids);
}

static void add_choice(tern__model_writer *w, const char *key, tern_tristate choice)
{
    if (choice != TERN_TRISTATE_BY_MODEL)
        tern__gguf_meta_bool(w, key, choice == TERN_TRISTATE_YES);
}

/* GGUF has no word for some things that a tokenizer.json says. Where they would make other tokens the vocabulary is refused. */
static tern_status check_rules(const tern_vocabulary *d)
{
    tern_vocabulary stated = *d;
    tern_tokenizer *t = NULL;
    stated.ignore_merges = TERN_TRISTATE_BY_MODEL;
    tern_status status = tern_tokenizer_create(&stated, NULL, &t);
    if (status == TERN_UNAVAILABLE) /* without PCRE2 nobody can tell */
        return TERN_OK;
    TERN_TRY(status);
    const bool same = d->ignore_merges == TERN_TRISTATE_BY_MODEL ||
                      t->ignore_merges == (d->ignore_merges == TERN_TRISTATE_YES);
    tern_tokenizer_free(t);
    TERN__FAIL_IF(!same, TERN_UNSUPPORTED, "GGUF cannot say that '%s' %s merges for words that are tokens",
                  d->pre ? d->pre : d->model, d->ignore_merges == TERN_TRISTATE_YES ? "ignores" : "minds");
    size_t odd = 0;
    for (size_t i = 0; i < d->n_flags; i++)
        odd += d->flags[i].lstrip || d->flags[i].rstrip || d->flags[i].single_word;
    if (d->add_space == TERN_TRISTATE_YES && (d->space_at_start || d->space_if_none))
        tern__log(
            TERN_LOG_WARN,
            "GGUF cannot say where no blank goes before a text: one that begins with a blank, or stands "
            "behind a special token, may become other tokens");
    if (odd > 0)
        tern__log(TERN_LOG_WARN, "GGUF cannot say that %zu special tokens swallow blanks or stand alone",
                  odd);
    return TERN_OK;
}

tern_status tern__gguf_add_vocabulary(tern__model_writer *w, const tern_vocabulary *d,
                                      const tern_model_file *said)
{
    TERN_TRY(check_rules(d));
    tern__gguf_meta_string(w, "tokenizer.ggml.model", d->model, strlen(d->model));
    if (d->pre)
        tern__gguf_meta_string(w, "tokenizer.ggml.pre", d->pre, strlen(d->pre));
    add_texts(w, "tokenizer.ggml.tokens", d->tokens, d->n_tokens);
    add_types(w, d);
    if (d->scores) {
        tern__gguf_meta_begin(w, "tokenizer.ggml.scores", TERN_META_F32, (int64_t)d->n_tokens);
        tern__strbuf_add_n(&w->metas, (const char *)d->scores, d->n_tokens * sizeof *d->scores);
    }
    if (d->n_merges > 0)
        add_texts(w, "tokenizer.ggml.merges", d->merges, d->n_merges);
    add_id(w, said, "tokenizer.ggml.bos_token_id", d->bos);
    add_id(w, said, "tokenizer.ggml.eos_token_id", d->eos);
    add_ends(w, said, d);
    add_id(w, said, "tokenizer.ggml.unknown_token_id", d->unk);
    add_choice(w, "tokenizer.ggml.add_bos_token", d->add_bos);
    add_choice(w, "tokenizer.ggml.add_eos_token", d->add_eos);
    add_choice(w, "tokenizer.ggml.add_space_prefix", d->add_space);
    if (d->chat_template)
        tern__gguf_meta_string(w, "tokenizer.chat_template", d->chat_template, strlen(d->chat_template));
    return TERN_OK;
}
