/* devices.h - what tests of devices share: whether a device is there, and what the log says. */
#ifndef TERN_TESTS_DEVICES_H
#define TERN_TESTS_DEVICES_H

#include <stdio.h>

#include <tern/catalog.h>
#include <tern/log.h>

#include "devices/device.h"
#include "harness.h"

/* Why the device cannot be tested here, until the next call; NULL: it can. */
static inline const char *device_missing(const char *name)
{
    static char reason[1000];
    const tern__device_ops *ops = NULL;
    tern_device_info info = {0};
    if (tern__device_find(name, &ops) != TERN_OK)
        return "there is no such device";
    ops->describe((tern__isa_cap){.level = TERN__ISA_BASELINE}, &info);
    if (!info.unavailable)
        return NULL;
    snprintf(reason, sizeof reason, "device '%s' is unavailable: %s", name, info.unavailable);
    return reason;
}

/* Skips the test, with the reason on the screen, where the device is not. */
#define NEEDS_DEVICE(name)              \
    do {                                \
        if (device_missing(name))       \
            SKIP(device_missing(name)); \
    } while (0)

/* What the log said: `log_listen` is for tern_log_set, `user` a heard. */
typedef struct heard {
    int n;
    char last[256];
} heard;

static inline void log_listen(void *user, tern_log_level level, const char *message)
{
    heard *h = user;
    (void)level;
    h->n++;
    snprintf(h->last, sizeof h->last, "%s", message);
}

#endif
