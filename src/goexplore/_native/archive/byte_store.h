/* Many small byte strings in one buffer, as goexplore/archive/_byte_store.py lays them out. */
#ifndef GOEXPLORE_BYTE_STORE_H
#define GOEXPLORE_BYTE_STORE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { BYTE_STORE_UNIT = 16, BYTE_STORE_PREFIX = 4 };

typedef struct {
    uint8_t *data;
    size_t size;
} ByteStore;

/* How many units a string takes. */
static inline size_t byte_store_units(size_t length)
{
    return (length + BYTE_STORE_PREFIX + BYTE_STORE_UNIT - 1) / BYTE_STORE_UNIT;
}

/* Return the string behind a handle, or NULL where there is none. */
static inline const uint8_t *byte_store_get(const ByteStore *store, int32_t handle, size_t *length)
{
    const size_t start = (size_t)handle * BYTE_STORE_UNIT;
    if (handle < 0 || start + BYTE_STORE_PREFIX > store->size)
        return NULL;
    const uint8_t *prefix = store->data + start;
    *length = (size_t)prefix[0] | (size_t)prefix[1] << 8 | (size_t)prefix[2] << 16 | (size_t)prefix[3] << 24;
    return *length <= store->size - start - BYTE_STORE_PREFIX ? prefix + BYTE_STORE_PREFIX : NULL;
}

/* Write a string behind a handle, where there is room for it. */
static inline void byte_store_write(ByteStore *store, size_t handle, const uint8_t *string, size_t length)
{
    uint8_t *to = store->data + handle * BYTE_STORE_UNIT;
    for (unsigned byte = 0; byte < BYTE_STORE_PREFIX; byte++)
        to[byte] = (uint8_t)(length >> 8 * byte);
    memcpy(to + BYTE_STORE_PREFIX, string, length);
    memset(to + BYTE_STORE_PREFIX + length, 0,
           byte_store_units(length) * BYTE_STORE_UNIT - BYTE_STORE_PREFIX - length);
}

#endif
