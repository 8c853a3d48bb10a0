/* session.h - sessions whose programs compute something else of the last hidden states than logits. */
#ifndef TERN_MODEL_SESSION_H
#define TERN_MODEL_SESSION_H

#include "model/model.h"

enum { TERN__MOST_OUTPUTS = TERN__CACHE_COUNT };

/* Records what is computed of `hidden`, f32 [wanted, width]: outputs[0..n-1], each with a row for every wanted row. Returns n, at
 * least 1 and at most TERN__MOST_OUTPUTS. */
typedef int (*tern__session_record)(const tern_model *m, tern_tensor *hidden, void *user,
                                    tern_tensor **outputs);
/* Called with what was recorded for the next `n` wanted rows; an output may have more rows, which are padding. */
typedef tern_status (*tern__session_take)(void *user, int n, tern_tensor *const *out);

/* `options` (NULL: the defaults) with every zero replaced by what it means for a model with these numbers. Fails where
 * tern_session_create does. */
tern_status tern__session_options_resolve(const tern__hparams *h, const tern_session_options *options,
                                          tern_session_options *out);

/* As tern_session_create and tern_session_feed, whose arguments were checked for NULL. `user` of `record` outlives the session. */
tern_status tern__session_create(tern_model *model, const tern_session_options *options,
                                 tern__session_record record, void *user, tern_session **out);
tern_status tern__session_feed(tern_session *session, int n, const tern_session_row *rows, int n_wanted,
                               const int *wanted, tern__session_take take, void *user);

#endif
