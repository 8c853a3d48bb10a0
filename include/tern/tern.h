/* tern.h - the whole public API of libtern. Each header can also be included alone.
 *
 * What is promised: until 1.0 a minor version may change anything, and has a shared library name of its own. From 1.0 on a minor
 * version adds: functions, enumerators, and fields at the end of structs, with a new library name where a struct
 * that callers allocate has grown. Start options from their ..._default() function, and sources stay valid when fields are
 * added.
 *
 * Zeros in options: each of these structs says above itself "Zeroed fields are the defaults", and then {0} does what the default
 * does; or "Start from" its default, and then a zeroed one is refused with a message. */
#ifndef TERN_TERN_H
#define TERN_TERN_H

#include <tern/alloc.h>
#include <tern/baseline.h>
#include <tern/batch.h>
#include <tern/bench_model.h>
#include <tern/cache.h>
#include <tern/catalog.h>
#include <tern/chart.h>
#include <tern/compare.h>
#include <tern/compare_devices.h>
#include <tern/conditions.h>
#include <tern/context.h>
#include <tern/corpus.h>
#include <tern/dlpack.h>
#include <tern/dtype.h>
#include <tern/edit.h>
#include <tern/export.h>
#include <tern/generate.h>
#include <tern/grad.h>
#include <tern/graph.h>
#include <tern/io.h>
#include <tern/log.h>
#include <tern/measure.h>
#include <tern/memory.h>
#include <tern/metrics.h>
#include <tern/model_convert.h>
#include <tern/model.h>
#include <tern/model_file.h>
#include <tern/ops.h>
#include <tern/optimiser.h>
#include <tern/pass.h>
#include <tern/pool.h>
#include <tern/pressure.h>
#include <tern/profile.h>
#include <tern/program.h>
#include <tern/regress.h>
#include <tern/report.h>
#include <tern/results.h>
#include <tern/status.h>
#include <tern/stream.h>
#include <tern/tensor.h>
#include <tern/tokenizer.h>
#include <tern/trace.h>
#include <tern/train.h>
#include <tern/train_config.h>
#include <tern/tune.h>
#include <tern/units.h>

#endif
