/* pool.h - what the library itself asks of a pool beyond <tern/pool.h>. */
#ifndef TERN_TENSOR_POOL_H
#define TERN_TENSOR_POOL_H

#include <tern/pool.h>

/* Keeps the pool until one more tern_pool_destroy: a storage may outlive the context whose pool it came from. */
void tern__pool_retain(tern_pool *pool);

#endif
