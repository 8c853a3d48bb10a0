/* bench_model.h - the inside of benchmarks of models: what can be told without running one, and the tests of a baseline again. */
#ifndef TERN_MEASURE_BENCH_MODEL_H
#define TERN_MEASURE_BENCH_MODEL_H

#include <tern/bench_model.h>
#include <tern/measure.h>
#include <tern/model.h>

/* Sets bytes_per_token and bytes_rule: what a token needs of the model, whose ternary weights are packed in `packed` bytes (0: not
 * known, 2 bits each). */
void tern__bench_model_bytes(const tern_model_info *model, uint64_t packed, tern_bench_model_row *row);

/* ---- model_results.c ---- */

/* Runs the tests of the baseline's rows of suite "model" again, each `repetitions` times, into `to`, as far as `wanted` asks for them (its
 * family, cpu, timeout_s and stop). The file is what the baseline's settings say. */
tern_status tern__model_measure_again(const tern_results *base, const tern_bench_options *wanted,
                                      int repetitions, tern_results *to);

#endif
