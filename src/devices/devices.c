/* devices.c - devices.def as data. */
#include "base/status.h"
#include "devices/device.h"

#define TERN_DEVICE(name) extern const tern__device_ops tern__device_##name;
#include "devices/devices.def"
#undef TERN_DEVICE

const tern__device_ops *const tern__devices[] = {
#define TERN_DEVICE(name) &tern__device_##name,
#include "devices/devices.def"
#undef TERN_DEVICE
};
const int tern__n_devices = (int)TERN__COUNT(tern__devices);
