/* checkpoint.c - all states of a trainer in one safetensors file.
 *
 * Behind the states lies one more tensor, "checksum", of everything before it and of the note: a file that was written whole but
 * changed since is found before the first state is touched. */
#include <stdio.h>
#include <string.h>

#include <tern/model_file.h>
#include <tern/train.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/status.h"
#include "model/convert/model_writer.h"
#include "train/trainer.h"

#define FORMAT "tern-checkpoint-1"
#define CHECKSUM "checksum"

enum { PIECE = 1 << 20 }; /* bytes that are read at once to be checked */

static uint64_t hash_of_note(const char *note)
{
    return tern__hash(note, strlen(note), 0);
}

/* ---- saving -------------------------------------------------------------------------------------------------------- */

static tern_status declare_all(tern__model_writer *w, const tern_trainer *t)
{
    for (int i = 0; i < tern_trainer_states(t); i++) {
        const char *name;
        const tern_tensor *state = tern_trainer_state(t, i, &name);
        TERN_TRY(tern__model_writer_declare(w, name, TERN_STORED_F32, tern_rank(state), tern_shape(state)));
    }
    return tern__model_writer_declare(w, CHECKSUM, TERN_STORED_U64, 0, NULL);
}

static uint64_t hash_more(const uint8_t *data, uint64_t bytes, uint64_t sum)
{
    for (uint64_t at = 0; at < bytes; at += PIECE)
        sum = tern__hash(data + at, bytes - at < PIECE ? (size_t)(bytes - at) : PIECE, sum);
    return sum;
}

static tern_status write_all(tern__model_writer *w, const tern_trainer *t, const char *note)
{
    tern__safetensors_meta(w, "format", FORMAT);
    tern__safetensors_meta(w, "note", note);
    TERN_TRY(declare_all(w, t));
    TERN_TRY(tern__model_writer_begin(w));
    uint64_t sum = hash_of_note(note);
    for (int i = 0; i < tern_trainer_states(t); i++) {
        tern_tensor *state = tern_trainer_state(t, i, NULL);
        const void *data = tern_data(state);
        if (!data)
            return tern_status_of(state) != TERN_OK ? tern_status_of(state) : TERN_OUT_OF_MEMORY;
        sum = hash_more(data, tern_nbytes(state), sum);
        TERN_TRY(tern__model_writer_write(w, data, tern_nbytes(state)));
    }
    TERN_TRY(tern__model_writer_write(w, &sum, sizeof sum));
    return tern__model_writer_commit(w);
}

tern_status tern_trainer_save(tern_trainer *t, const char *path, const char *note)
{
    TERN__FAIL_IF(!t || !path, TERN_INVALID_ARGUMENT,
                  "trainer_save: the trainer or the name of the file is missing");
    tern__model_work work = {0};
    tern__model_writer w;
    tern_status status = tern__safetensors_create(path, &work, &w);
    if (status == TERN_OK)
        status = write_all(&w, t, note ? note : "");
    tern__model_writer_abort(&w);
    return status;
}

/* ---- checking ------------------------------------------------------------------------------------------------------ */

/* f32[2,3] */
static const char *type_text(int rank, const int64_t *shape, char *buffer, size_t room)
{
    size_t at = (size_t)snprintf(buffer, room, "f32[");
    for (int i = 0; i < rank && at < room; i++)
        at += (size_t)snprintf(buffer + at, room - at, "%s%lld", i ? "," : "", (long long)shape[i]);
    if (at < room)
        snprintf(buffer + at, room - at, "]");
    return buffer;
}

static tern_status check_format(const tern_model_file *file, const char *path, const char **note)
{
    const char *format = NULL;
    TERN__FAIL_IF(tern_model_file_get_string(file, "metadata.format", &format) != TERN_OK ||
                      strcmp(format, FORMAT) != 0 ||
                      tern_model_file_get_string(file, "metadata.note", note) != TERN_OK,
                  TERN_FORMAT, "%s: not a checkpoint of training", path);
    return TERN_OK;
}

/* The state `name` is in the file, as it should be. */
static tern_status check_state(const tern_model_file *file, const char *path, const char *name,
                               const tern_tensor *state, int *out)
{
    tern_file_tensor tensor;
    TERN__FAIL_IF(tern_model_file_find(file, name, out) != TERN_OK, TERN_SHAPE,
                  "%s: it has no '%s', which this model has: it is of another one", path, name);
    TERN_TRY(tern_model_file_tensor(file, *out, &tensor));
    char is[128], should[128];
    const size_t bytes = (size_t)tern_rank(state) * sizeof(int64_t);
    TERN__FAIL_IF(tensor.stored != TERN_STORED_F32 || tensor.rank != tern_rank(state) ||
                      (bytes > 0 && memcmp(tensor.shape, tern_shape(state), bytes) != 0),
                  TERN_SHAPE, "%s: '%s' is %s, but in this model it is %s: it is of another one", path, name,
                  tensor.stored != TERN_STORED_F32 ? tern_stored_get(tensor.stored)->name
                                                   : type_text(tensor.rank, tensor.shape, is, sizeof is),
                  type_text(tern_rank(state), tern_shape(state), should, sizeof should));
    return TERN_OK;
}

/* Where each state is in the file: places[states]. */
static tern_status check_states(const tern_model_file *file, const char *path, const tern_trainer *t,
                                int *places)
{
    const int n = tern_trainer_states(t);
    for (int i = 0; i < n; i++) {
        const char *name;
        const tern_tensor *state = tern_trainer_state(t, i, &name);
        TERN_TRY(check_state(file, path, name, state, &places[i]));
    }
    /* what the model has is there: one tensor more is the checksum, and any other is one too many */
    for (int k = 0; tern_model_file_count(file) > n + 1 && k < tern_model_file_count(file); k++) {
        tern_file_tensor tensor;
        bool known = false;
        TERN_TRY(tern_model_file_tensor(file, k, &tensor));
        for (int i = 0; i < n && !known; i++)
            known = places[i] == k;
        TERN__FAIL_IF(!known && strcmp(tensor.stored_name, CHECKSUM) != 0, TERN_SHAPE,
                      "%s: it has '%s', which this model has not: it is of another one", path,
                      tensor.stored_name);
    }
    return TERN_OK;
}

/* Adds tensor i, as the file has it. */
static tern_status hash_tensor(const tern_model_file *file, int i, uint8_t *buffer, uint64_t *sum)
{
    tern_file_tensor tensor;
    TERN_TRY(tern_model_file_tensor(file, i, &tensor));
    for (uint64_t at = 0; at < tensor.bytes; at += PIECE) {
        const size_t bytes = tensor.bytes - at < PIECE ? (size_t)(tensor.bytes - at) : PIECE;
        TERN_TRY(tern_model_file_read(file, i, at, buffer, bytes));
        *sum = tern__hash(buffer, bytes, *sum);
    }
    return TERN_OK;
}

static tern_status check_sum(const tern_model_file *file, const char *path, const char *note, int n,
                             const int *places)
{
    int at;
    uint64_t sum = hash_of_note(note), told;
    tern_file_tensor tensor = {0};
    TERN__FAIL_IF(tern_model_file_find(file, CHECKSUM, &at) != TERN_OK ||
                      tern_model_file_tensor(file, at, &tensor) != TERN_OK || tensor.bytes != sizeof told,
                  TERN_FORMAT, "%s: it has no checksum", path);
    TERN_TRY(tern_model_file_read(file, at, 0, &told, sizeof told));
    uint8_t *buffer = tern__alloc(PIECE);
    if (!buffer)
        return tern__out_of_memory(PIECE);
    tern_status status = TERN_OK;
    for (int i = 0; i < n && status == TERN_OK; i++)
        status = hash_tensor(file, places[i], buffer, &sum);
    tern__free(buffer);
    TERN_TRY(status);
    TERN__FAIL_IF(sum != told, TERN_FORMAT, "%s: it was damaged: its bytes do not give its checksum", path);
    return TERN_OK;
}

/* ---- loading ------------------------------------------------------------------------------------------------------- */

static tern_status read_states(const tern_model_file *file, tern_trainer *t, const int *places)
{
    for (int i = 0; i < tern_trainer_states(t); i++) {
        tern_tensor *state = tern_trainer_state(t, i, NULL);
        void *data;
        int64_t strides[TERN_MAX_RANK];
        TERN_TRY(tern_map(state, &data, strides));
        TERN_TRY(tern_model_file_read(file, places[i], 0, data, tern_nbytes(state)));
    }
    return tern__trainer_clear_sums(t);
}

static tern_status copy_note(const char *note, char **out)
{
    char *copy = tern__strdup(note);
    if (!copy)
        return tern__out_of_memory(strlen(note) + 1);
    *out = copy;
    return TERN_OK;
}

static tern_status load(const tern_model_file *file, const char *path, tern_trainer *t, char **note)
{
    const char *text;
    char *copy = NULL;
    TERN_TRY(check_format(file, path, &text));
    const int n = tern_trainer_states(t);
    int *places = tern__alloc_zero((size_t)n, sizeof *places);
    if (!places)
        return tern__out_of_memory((size_t)n * sizeof *places);
    tern_status status = check_states(file, path, t, places);
    if (status == TERN_OK)
        status = check_sum(file, path, text, n, places);
    if (status == TERN_OK && note)
        status = copy_note(text, &copy);
    if (status == TERN_OK)
        status = read_states(file, t, places);
    tern__free(places);
    if (status == TERN_OK && note)
        *note = copy;
    else
        tern__free(copy);
    return status;
}

tern_status tern_trainer_load(tern_trainer *t, const char *path, char **note)
{
    TERN__FAIL_IF(!t || !path, TERN_INVALID_ARGUMENT,
                  "trainer_load: the trainer or the name of the file is missing");
    tern_model_file *file;
    TERN_TRY(tern_model_file_open(path, NULL, &file));
    const tern_status status = load(file, path, t, note);
    tern_model_file_close(file);
    return status;
}

tern_status tern_checkpoint_note(const char *path, char **note)
{
    TERN__FAIL_IF(!path || !note, TERN_INVALID_ARGUMENT,
                  "checkpoint_note: the name of the file or the place for the note is missing");
    tern_model_file *file;
    const char *text;
    TERN_TRY(tern_model_file_open(path, NULL, &file));
    tern_status status = check_format(file, path, &text);
    if (status == TERN_OK)
        status = copy_note(text, note);
    tern_model_file_close(file);
    return status;
}
