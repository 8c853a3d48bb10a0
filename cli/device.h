/* device.h - options that say what computes, for the verbs that make contexts. */
#ifndef TERN_CLI_DEVICE_H
#define TERN_CLI_DEVICE_H

#include <tern/catalog.h>
#include <tern/context.h>

#include "args.h"

/* Rows of the option table. */
/* clang-format off */
#define DEVICE_OPTIONS \
    DEVICE_NAME_OPTIONS, \
    {"dump-kernels", 0, "FOLDER", NULL, "write the sources of kernels that are generated for the device to files"}, \
    {"check-device", 0, NULL, NULL, "have the CPU compute each step of the device too, and compare: slow"}, \
    {"device-memory", 0, "BYTES", NULL, "most memory of its own that the device may use and keep, such as 2G; more is an error (default: no limit)"}, \
    {"background", 0, NULL, NULL, "make way for other programs: lower priority"}
/* Those of them that every verb on a device has. */
#define DEVICE_NAME_OPTIONS \
    {"device", 0, "NAME", NULL, "compute on this device (default: the first of `tern devices`); auto: on what is predicted to be fastest, step by step"}, \
    {"fallback", 0, NULL, NULL, "let the CPU run what that device cannot, or what fails there, and say so"}
/* clang-format on */

/* The device that is called so; false: there is none. */
bool device_find(const char *name, tern_device_info *out);

/* Reads them, and --cpu and --threads, and makes the context. Returns an exit code; a failure was said. */
int device_open(const args *a, const tern_ctx_options *options, tern_ctx **out);

#endif
