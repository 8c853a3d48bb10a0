/* mapping.c - see mapping.h. The handler may run in any thread at any moment, so it looks at atomics only and makes one system
 * call. */
#include "base/mapping.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/status.h"

enum { MOST_GUARDED = 256 };

static struct watched {
    _Atomic(uintptr_t) begin, end; /* 0, 0: free */
    _Atomic(bool) damaged;
} watched[MOST_GUARDED];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of taking places, and of what follows */
static bool installed;
static struct sigaction before;
static uintptr_t page_mask;

/* ---- the handler ---- */

/* A page of zeros in the place of the one that is gone. */
static bool mend(uintptr_t address)
{
    for (int i = 0; i < MOST_GUARDED; i++) {
        struct watched *w = &watched[i];
        if (address < atomic_load(&w->begin) || address >= atomic_load(&w->end))
            continue;
        void *page = (void *)(address & ~page_mask);
        if (mmap(page, page_mask + 1, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
            MAP_FAILED)
            return false;
        atomic_store(&w->damaged, true);
        return true;
    }
    return false;
}

static void on_fault(int number, siginfo_t *info, void *context)
{
    int kept = errno;
    if (mend((uintptr_t)info->si_addr)) {
        errno = kept;
        return;
    }
    if (before.sa_flags & SA_SIGINFO) {
        before.sa_sigaction(number, info, context);
    } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
        before.sa_handler(number);
    } else {
        /* The same access faults again, and that ends the process as it would have. */
        struct sigaction usual;
        memset(&usual, 0, sizeof usual);
        usual.sa_handler = SIG_DFL;
        sigaction(number, &usual, NULL);
    }
    errno = kept;
}

static tern_status install(void)
{
    struct sigaction ours;
    memset(&ours, 0, sizeof ours);
    ours.sa_sigaction = on_fault;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&ours.sa_mask);
    page_mask = tern__page_size() - 1;
    TERN__FAIL_IF(!installed && sigaction(SIGBUS, &ours, &before) != 0, TERN_UNAVAILABLE,
                  "mapped files cannot be guarded: %s", strerror(errno));
    installed = true;
    return TERN_OK;
}

/* ---- mappings ---- */

static tern_status watch(tern__mapping *m)
{
    pthread_mutex_lock(&lock);
    tern_status status = install();
    for (int i = 0; i < MOST_GUARDED && status == TERN_OK && !m->guard; i++)
        if (atomic_load(&watched[i].end) == 0) {
            atomic_store(&watched[i].damaged, false);
            atomic_store(&watched[i].begin, (uintptr_t)m->data);
            atomic_store(&watched[i].end, (uintptr_t)m->data + m->bytes);
            m->guard = i + 1;
        }
    pthread_mutex_unlock(&lock);
    TERN__FAIL_IF(status == TERN_OK && !m->guard, TERN_LIMIT, "more than %d mapped files are guarded",
                  MOST_GUARDED);
    return status;
}

tern_status tern__mapping_begin(const tern__file *file, bool guarded, tern__mapping *out)
{
    TERN__FAIL_IF(file->bytes == 0 || file->bytes > PTRDIFF_MAX, TERN_LIMIT,
                  "%s: %llu bytes cannot be mapped", file->path, (unsigned long long)file->bytes);
    if (file->memory) {
        *out = (tern__mapping){.data = file->memory, .bytes = (size_t)file->bytes, .lent = true};
        return TERN_OK;
    }
    void *data = mmap(NULL, (size_t)file->bytes, PROT_READ, MAP_PRIVATE, file->fd, 0);
    TERN__FAIL_IF(data == MAP_FAILED, TERN_IO, "%s: cannot be mapped: %s", file->path, strerror(errno));
    tern__mapping m = {.data = data, .bytes = (size_t)file->bytes};
    tern_status status = guarded ? watch(&m) : TERN_OK;
    if (status != TERN_OK) {
        tern__mapping_end(&m);
        return status;
    }
    *out = m;
    return TERN_OK;
}

void tern__mapping_end(tern__mapping *mapping)
{
    if (mapping->guard) {
        atomic_store(&watched[mapping->guard - 1].begin, 0);
        atomic_store(&watched[mapping->guard - 1].end, 0);
    }
    if (mapping->data && !mapping->lent)
        munmap((void *)(uintptr_t)mapping->data, mapping->bytes);
    *mapping = (tern__mapping){0};
}

bool tern__mapping_is_damaged(const tern__mapping *mapping)
{
    return mapping->guard && atomic_load(&watched[mapping->guard - 1].damaged);
}
