/* null_arguments.h - for tests/runtime/test_null_*.c, which call every public function with NULL for each
 * pointer in turn. tests/check_null_arguments.sh makes sure that no exported function is missing there.
 *
 *   REFUSED(call)        a status: TERN_INVALID_ARGUMENT, a sentence, outputs untouched
 *   TENSOR(call)         a tensor: an error tensor with that status and a message that names the operation,
 * or what is missing if that is the context of a function that is no operation RESULTS(n, call)     n tensors
 * in o.tensors: the same NEUTRAL(call, value) a value that means nothing, outputs untouched QUIET(call)
 * nothing happens: returns, outputs untouched ALLOWED(call)        NULL is a good argument: returns TERN_OK,
 * or nothing
 *
 * Outputs are fields of `o`, which is filled with a pattern. */
#ifndef TERN_TESTS_NULL_ARGUMENTS_H
#define TERN_TESTS_NULL_ARGUMENTS_H

#include <string.h>

#include <tern/tern.h>

#include "harness.h"

typedef union null_outputs {
    unsigned char bytes[1024];
    struct {
        void *block;
        char *text;
        const char *label;
        const char *constant_text;
        size_t size;
        double real;
        bool flag;
        int number;
        int64_t ints[TERN_MAX_RANK];
        tern_tensor *tensors[3];
        tern_ctx *ctx;
        tern_pool *pool;
        tern_graph *graph;
        tern_program *program;
        tern_exec *exec;
        tern_stream *stream;
        tern_governor *governor;
        tern_allowance allowance;
        tern_event *event;
        tern_optimiser *optimiser;
        tern_trainer *trainer;
        tern_train_result train_result;
        tern_train_shape train_shape;
        tern_corpus *corpus;
        tern_npz *npz;
        tern_model_file *model_file;
        tern_model *model;
        tern_session *session;
        tern_sequence *sequence;
        int32_t token;
        float real32;
        tern_stored stored;
        tern_cache *cache;
        tern_edit *edit;
        tern_dtype dtype;
        tern_level level;
        tern_port port;
        tern_node node;
        tern_value value;
        tern_goal goal;
        tern_precision precision;
        tern_profile *profile;
        tern_profile_by profile_by;
        tern_profile_format profile_format;
        tern_metrics *metrics;
        tern_metrics_span *metrics_span;
        tern_metrics_format metrics_format;
        tern_memory *memory;
        tern_memory_by memory_by;
        tern_memory_format memory_format;
        tern_tune_report *tune_report;
        tern_tokenizer *tokenizer;
        tern_detokenizer *detokenizer;
        int32_t *ids, id;
        struct DLManagedTensor *managed;
        struct DLManagedTensorVersioned *versioned;
    };
    /* one at a time, with the pattern behind it */
    tern_op_info op_info;
    tern_model_info model_info;
    tern_generate_result generate_result;
    tern_session_program session_program;
    tern_kernel_info kernel_info;
    tern_pass_info pass_info;
    tern_device_info device_info;
    tern_graph_info graph_info;
    tern_node_info node_info;
    tern_value_info value_info;
    tern_attr_info attr_info;
    tern_program_info program_info;
    tern_pass_report pass_report;
    tern_step_info step_info;
    tern_profile_info profile_info;
    tern_profile_row profile_row;
    tern_profile_frame profile_frame;
    tern_profile_thread profile_thread;
    tern_profile_span profile_span;
    tern_profile_counter profile_counter;
    tern_profile_limits profile_limits;
    tern_hot_spot hot_spot;
    tern_metric_info metric_info;
    tern_operation operation;
    tern_metric_value metric_value;
    tern_metric_point metric_point;
    tern_memory_info memory_info;
    tern_memory_system memory_system;
    tern_memory_bytes memory_bytes;
    tern_pressure_reading pressure;
    tern_memory_peak memory_peak;
    tern_memory_row memory_row;
    tern_memory_frame memory_frame;
    tern_memory_point memory_point;
    tern_memory_leak memory_leak;
    tern_memory_copy memory_copy;
    tern_memory_pool memory_pool;
    tern_memory_plan memory_plan;
    tern_memory_advice memory_advice;
    tern_operand_info operand_info;
    tern_ctx_stats ctx_stats;
    tern_device_error device_error;
    tern_conditions conditions;
    tern_pool_stats pool_stats;
    tern_pool_fragmentation fragmentation;
    tern_alloc_stats alloc_stats;
    tern_cache_stats cache_stats;
    tern_fusion_info fusion_info;
    tern_buffer_info buffer_info;
    tern_step_time step_time;
    tern_tune_row tune_row;
    tern_machine machine;
    tern_file_tensor file_tensor;
    tern_meta_info meta_info;
    tern_tokenizer_info tokenizer_info;
    tern_token_info token_info;
    tern_model_shape model_shape;
} null_outputs;

static null_outputs o;

static inline void null_outputs_fill(void)
{
    memset(&o, 0xA5, sizeof o);
}

static inline void null_outputs_check(const char *file, int line, const char *call)
{
    for (size_t i = 0; i < sizeof o; i++) {
        if (o.bytes[i] != 0xA5) {
            harness_fail(file, line, "%s: wrote to an output", call);
            return;
        }
    }
}

static inline void null_status_check(tern_status status, const char *file, int line, const char *call)
{
    null_outputs_check(file, line, call);
    if (status != TERN_INVALID_ARGUMENT)
        harness_fail(file, line, "%s: gave %s", call, tern_status_name(status));
    else if (strlen(tern_last_error()) < 10)
        harness_fail(file, line, "%s: said \"%s\"", call, tern_last_error());
}

/* `call` is "tern_add(x, NULL)": the message must start with "add: ". */
static inline void null_tensor_check(const tern_tensor *t, const char *file, int line, const char *call)
{
    size_t length = strcspn(call, "(") - strlen("tern_");
    if (t == NULL)
        harness_fail(file, line, "%s: gave NULL", call);
    else if (tern_status_of(t) != TERN_INVALID_ARGUMENT)
        harness_fail(file, line, "%s: gave %s (%s)", call, tern_status_name(tern_status_of(t)),
                     tern_message_of(t));
    else if ((strncmp(tern_message_of(t), call + strlen("tern_"), length) != 0 ||
              tern_message_of(t)[length] != ':') &&
             strncmp(tern_message_of(t), "the context, or", 15) != 0)
        harness_fail(file, line, "%s: says \"%s\"", call, tern_message_of(t));
}

#define REFUSED(call)                                         \
    do {                                                      \
        null_outputs_fill();                                  \
        null_status_check((call), __FILE__, __LINE__, #call); \
    } while (0)

#define TENSOR(call) null_tensor_check((call), __FILE__, __LINE__, #call)

#define RESULTS(n, call)                                                     \
    do {                                                                     \
        null_outputs_fill();                                                 \
        call;                                                                \
        for (int result = 0; result < (n); result++)                         \
            null_tensor_check(o.tensors[result], __FILE__, __LINE__, #call); \
    } while (0)

#define NEUTRAL(call, value)                                                  \
    do {                                                                      \
        null_outputs_fill();                                                  \
        if ((call) != (value))                                                \
            harness_fail(__FILE__, __LINE__, "%s: is not %s", #call, #value); \
        null_outputs_check(__FILE__, __LINE__, #call);                        \
    } while (0)

#define QUIET(call)                                    \
    do {                                               \
        null_outputs_fill();                           \
        call;                                          \
        null_outputs_check(__FILE__, __LINE__, #call); \
    } while (0)

#define ALLOWED(call)        \
    do {                     \
        null_outputs_fill(); \
        call;                \
    } while (0)

#endif
