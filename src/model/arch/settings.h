/* settings.h - what files say about models besides their shape. */
#ifndef TERN_MODEL_ARCH_SETTINGS_H
#define TERN_MODEL_ARCH_SETTINGS_H

#include "model/arch/hparams.h"

/* Does the file ask for anything that would change the answers and that the decoder does not do (positions that are scaled,
 * another activation, layers that stay floats)? TERN_UNSUPPORTED names the entry; what cannot be understood is refused, too. */
tern_status tern__settings_check(const tern_model_file *file, const tern__hparams *h);

#endif
