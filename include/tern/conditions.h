/* conditions.h - is the machine hot, held back or on battery; and doing less then.
 *
 *     tern_governor *governor;
 *     TERN_TRY(tern_governor_create(ctx, session, NULL, &governor));
 *
 * From then on sensors are read before rows are fed to the session, once a second at most, and threads and batch are limited. Without
 * a session the program calls tern_governor_look between runs.
 *
 * Results do not depend on it: threads and batches change no bit of them.
 *
 * Threading: a governor belongs to the thread of its context; tern_conditions_read may be called by any. */
#ifndef TERN_CONDITIONS_H
#define TERN_CONDITIONS_H

#include <stdbool.h>
#include <stdint.h>

#include <tern/context.h>
#include <tern/export.h>
#include <tern/model.h>
#include <tern/status.h>

/* X(enumerator, number, name, meaning). */
#define TERN_STRAIN_LIST(X)                                 \
    X(NONE, 0, "none", "nothing stands against full speed") \
    X(MODERATE, 1, "moderate", "less would do no harm")     \
    X(SEVERE, 2, "severe", "as little as possible")

typedef enum tern_strain {
#define TERN_STRAIN_ENUM(id, number, name, meaning) TERN_STRAIN_##id = number,
    TERN_STRAIN_LIST(TERN_STRAIN_ENUM)
#undef TERN_STRAIN_ENUM
} tern_strain;

/* Who says so. X(enumerator, number, name, moderate, severe). */
#define TERN_SENSOR_LIST(X)                                                                                 \
    X(HEAT, 0, "heat",                                                                                      \
      "a zone of /sys/class/thermal is within 5 degrees of a trip point (of 90, if it has none)",           \
      "or within 5 of its critical one (of 100)")                                                           \
    X(THROTTLING, 1, "throttling", "processors were throttled since the last reading", "never")             \
    X(FREQUENCY, 2, "frequency", "the system holds a processor below nine tenths of its highest frequency", \
      "below half")                                                                                         \
    X(POWER, 3, "power", "a battery discharges", "with 20 % or less left")

typedef enum tern_sensor {
#define TERN_SENSOR_ENUM(id, number, name, moderate, severe) TERN_SENSOR_##id = number,
    TERN_SENSOR_LIST(TERN_SENSOR_ENUM)
#undef TERN_SENSOR_ENUM
        TERN_SENSORS
} tern_sensor;

typedef struct tern_sensor_reading {
    bool available;
    tern_strain strain; /* none, if it is not available */
    char text[200];     /* "x86_pkg_temp 71.0 of 100.0 degrees", or why it is not available */
} tern_sensor_reading;

typedef struct tern_conditions {
    tern_strain strain; /* the highest of the sensors */
    bool known;         /* any sensor is available */
    tern_sensor_reading sensors[TERN_SENSORS];
    uint64_t throttled; /* times that processors were, ever: what the next reading compares with */
} tern_conditions;

/* What may be used. */
typedef struct tern_allowance {
    int threads;
    int64_t batch; /* rows of a session computed at once; 0: there is no session */
} tern_allowance;

/* Lowers what *allowance says at first, which is all there is. */
typedef void (*tern_policy)(void *user, const tern_conditions *conditions, tern_allowance *allowance);
/* In the sensors' place. */
typedef tern_status (*tern_conditions_source)(void *user, const tern_conditions *previous,
                                              tern_conditions *out);

/* Zeroed fields are the defaults. */
typedef struct tern_governor_options {
    uint64_t every_ns;             /* between readings; 0 = a second */
    tern_conditions_source source; /* NULL = tern_conditions_read of "/" */
    tern_policy policy;            /* NULL = tern_policy_usual */
    void *user;                    /* of both */
} tern_governor_options;

typedef struct tern_governor tern_governor;

#ifdef __cplusplus
extern "C" {
#endif

/* "moderate"; "throttling"; "unknown" for numbers that are none. Static. */
TERN_API const char *tern_strain_name(tern_strain strain);
TERN_API const char *tern_sensor_name(tern_sensor sensor);

/* Looks at /sys/class/thermal, thermal_throttle and cpufreq of processors, and /sys/class/power_supply, under `root` (NULL: "/").
 * What is not there, or cannot be understood, is a sensor that is not available, with the reason. `previous` (or NULL) is an
 * earlier reading. */
TERN_API tern_status tern_conditions_read(const char *root, const tern_conditions *previous,
                                          tern_conditions *out);

/* Moderate strain: half of threads and batch; severe: a quarter; never less than one. */
TERN_API void tern_policy_usual(void *user, const tern_conditions *conditions, tern_allowance *allowance);

TERN_API tern_governor_options tern_governor_options_default(void);

/* Of a context, and a session in it (or NULL). `options` NULL = defaults. Free it before them: that lifts the limits.
 * TERN_STATE if the session has a governor, or somebody else's tern_session_set_before_batch. */
TERN_API tern_status tern_governor_create(tern_ctx *ctx, tern_session *session,
                                          const tern_governor_options *options, tern_governor **out);
TERN_API void tern_governor_free(tern_governor *governor); /* NULL is fine */
/* Reads the sensors if it is time, and sets limits. `now_ns`: of any clock that goes forward; 0 = the monotonic one. A source that
 * fails leaves the limits as they are. */
TERN_API tern_status tern_governor_look(tern_governor *governor, uint64_t now_ns);
/* What was read and allowed last; either may be NULL. */
TERN_API void tern_governor_get(const tern_governor *governor, tern_conditions *conditions,
                                tern_allowance *allowance);

#ifdef __cplusplus
}
#endif
#endif
