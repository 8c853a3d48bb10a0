/* compare_devices.h - `tern compare --devices`: operations, or a model, on several devices. */
#ifndef TERN_CLI_COMPARE_DEVICES_H
#define TERN_CLI_COMPARE_DEVICES_H

#include "args.h"

/* Returns an exit code; a failure was said. */
int compare_devices(const args *a);

#endif
