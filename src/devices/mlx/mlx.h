/* mlx.h - the border inside the plugin: plugin.c speaks C with the library, the .cpp files speak C++ with MLX. No exception
 * crosses it: each becomes a status and a sentence. Headers with C's atomics stay on the C side, so steps come over as calls on
 * plain host buffers. */
#ifndef TERN_DEVICES_MLX_MLX_H
#define TERN_DEVICES_MLX_MLX_H

#include "graph/op.h"
#include "graph/region.h"
#include "tensor/buffer.h"
#include "tensor/op_attrs.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tern__mlx_session tern__mlx_session; /* arrays that are not computed yet, on one MLX stream */

typedef struct tern__mlx_error {
    tern_status status;
    char text[400]; /* the cause, without the op's name */
} tern__mlx_error;

/* One step. */
typedef struct tern__mlx_step {
    tern__opcode op;
    int n_in, n_out;
    const tern__buffer *in, *out;
    const bool *kept; /* (n_out) must reach host memory; else only steps of the same partition read it */
    /* (n_out) NULL, or where memory of MLX's that holds the result, and nothing else, may be handed out by tern__mlx_finish instead of
     * being copied to `out` */
    struct tern__given *const *given;
    const tern__attr *attrs;
} tern__mlx_step;

typedef struct tern__mlx_facts {
    char version[32]; /* of the library that was loaded */
    char built[32];   /* of the headers */
    char device[128]; /* its name */
    bool usable;      /* the two fit together */
    bool gpu;         /* Metal; else MLX's CPU backend */
    bool in_place;    /* operands are read where they lie, without a copy */
    int64_t memory_bytes;
} tern__mlx_facts;

/* The host's table of ops, before anything else. */
void tern__mlx_begin(const tern__op *ops);

void tern__mlx_describe(tern__mlx_facts *out);

/* May MLX run the call? false: `why` has the reason. */
bool tern__mlx_lowers(const tern__call *call, char *why, size_t bytes);

/* `memory`: bytes that MLX may use beside operands, what it keeps for later included; 0: its own limits. MLX's are the process', and
 * become the sum of what all sessions may use (limits.h); what this one uses is looked at by itself. */
bool tern__mlx_open(size_t memory, tern__mlx_session **out, tern__mlx_error *error);
void tern__mlx_close(tern__mlx_session *session); /* NULL is fine */

/* Are fused regions compiled functions here? `said` ($TERN_MLX_COMPILE): 1 yes, -1 no; 0: where Metal compiles them, since MLX's CPU backend calls the
 * system's C++ compiler while the program runs. Tried out the first time: *why says what went wrong, "" if nothing was. */
bool tern__mlx_compiles(int said, const char **why);
/* The region is about to go: so does the function that was made of it. */
void tern__mlx_forget(tern__mlx_session *session, const tern__region *region);

/* Adds a step to what will be computed; data that it must look at (indices) are computed at once. */
bool tern__mlx_add(tern__mlx_session *session, const tern__mlx_step *step, tern__mlx_error *error);
/* Computes what was added and writes what is kept. Afterwards the session is empty, also after a failure. */
bool tern__mlx_finish(tern__mlx_session *session, tern__mlx_error *error);
/* The same of a run that ends before its last step: everything is written that may still be read, and no block is handed out. */
bool tern__mlx_keep(tern__mlx_session *session, tern__mlx_error *error);
void tern__mlx_discard(tern__mlx_session *session);
/* Computes what was added and goes on: nothing is written yet. */
bool tern__mlx_settle(tern__mlx_session *session, tern__mlx_error *error);

/* Lets go of freed memory that MLX keeps, all of it: under a lower limit MLX would let go of some only when it next needs more. The
 * bytes that went. */
size_t tern__mlx_trim(void);

/* ---- streams.cpp ---- */

typedef struct tern__mlx_stream tern__mlx_stream;
typedef struct tern__mlx_event tern__mlx_event; /* a stream by its number: it outlives the tern__mlx_stream */

/* Bytes from `at` on, of a block or (without one) of host memory. */
typedef struct tern__mlx_piece {
    void *block, *host;
    size_t at;
} tern__mlx_piece;

bool tern__mlx_block_make(tern__mlx_session *session, size_t bytes, void **out, tern__mlx_error *error);
void tern__mlx_block_end(void *block);
bool tern__mlx_block_map(tern__mlx_session *session, void *block, void **out, tern__mlx_error *error);
/* `stream` NULL: the session's, and the call waits. Copies to the host always wait. */
bool tern__mlx_copy(tern__mlx_session *session, tern__mlx_stream *stream, const tern__mlx_piece *to,
                    const tern__mlx_piece *from, size_t bytes, tern__mlx_error *error);
bool tern__mlx_stream_make(tern__mlx_stream **out, tern__mlx_error *error);
void tern__mlx_stream_end(tern__mlx_stream *stream); /* waits for it; NULL is fine */
bool tern__mlx_synchronise(tern__mlx_session *session, tern__mlx_error *error);
/* `stream` NULL: the session's. */
bool tern__mlx_event_make(tern__mlx_session *session, const tern__mlx_stream *stream, tern__mlx_event **out,
                          tern__mlx_error *error);
bool tern__mlx_event_wait(const tern__mlx_event *event, tern__mlx_error *error);
void tern__mlx_event_end(tern__mlx_event *event); /* NULL is fine */

/* Zeroed memory for the C side, which does not link the library's own. NULL: there is none. */
void *tern__mlx_alloc(size_t bytes);
void tern__mlx_free(void *memory);
uint64_t tern__mlx_now_ns(void);

#ifdef __cplusplus
}
#endif
#endif
