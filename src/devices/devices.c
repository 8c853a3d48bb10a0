/* devices.c - devices.def as data, and the loading of plugins. */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* dladdr */
#endif
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/status.h"
#include "devices/auto.h"
#include "devices/device.h"
#include "devices/trace_step.h"

#define TERN_DEVICE(name) extern const tern__device_ops tern__device_##name;
#define TERN_PLUGIN(name)
#include "devices/devices.def"
#undef TERN_DEVICE
#undef TERN_PLUGIN

/* ---- plugins ---- */

typedef struct plugin {
    const char *name;
    bool tried;
    char missing[900];           /* why it cannot be used */
    const tern__device_ops *ops; /* its own, once loaded */
} plugin;

enum {
#define TERN_DEVICE(name)
#define TERN_PLUGIN(name) PLUGIN_##name,
#include "devices/devices.def"
#undef TERN_DEVICE
#undef TERN_PLUGIN
    N_PLUGINS
};

static plugin plugins[N_PLUGINS + 1]; /* no array is empty */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define TERN_DEVICE(name)
#define TERN_PLUGIN(id)                                                                            \
    static void describe_##id(tern__isa_cap cap, tern_device_info *out)                            \
    {                                                                                              \
        (void)cap;                                                                                 \
        *out = (tern_device_info){                                                                 \
            .name = #id, .backend = "plugin", .unavailable = plugins[PLUGIN_##id].missing};        \
    }                                                                                              \
    static tern_status create_##id(const tern__device_options *options, tern__device **out)        \
    {                                                                                              \
        (void)options;                                                                             \
        (void)out;                                                                                 \
        return tern__fail(TERN_UNAVAILABLE, "device '" #id "': %s", plugins[PLUGIN_##id].missing); \
    }                                                                                              \
    static const tern__device_ops stub_##id = {.name = #id, .describe = describe_##id, .create = create_##id};
#include "devices/devices.def"
#undef TERN_DEVICE
#undef TERN_PLUGIN

static bool trace_on(void)
{
    return tern__trace_on();
}

static void trace_step(uint64_t start_ns, const tern__plan *plan, uint32_t step)
{
    const tern__trace_what what = tern__trace_of_step(plan, step);
    tern__trace_record(start_ns, &what);
}

static const tern__device_host host = {.ops = tern__ops,
                                       .fail = tern__fail,
                                       .log = tern__log,
                                       .arena_alloc = tern__arena_alloc,
                                       .trace_on = trace_on,
                                       .trace_step = trace_step};

#ifdef __APPLE__
#define LIBRARY_SUFFIX ".dylib"
#else
#define LIBRARY_SUFFIX ".so"
#endif

static void *open_at(const char *path, char *why, size_t size)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const char *error = handle ? NULL : dlerror();
    if (!handle)
        snprintf(why, size, "%.390s", error ? error : path);
    return handle;
}

/* "NAME: why the build left its plugin out"; the build's (cmake/mlx.cmake). */
#ifndef TERN_LEFT_OUT
#define TERN_LEFT_OUT ""
#endif

/* No plugin is beside the library, and the system found none either, as `error` says. */
static void explain_absence(plugin *p, const char *error)
{
    static const char left_out[] = TERN_LEFT_OUT;
    const size_t n = strlen(p->name);
    if (strncmp(left_out, p->name, n) == 0 && left_out[n] == ':')
        snprintf(p->missing, sizeof p->missing, "%s", left_out + n + 2);
    else
        snprintf(p->missing, sizeof p->missing,
                 "its plugin cannot be loaded: %s; scripts/install-deps.sh %s and another build make one",
                 error, p->name);
}

/* Beside this library or program, then wherever the system looks. */
static void *open_plugin(plugin *p)
{
    char path[4096], first[400] = "";
    Dl_info own;
    void *handle = NULL;
    const char *slash =
        dladdr((const void *)&host, &own) && own.dli_fname ? strrchr(own.dli_fname, '/') : NULL;
    if (slash) {
        snprintf(path, sizeof path, "%.*slibtern_%s" LIBRARY_SUFFIX, (int)(slash - own.dli_fname + 1),
                 own.dli_fname, p->name);
        handle = access(path, F_OK) == 0 ? open_at(path, first, sizeof first) : NULL;
    }
    if (!handle) {
        char second[400] = "";
        snprintf(path, sizeof path, "libtern_%s" LIBRARY_SUFFIX, p->name);
        handle = open_at(path, second, sizeof second);
        /* A plugin that is there and cannot be used says more than that the system knows of no other. */
        if (!handle && first[0])
            snprintf(p->missing, sizeof p->missing,
                     "its plugin cannot be loaded: %s; nor from where the system looks: %s", first, second);
        else if (!handle)
            explain_absence(p, second);
    }
    return handle;
}

/* It stays loaded: threads of it may outlive any use. */
static void load(plugin *p)
{
    void *handle = open_plugin(p);
    if (!handle)
        return;
    tern__device_plugin get = NULL;
    tern__device_plugin_abi get_abi = NULL;
    *(void **)&get = dlsym(handle, TERN__DEVICE_PLUGIN_SYMBOL);
    *(void **)&get_abi = dlsym(handle, TERN__DEVICE_PLUGIN_ABI_SYMBOL);
    const bool same = get && get_abi && strcmp(get_abi(), tern__device_abi) == 0;
    p->ops = same ? get(&host) : NULL;
    if (p->ops && strcmp(p->ops->name, p->name) == 0)
        return;
    p->ops = NULL;
    snprintf(p->missing, sizeof p->missing,
             "libtern_%s" LIBRARY_SUFFIX
             " was built from other sources than this library: build both together",
             p->name);
}

static const tern__device_ops *load_once(int i, const char *name, const tern__device_ops *stub)
{
    plugin *p = &plugins[i];
    pthread_mutex_lock(&lock);
    p->name = name;
    if (!p->tried)
        load(p);
    p->tried = true;
    const tern__device_ops *ops = p->ops ? p->ops : stub;
    pthread_mutex_unlock(&lock);
    return ops;
}

/* ---- the table ---- */

enum { MOST_ADDED = 8 };
static const tern__device_ops *added[MOST_ADDED];
static int n_added;

bool tern__device_add(const tern__device_ops *ops)
{
    pthread_mutex_lock(&lock);
    const bool fits = n_added < MOST_ADDED;
    if (fits)
        added[n_added++] = ops;
    pthread_mutex_unlock(&lock);
    return fits;
}

static const tern__device_ops *added_at(int i)
{
    pthread_mutex_lock(&lock);
    const tern__device_ops *ops = i < n_added ? added[i] : NULL;
    pthread_mutex_unlock(&lock);
    return ops;
}

const tern__device_ops *tern__device_at(int i)
{
    (void)load_once; /* without plugins nobody calls it */
#define TERN_DEVICE(name) \
    if (i-- == 0)         \
        return &tern__device_##name;
#define TERN_PLUGIN(name) \
    if (i-- == 0)         \
        return load_once(PLUGIN_##name, #name, &stub_##name);
#include "devices/devices.def"
#undef TERN_DEVICE
#undef TERN_PLUGIN
    return i < 0 ? NULL : added_at(i);
}

/* The name of row i, without loading anything; NULL past the last. */
static const char *name_at(int i)
{
    static const char *const names[] = {
#define TERN_DEVICE(name) #name,
#define TERN_PLUGIN(name) #name,
#include "devices/devices.def"
#undef TERN_DEVICE
#undef TERN_PLUGIN
    };
    const int n = (int)TERN__COUNT(names);
    const tern__device_ops *other = i < n ? NULL : added_at(i - n);
    return i < n ? names[i] : other ? other->name : NULL;
}

tern_status tern__device_find(const char *name, const tern__device_ops **out)
{
    char names[256] = "";
    for (int i = 0; name_at(i); i++) {
        if (strcmp(name_at(i), name) == 0) {
            *out = tern__device_at(i);
            return TERN_OK;
        }
        const size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", name_at(i));
    }
    return tern__fail(TERN_NOT_FOUND, "there is no device '%s': %s, " TERN__DEVICE_AUTO, name, names);
}
