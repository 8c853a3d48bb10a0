/* test_conditions.c - sensors of machines that are made of files, what is allowed then, and that results stay the same. */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* SCHED_BATCH */
#endif
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <sys/stat.h>

#include <tern/tern.h>

#include "base/priority.h"
#include "harness.h"
#include "runtime/context.h"
#include "tiny_model.h"

/* ---- machines ---- */

static char machine[1024]; /* the folder of the one that is being made */

static void make_machine(const char *name)
{
    CHECK(harness_path(machine, sizeof machine, name));
    CHECK(mkdir(machine, 0700) == 0);
}

/* A file below the machine's folder, with the folders on its way. */
static void put(const char *below, const char *text)
{
    char path[2048];
    snprintf(path, sizeof path, "%s/%s", machine, below);
    for (char *slash = strchr(path + strlen(machine) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        CHECK(mkdir(path, 0700) == 0 || errno == EEXIST);
        *slash = '/';
    }
    FILE *file = fopen(path, "w");
    CHECK(file != NULL);
    fprintf(file, "%s\n", text);
    fclose(file);
}

static const tern_sensor_reading *look(tern_conditions *c, const tern_conditions *previous,
                                       tern_sensor sensor)
{
    if (tern_conditions_read(machine, previous, c) != TERN_OK)
        harness_fail(__FILE__, __LINE__, "%s", tern_last_error());
    return &c->sensors[sensor];
}

TEST(a_machine_without_sensors_says_so)
{
    tern_conditions c;
    make_machine("bare");
    CHECK_OK(tern_conditions_read(machine, NULL, &c));
    CHECK(!c.known && c.strain == TERN_STRAIN_NONE);
    for (int i = 0; i < TERN_SENSORS; i++) {
        CHECK(!c.sensors[i].available && c.sensors[i].strain == TERN_STRAIN_NONE);
        CHECK(strstr(c.sensors[i].text, "/sys/") != NULL);
    }
    put("sys/class/thermal/cooling_device0/type", "fan");
    put("sys/class/power_supply/hid-mouse/type", "Battery");
    put("sys/class/power_supply/hid-mouse/scope", "Device");
    put("sys/class/power_supply/hid-mouse/status", "Discharging");
    put("sys/devices/system/cpu/cpu0/online", "1");
    CHECK_OK(tern_conditions_read(machine, NULL, &c));
    CHECK(!c.known);
    CHECK(strstr(c.sensors[TERN_SENSOR_HEAT].text, "no thermal zone") != NULL);
    CHECK(strstr(c.sensors[TERN_SENSOR_THROTTLING].text, "no processor counts") != NULL);
    CHECK(strstr(c.sensors[TERN_SENSOR_POWER].text, "neither a battery") != NULL);
}

TEST(heat)
{
    tern_conditions c;
    make_machine("hot");
    put("sys/class/thermal/thermal_zone0/type", "acpitz");
    put("sys/class/thermal/thermal_zone0/temp", "40000");
    put("sys/class/thermal/thermal_zone1/type", "x86_pkg_temp");
    put("sys/class/thermal/thermal_zone1/temp", "60000");
    put("sys/class/thermal/thermal_zone1/trip_point_0_type", "active"); /* a fan's: no strain */
    put("sys/class/thermal/thermal_zone1/trip_point_0_temp", "50000");
    put("sys/class/thermal/thermal_zone1/trip_point_1_type", "passive");
    put("sys/class/thermal/thermal_zone1/trip_point_1_temp", "80000");
    put("sys/class/thermal/thermal_zone1/trip_point_2_type", "critical");
    put("sys/class/thermal/thermal_zone1/trip_point_2_temp", "95000");
    const tern_sensor_reading *s = look(&c, NULL, TERN_SENSOR_HEAT);
    CHECK(s->available && s->strain == TERN_STRAIN_NONE && c.known);
    CHECK_STR(s->text, "x86_pkg_temp 60.0 of 80.0 degrees");
    put("sys/class/thermal/thermal_zone1/temp", "76000");
    CHECK_EQ(look(&c, NULL, TERN_SENSOR_HEAT)->strain, TERN_STRAIN_MODERATE);
    put("sys/class/thermal/thermal_zone1/temp", "91000");
    CHECK_EQ(look(&c, NULL, TERN_SENSOR_HEAT)->strain, TERN_STRAIN_SEVERE);
    CHECK_EQ(c.strain, TERN_STRAIN_SEVERE);
    put("sys/class/thermal/thermal_zone1/temp", "warm"); /* nonsense is no temperature */
    s = look(&c, NULL, TERN_SENSOR_HEAT);
    CHECK(s->strain == TERN_STRAIN_NONE);
    CHECK_STR(s->text, "acpitz 40.0 of 90.0 degrees");
}

TEST(throttling_and_frequency)
{
    tern_conditions first, second;
    make_machine("slow");
    put("sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "3");
    put("sys/devices/system/cpu/cpu1/thermal_throttle/package_throttle_count", "4");
    put("sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq", "1"); /* of no processor */
    const tern_sensor_reading *s = look(&first, NULL, TERN_SENSOR_THROTTLING);
    CHECK(s->available && s->strain == TERN_STRAIN_NONE && first.throttled == 7); /* some day */
    CHECK(!first.sensors[TERN_SENSOR_FREQUENCY].available);
    CHECK_EQ(look(&second, &first, TERN_SENSOR_THROTTLING)->strain, TERN_STRAIN_NONE);
    put("sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "5");
    CHECK_EQ(look(&second, &first, TERN_SENSOR_THROTTLING)->strain, TERN_STRAIN_MODERATE);
    put("sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "4000000");
    put("sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq", "4000000");
    put("sys/devices/system/cpu/cpu1/cpufreq/cpuinfo_max_freq", "4000000");
    put("sys/devices/system/cpu/cpu1/cpufreq/scaling_max_freq", "3000000");
    CHECK_EQ(look(&second, NULL, TERN_SENSOR_FREQUENCY)->strain, TERN_STRAIN_MODERATE);
    put("sys/devices/system/cpu/cpu1/cpufreq/scaling_max_freq", "1000000");
    CHECK_EQ(look(&second, NULL, TERN_SENSOR_FREQUENCY)->strain, TERN_STRAIN_SEVERE);
}

TEST(power)
{
    tern_conditions c;
    make_machine("laptop");
    put("sys/class/power_supply/AC/type", "Mains");
    put("sys/class/power_supply/AC/online", "1");
    const tern_sensor_reading *s = look(&c, NULL, TERN_SENSOR_POWER);
    CHECK(s->available && s->strain == TERN_STRAIN_NONE);
    CHECK_STR(s->text, "no battery");
    put("sys/class/power_supply/BAT0/type", "Battery");
    put("sys/class/power_supply/BAT0/status", "Charging");
    put("sys/class/power_supply/BAT0/capacity", "12");
    CHECK_EQ(look(&c, NULL, TERN_SENSOR_POWER)->strain, TERN_STRAIN_NONE);
    put("sys/class/power_supply/BAT0/status", "Discharging");
    CHECK_EQ(look(&c, NULL, TERN_SENSOR_POWER)->strain, TERN_STRAIN_SEVERE);
    put("sys/class/power_supply/BAT0/capacity", "80");
    CHECK_EQ(look(&c, NULL, TERN_SENSOR_POWER)->strain, TERN_STRAIN_MODERATE);
    CHECK_STR(c.sensors[TERN_SENSOR_POWER].text, "BAT0: Discharging, 80 % left");
}

/* ---- what is allowed ---- */

typedef struct weather {
    tern_strain strain;
    tern_status status;
    int reads;
} weather;

static tern_status tell(void *user, const tern_conditions *previous, tern_conditions *out)
{
    weather *w = user;
    (void)previous;
    w->reads++;
    if (w->status != TERN_OK)
        return w->status;
    *out = (tern_conditions){.strain = w->strain, .known = true};
    return TERN_OK;
}

TEST(the_usual_policy)
{
    const tern_conditions calm = {0}, warm = {.strain = TERN_STRAIN_MODERATE},
                          hot = {.strain = TERN_STRAIN_SEVERE};
    tern_allowance a = {.threads = 8, .batch = 512};
    tern_policy_usual(NULL, &calm, &a);
    CHECK(a.threads == 8 && a.batch == 512);
    tern_policy_usual(NULL, &warm, &a);
    CHECK(a.threads == 4 && a.batch == 256);
    tern_policy_usual(NULL, &hot, &a);
    CHECK(a.threads == 1 && a.batch == 64);
    a = (tern_allowance){.threads = 1};
    tern_policy_usual(NULL, &hot, &a);
    CHECK(a.threads == 1 && a.batch == 0);
}

/* A prompt is fed, and the logits behind it are given. */
static void feed(tern_session *session, float *logits)
{
    tern_sequence *sequence = NULL;
    int32_t ids[12];
    for (int i = 0; i < 12; i++)
        ids[i] = i * 3 % TINY_VOCABULARY;
    CHECK_OK(tern_sequence_create(session, 0, &sequence));
    CHECK_OK(tern_sequence_prompt(sequence, ids, 12, NULL, NULL));
    memcpy(logits, tern_sequence_logits(sequence), TINY_VOCABULARY * sizeof *logits);
    tern_sequence_free(sequence);
}

static void count_batch(void *user)
{
    ++*(int *)user;
}

TEST(a_governor_limits_threads_and_batch_and_no_result_changes)
{
    char path[1024];
    tern_ctx *ctx = NULL;
    tern_model *model = NULL;
    tern_session *session = NULL;
    tern_governor *governor = NULL;
    weather w = {.strain = TERN_STRAIN_NONE};
    float calm[TINY_VOCABULARY], strained[TINY_VOCABULARY];
    CHECK(harness_path(path, sizeof path, "tiny.gguf"));
    CHECK(tiny_model(path, "bitnet"));
    tern_ctx_options options = tern_ctx_options_default();
    options.threads = 4;
    options.tuning = "off";
    CHECK_OK(tern_ctx_create(&options, &ctx));
    CHECK_OK(tern_model_load(ctx, path, NULL, &model));
    tern_session_options of = tern_session_options_default();
    of.batch = 8;
    CHECK_OK(tern_session_create(model, &of, &session));
    feed(session, calm);

    const tern_governor_options told = {.every_ns = 100, .source = tell, .user = &w};
    tern_allowance a;
    CHECK_OK(tern_governor_create(ctx, session, &told, &governor));
    tern_governor *second = NULL; /* the place before batches is taken, and stays the first one's */
    CHECK_STATUS(tern_governor_create(ctx, session, &told, &second), TERN_STATE);
    CHECK(second == NULL);
    CHECK_STATUS(tern_session_set_before_batch(session, count_batch, &w), TERN_STATE);
    CHECK_STATUS(tern_session_set_before_batch(session, NULL, &w), TERN_STATE);
    CHECK_OK(tern_governor_look(governor, 1000));
    tern_governor_get(governor, NULL, &a);
    CHECK(w.reads == 1 && a.threads == 4 && a.batch == 8);
    w.strain = TERN_STRAIN_SEVERE;
    CHECK_OK(tern_governor_look(governor, 1099)); /* not yet */
    CHECK_EQ(w.reads, 1);
    CHECK_OK(tern_governor_look(governor, 1100));
    tern_governor_get(governor, NULL, &a);
    CHECK(w.reads == 2 && a.threads == 1 && a.batch == 2);
    feed(session, strained);
    CHECK(memcmp(calm, strained, sizeof calm) == 0);
    CHECK(w.reads > 2); /* the session had it look again */
    w.status = TERN_IO; /* sensors that fail change nothing */
    CHECK_STATUS(tern_governor_look(governor, 1200), TERN_IO);
    tern_governor_get(governor, NULL, &a);
    CHECK_EQ(a.threads, 1);
    w = (weather){.strain = TERN_STRAIN_MODERATE};
    CHECK_OK(tern_governor_look(governor, 1300));
    tern_governor_get(governor, NULL, &a);
    CHECK(a.threads == 2 && a.batch == 4);
    feed(session, strained);
    CHECK(memcmp(calm, strained, sizeof calm) == 0);
    tern_governor_free(governor);
    w.reads = 0;
    feed(session, strained);
    CHECK(w.reads == 0 && memcmp(calm, strained, sizeof calm) == 0);
    int batches = 0; /* the place is free again, and then the caller's */
    CHECK_OK(tern_session_set_before_batch(session, count_batch, &batches));
    CHECK_STATUS(tern_governor_create(ctx, session, &told, &second), TERN_STATE);
    feed(session, strained);
    CHECK(batches > 0 && w.reads == 0);
    CHECK_OK(tern_session_set_before_batch(session, NULL, &batches));
    tern_session_free(session);
    tern_model_free(model);
    tern_ctx_destroy(ctx);
}

/* Workers that a run used: those that recorded events of it. */
static void count_worker(void *user, const tern_trace_event *e)
{
    if (strcmp(e->category, "run") == 0)
        *(int *)user += 1;
}

static void count_workers(tern_ctx *ctx, tern_tensor *x, int *out)
{
    *out = 0;
    CHECK_OK(tern_trace_start(NULL));
    tern_tensor *y = tern_matmul(x, x, false, false);
    const tern_status status = tern_eval(y);
    CHECK_OK(tern_trace_stop(count_worker, out, NULL));
    CHECK_OK(status);
    CHECK_NEAR((double)tern_data_f32(y)[0], 256, 0);
    (void)ctx;
}

TEST(fewer_threads_than_planned)
{
    tern_ctx *ctx = NULL;
    int workers;
    tern_ctx_options options = tern_ctx_options_default();
    options.threads = 4;
    options.tuning = "off";
    CHECK_OK(tern_ctx_create(&options, &ctx));
    tern_tensor *x = tern_ones(ctx, TERN_F32, 2, (int64_t[]){256, 256});
    CHECK_OK(tern_eval(x));
    count_workers(ctx, x, &workers);
    CHECK(workers > 1);
    const int all = workers;
    for (int most = 1; most <= 5; most++) {
        tern_ctx_limit_threads(ctx, most);
        count_workers(ctx, x, &workers);
        CHECK_EQ(workers, most < all ? most : all);
    }
    tern_ctx_limit_threads(ctx, 0);
    count_workers(ctx, x, &workers);
    CHECK_EQ(workers, all);
    tern_ctx_destroy(ctx);
}

/* ---- background ---- */

#if defined(__linux__)

/* How many threads of this process are nice, and of the batch class. */
static int count_nice(void)
{
    DIR *dir = opendir("/proc/self/task");
    int n = 0;
    if (!dir)
        return -1;
    for (struct dirent *e; (e = readdir(dir));) {
        const int id = atoi(e->d_name);
        n += id > 0 && getpriority(PRIO_PROCESS, (id_t)id) >= TERN__BACKGROUND_NICE &&
             sched_getscheduler(id) == SCHED_BATCH;
    }
    closedir(dir);
    return n;
}

/* A thread that was joined stays in the list for a moment, and one that was started is in it before it has done anything: waits, as
 * long as it takes on a machine that works at all, until so many are nice. */
static bool nice_become(int n)
{
    for (int tries = 0; tries < 10000 && count_nice() != n; tries++)
        usleep(1000);
    return count_nice() == n;
}

/* A thread of its own: priorities stay low. */
static void *probe(void *out)
{
    *(tern_status *)out = tern_thread_background();
    return NULL;
}

TEST(threads_in_the_background)
{
    tern_ctx *ctx = NULL;
    tern_status status = TERN_OK;
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, probe, &status) == 0);
    pthread_join(thread, NULL);
    if (status != TERN_OK)
        SKIP("the system lets no thread lower its priority");
    tern_ctx_options options = tern_ctx_options_default();
    options.threads = 3;
    CHECK_OK(tern_ctx_create(&options, &ctx));
    if (count_nice() < 0)
        SKIP("/proc/self/task cannot be read");
    CHECK(nice_become(0));
    tern_ctx_destroy(ctx);
    options.background = true;
    CHECK_OK(tern_ctx_create(&options, &ctx));
    CHECK(nice_become(2)); /* all but the caller */
    tern_stream *stream = NULL;
    CHECK_OK(tern_stream_create(ctx, &stream));
    CHECK(nice_become(3));
    tern_stream_free(stream);
    CHECK(nice_become(2));
    tern_ctx_destroy(ctx);
}

#endif

/* ---- memory pressure ---- */
