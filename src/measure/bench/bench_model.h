/* bench_model.h - what of tern_bench_model can be told without running a model. */
#ifndef TERN_MEASURE_BENCH_MODEL_H
#define TERN_MEASURE_BENCH_MODEL_H

#include <tern/bench_model.h>
#include <tern/model.h>

/* Sets bytes_per_token and bytes_rule: what a token needs of the model, whose ternary weights are packed in `packed` bytes (0: not
 * known, 2 bits each). */
void tern__bench_model_bytes(const tern_model_info *model, uint64_t packed, tern_bench_model_row *row);

#endif
