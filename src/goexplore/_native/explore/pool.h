/* Threads that explore without the interpreter: they share a counter of tasks, and each writes records of its own.
 *
 * A task is the number of an entry, so nothing has to be made ready for it: the threads read cells and snapshots where
 * the archive has them. Nothing of the archive may change while a batch runs.
 */
#ifndef GOEXPLORE_POOL_H
#define GOEXPLORE_POOL_H

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "../archive/byte_store.h"
#include "kernel.h"
#include "record.h"

typedef struct {
    uint32_t worker;
    uint32_t size;
    size_t offset;
} RecordPlace;

typedef struct {
    /* Tasks */
    const int32_t *entries;
    size_t count;
    uint64_t stream; /* of seed and batch; with the order of a task it is the task's */
    /* The archive */
    const int32_t *cells, *snapshots; /* handles */
    ByteStore bytes;
    ScoreIndex score_index;
    const uint8_t *room_numbers; /* by what is read from memory, or NULL */
    /* What has come of it */
    RecordPlace *places;
    atomic_size_t next;
    atomic_ullong played;
    atomic_int outcome;
    atomic_bool stopped;
} Batch;

typedef struct Pool Pool;

typedef struct {
    pthread_t thread;
    Pool *pool;
    Explorer *explorer;
    uint8_t *records;
    size_t size, room;
    uint64_t nanoseconds; /* of processor time, exploring */
} Worker;

struct Pool {
    pthread_mutex_t lock;
    pthread_cond_t wake, done;
    Worker *workers;
    size_t worker_count, running, wanted;
    uint64_t batches;
    bool closing;
    Batch batch;
};

/* The clock that waiting goes by: one that nobody sets, where condition variables can use it. */
#ifdef __APPLE__
#define POOL_CLOCK CLOCK_REALTIME
#else
#define POOL_CLOCK CLOCK_MONOTONIC
#endif

static void pool_init(Pool *pool)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
#ifndef __APPLE__
    pthread_condattr_setclock(&attributes, POOL_CLOCK);
#endif
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->wake, NULL);
    pthread_cond_init(&pool->done, &attributes);
    pthread_condattr_destroy(&attributes);
}

/* The stream of a sequence of numbers, one number further (goexplore/random.py: stream_state). */
static inline uint64_t stream_of(uint64_t stream, uint64_t number)
{
    stream += number;
    return draw_word(&stream);
}

static inline uint64_t thread_nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint8_t *worker_reserve(Worker *worker, size_t size)
{
    if (worker->room - worker->size < size) {
        const size_t room = 2 * worker->room + size;
        uint8_t *larger = realloc(worker->records, room);
        if (larger == NULL)
            return NULL;
        worker->records = larger;
        worker->room = room;
    }
    return worker->records + worker->size;
}

/* What stopped the machine, counted from 1, or 0. */
static inline uint16_t fault_number(const Machine *machine)
{
    return machine->fault ? (uint16_t)(lowest_bit(machine->fault) + 1) : 0;
}

/* Append what the explorer has found; return its size, or 0 where memory is short. */
static size_t worker_record(Worker *worker, uint32_t order, const uint8_t *room_numbers)
{
    const Explorer *explorer = worker->explorer;
    const size_t visits = explorer->visited.size, candidates = explorer->candidate_count;
    size_t size = sizeof(RecordHead) + visits * sizeof(RecordVisit) + candidates * sizeof(RecordCandidate) +
                  explorer->taken_count + explorer->sample_size;
    for (size_t at = 0; at < visits; at++) {
        const Visit *visit = &explorer->visits[at];
        if (visit->number == UNKNOWN || visit->candidate != NO_CANDIDATE)
            size += explorer->key_sizes[at];
    }
    for (size_t at = 0; at < candidates; at++)
        size += explorer->candidates[at].snapshot_size;
    const size_t padded = record_padded(size);
    uint8_t *to = padded <= UINT32_MAX ? worker_reserve(worker, padded) : NULL;
    if (to == NULL)
        return 0;
    const RecordHead head = {(uint32_t)padded,
                             RECORD_VERSION,
                             fault_number(&explorer->machine),
                             order,
                             (uint32_t)explorer->played,
                             (uint32_t)explorer->taken_count,
                             (uint32_t)visits,
                             (uint32_t)candidates,
                             (uint32_t)explorer->sample_size};
    memcpy(to, &head, sizeof head);
    to += sizeof head;
    for (size_t at = 0; at < visits; at++) {
        const Visit *visit = &explorer->visits[at];
        const bool has_key = visit->number == UNKNOWN || visit->candidate != NO_CANDIDATE;
        const Digest cell = explorer->visited.cells[at];
        const RecordVisit each = {cell.low, cell.high, visit->number, has_key ? explorer->key_sizes[at] : 0};
        memcpy(to, &each, sizeof each);
        to += sizeof each;
    }
    for (size_t at = 0; at < candidates; at++) {
        const Candidate *candidate = &explorer->candidates[at];
        const int16_t room = room_numbers != NULL ? room_numbers[candidate->room & 0xff] : candidate->room;
        const RecordCandidate each = {candidate->score_length.score,
                                      candidate->score_length.length,
                                      (uint32_t)candidate->offset,
                                      (uint32_t)candidate->visit,
                                      candidate->snapshot_size,
                                      candidate->level,
                                      room,
                                      0};
        memcpy(to, &each, sizeof each);
        to += sizeof each;
    }
    memcpy(to, explorer->taken, explorer->taken_count);
    to += explorer->taken_count;
    for (size_t at = 0; at < visits; at++) {
        const Visit *visit = &explorer->visits[at];
        if (visit->number == UNKNOWN || visit->candidate != NO_CANDIDATE) {
            memcpy(to, explorer->keys + at * explorer->max_key, explorer->key_sizes[at]);
            to += explorer->key_sizes[at];
        }
    }
    for (size_t at = 0; at < candidates; at++) {
        memcpy(to, explorer->snapshots + at * explorer->max_snapshot, explorer->candidates[at].snapshot_size);
        to += explorer->candidates[at].snapshot_size;
    }
    memcpy(to, explorer->sample, explorer->sample_size);
    memset(to + explorer->sample_size, 0, padded - size);
    worker->size += padded;
    return padded;
}

/* Run one task of a batch. */
static Outcome worker_explore(Worker *worker, Batch *batch, size_t index)
{
    const int32_t entry = batch->entries[index];
    const uint64_t order = (uint64_t)index + 1;
    Task task = {.order = (int64_t)order,
                 .stream = stream_of(batch->stream, order),
                 .number = entry,
                 .score_length = {batch->score_index.scores[entry], batch->score_index.lengths[entry]}};
    task.cell = byte_store_get(&batch->bytes, batch->cells[entry], &task.cell_size);
    task.snapshot = byte_store_get(&batch->bytes, batch->snapshots[entry], &task.snapshot_size);
    if (task.cell == NULL || task.snapshot == NULL)
        return BAD_SNAPSHOT;
    uint64_t sample = stream_of(stream_of(0, task.stream), 0); /* Task.sampled in _kernel.py */
    task.sampled = 1 + draw_below(&sample, worker->explorer->limit);
    const Outcome outcome = explore(worker->explorer, &task, &batch->score_index);
    if (outcome != EXPLORED)
        return outcome;
    const size_t offset = worker->size, size = worker_record(worker, (uint32_t)order, batch->room_numbers);
    if (size == 0)
        return OUT_OF_MEMORY;
    batch->places[index] = (RecordPlace){(uint32_t)(worker - worker->pool->workers), (uint32_t)size, offset};
    atomic_fetch_add_explicit(&batch->played, worker->explorer->played, memory_order_relaxed);
    return EXPLORED;
}

static void worker_run_batch(Worker *worker, Batch *batch)
{
    const uint64_t began = thread_nanoseconds();
    worker->size = 0;
    worker->explorer->last_order = INT64_MAX; /* what it has sent was for another batch */
    while (!atomic_load_explicit(&batch->stopped, memory_order_relaxed)) {
        const size_t index = atomic_fetch_add_explicit(&batch->next, 1, memory_order_relaxed);
        if (index >= batch->count)
            break;
        const Outcome outcome = worker_explore(worker, batch, index);
        if (outcome != EXPLORED) {
            atomic_store(&batch->outcome, (int)outcome);
            atomic_store(&batch->stopped, true);
        }
    }
    worker->nanoseconds += thread_nanoseconds() - began;
}

static void *worker_main(void *argument)
{
    Worker *worker = argument;
    Pool *pool = worker->pool;
    const size_t number = (size_t)(worker - pool->workers);
    uint64_t seen = 0;
    pthread_mutex_lock(&pool->lock);
    while (true) {
        while (pool->batches == seen && !pool->closing)
            pthread_cond_wait(&pool->wake, &pool->lock);
        if (pool->closing)
            break;
        seen = pool->batches;
        if (number >= pool->wanted)
            continue; /* there are fewer tasks than threads */
        pthread_mutex_unlock(&pool->lock);
        worker_run_batch(worker, &pool->batch);
        pthread_mutex_lock(&pool->lock);
        if (--pool->running == 0)
            pthread_cond_broadcast(&pool->done);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

/* Wake the threads for the batch that is in the pool. */
static void pool_begin(Pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->wanted = pool->running = pool->batch.count < pool->worker_count ? pool->batch.count : pool->worker_count;
    pool->batches++;
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
}

/* Wait until the batch is done, or for some time; return whether it is done. */
static bool pool_wait(Pool *pool, double seconds)
{
    struct timespec until;
    clock_gettime(POOL_CLOCK, &until);
    const double nanoseconds = (double)until.tv_nsec + seconds * 1e9;
    until.tv_sec += (time_t)(nanoseconds / 1e9);
    until.tv_nsec = (long)(nanoseconds - 1e9 * (double)(time_t)(nanoseconds / 1e9));
    pthread_mutex_lock(&pool->lock);
    int late = 0;
    while (pool->running > 0 && late == 0)
        late = pthread_cond_timedwait(&pool->done, &pool->lock, &until);
    const bool done = pool->running == 0;
    pthread_mutex_unlock(&pool->lock);
    return done;
}

/* Let each thread end the exploration that it is running, which takes milliseconds, and no other. */
static void pool_stop(Pool *pool)
{
    atomic_store(&pool->batch.stopped, true);
    pthread_mutex_lock(&pool->lock);
    while (pool->running > 0)
        pthread_cond_wait(&pool->done, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}

/* End the threads; a process that was forked has none of them. */
static void pool_end(Pool *pool, bool are_mine)
{
    if (are_mine) {
        pool_stop(pool);
        pthread_mutex_lock(&pool->lock);
        pool->closing = true;
        pthread_cond_broadcast(&pool->wake);
        pthread_mutex_unlock(&pool->lock);
        for (size_t at = 0; at < pool->worker_count; at++)
            pthread_join(pool->workers[at].thread, NULL);
    }
    for (size_t at = 0; at < pool->worker_count; at++)
        free(pool->workers[at].records);
    free(pool->workers);
    free(pool->batch.places);
    pool->workers = NULL;
    pool->batch.places = NULL;
    pool->worker_count = 0;
}

#endif
