/* calibration.h - what devices were measured at (devices/costs.h), kept with the other results of tuning: one row for each point of a
 * curve, under op "device:NAME", the kind of work, and model and driver of the device; another driver's times mean nothing. */
#ifndef TERN_RUNTIME_CALIBRATION_H
#define TERN_RUNTIME_CALIBRATION_H

#include "devices/auto.h"
#include "runtime/tuning.h"

enum { TERN__DEVICE_IDENTITY = 320, TERN__CALIBRATION_CANDIDATE = 48 };

/* Model and driver. */
void tern__device_identity(const tern_device_info *info, char out[TERN__DEVICE_IDENTITY]);

/* "65536 bytes". */
void tern__calibration_candidate(tern__cost kind, double work, char out[TERN__CALIBRATION_CANDIDATE]);

/* What is known about a device here; false: not enough to predict with. */
bool tern__calibration_load(tern__tuning *tuning, const char *device, const tern_device_info *info,
                            tern__device_costs *out);
/* One point, to be written with the rest. Of a status other than TERN_OK: that kind of work cannot be done there. */
tern_status tern__calibration_keep(tern__tuning *tuning, const char *device, const tern_device_info *info,
                                   tern__cost kind, double work, uint64_t ns, uint64_t min_ns, int runs,
                                   tern_status status);

/* Every device but the CPU that is there and was measured, as many as fit. NULL: there is something to choose from; else why not. */
const char *tern__calibration_members(tern__tuning *tuning, tern__isa_cap cap, tern__device_costs *host,
                                      int *n, tern__auto_member out[TERN__AUTO_MOST]);

#endif
