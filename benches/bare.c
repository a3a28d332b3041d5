/*
 * The peers without statistics: the fewest steps that a random read takes, and nothing else.
 *
 *   bare pread PATH [key=value ...]      one pread after the other
 *   bare ring  PATH [key=value ...]      io_uring with registered ring, file and buffers, in batches
 *   bare aio   PATH [key=value ...]      libaio, in batches, completions taken from its ring where they are there
 *
 *   block=4096 bytes per I/O     size=0 bytes of the target that are used (0: all; must be a multiple)
 *   seconds=1                    cpu=-1 CPU to run on (-1: any)        direct=0 O_DIRECT
 *   depth=128 I/Os in flight     batch=32 I/Os per system call
 *   clock=0  pread: 1 reads the processor's counter of time after each I/O and sums up what it took, which is the
 *            least that a loop does which knows latencies
 *
 * Reads only. It prints one line of JSON. The time is watched by a timer, so that no I/O pays for a clock.
 * The ring loop does what the kernel developers' t/io_uring of fio does, in the same order.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/fs.h>
#include <linux/io_uring.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#ifndef IORING_SETUP_NO_SQARRAY
#define IORING_SETUP_NO_SQARRAY (1U << 16)
#endif
#define FAST (IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN)

struct options {
    const char *path;
    uint64_t size, block, seconds, depth, batch;
    int64_t cpu;
    int direct, clock;
};

static volatile sig_atomic_t time_is_up;
static double start_s;

static void on_timer(int number) {
    (void)number;
    time_is_up = 1;
}

static void fail(const char *what) {
    fprintf(stderr, "bare: %s: %s\n", what, strerror(errno));
    exit(1);
}

static double now_s(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* xorshift64*, reduced by a multiplication: no division (Lemire, https://arxiv.org/abs/1805.10941). */
static inline uint64_t next_offset(uint64_t *state, uint64_t blocks, uint64_t block) {
    uint64_t x = *state;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    *state = x;
    uint64_t drawn = x * 0x2545F4914F6CDD1DULL;
    return (uint64_t)(((unsigned __int128)drawn * blocks) >> 64) * block;
}

/* What the engine's own loop reads, too. */
static inline uint64_t ticks(void) {
#if defined(__x86_64__)
    return __rdtsc();
#elif defined(__aarch64__)
    uint64_t count;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(count));
    return count;
#else
    return (uint64_t)(now_s() * 1e9);
#endif
}

static int open_target(struct options *options) {
    int fd = open(options->path, O_RDONLY | O_CLOEXEC | (options->direct ? O_DIRECT : 0));
    struct stat facts;
    if (fd < 0 || fstat(fd, &facts) != 0) fail(options->path);
    uint64_t size = (uint64_t)facts.st_size;
    if (S_ISBLK(facts.st_mode) && ioctl(fd, BLKGETSIZE64, &size) != 0) fail(options->path);
    if (options->size == 0 || options->size > size) options->size = size;
    if (options->size < options->block) {
        errno = EINVAL;
        fail("the target is smaller than a block");
    }
    return fd;
}

static void *buffers(uint64_t bytes) {
    uint64_t huge = 2UL << 20;
    void *memory = aligned_alloc(huge, (bytes + huge - 1) / huge * huge);
    if (memory == NULL) fail("buffers");
    madvise(memory, bytes, MADV_HUGEPAGE);
    memset(memory, 0, bytes);
    return memory;
}

static void start_timer(uint64_t seconds) {
    struct sigaction action = {.sa_handler = on_timer};
    struct itimerval timer = {.it_value = {.tv_sec = (time_t)seconds}};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
    start_s = now_s();
}

static uint64_t run_pread(struct options *options, int fd) {
    char *buffer = buffers(options->block);
    uint64_t blocks = options->size / options->block, state = 88172645463325252ULL, ios = 0;
    volatile uint64_t taken_ticks = 0;
    start_timer(options->seconds);
    uint64_t before_ticks = ticks();
    while (!time_is_up) {
        uint64_t offset = next_offset(&state, blocks, options->block);
        ssize_t got = pread(fd, buffer, options->block, (off_t)offset);
        if (got < 0 && errno == EINTR) continue;
        if (got != (ssize_t)options->block) fail("pread");
        ios++;
        if (options->clock) {
            uint64_t now_ticks = ticks();
            taken_ticks += now_ticks - before_ticks;
            before_ticks = now_ticks;
        }
    }
    return ios;
}

struct ring {
    int fd, enter_fd;
    unsigned enter_flags;
    unsigned *sq_tail, *cq_head, *cq_tail;
    unsigned sq_mask, cq_mask;
    struct io_uring_sqe *sqes;
    struct io_uring_cqe *cqes;
};

static int setup(unsigned depth, struct io_uring_params *params) {
    const unsigned tries[] = {FAST | IORING_SETUP_NO_SQARRAY, FAST, IORING_SETUP_COOP_TASKRUN, 0};
    for (unsigned i = 0; i < sizeof tries / sizeof *tries; i++) {
        memset(params, 0, sizeof *params);
        params->flags = tries[i] | IORING_SETUP_CLAMP;
        int fd = (int)syscall(__NR_io_uring_setup, depth, params);
        if (fd >= 0 || errno != EINVAL) return fd;
    }
    return -1;
}

static void map_ring(struct ring *ring, const struct io_uring_params *params) {
    size_t sq_bytes = params->sq_off.array + params->sq_entries * sizeof(unsigned);
    size_t cq_bytes = params->cq_off.cqes + params->cq_entries * sizeof(struct io_uring_cqe);
    size_t bytes = sq_bytes > cq_bytes ? sq_bytes : cq_bytes;
    int protection = PROT_READ | PROT_WRITE, flags = MAP_SHARED | MAP_POPULATE;
    char *base = mmap(NULL, bytes, protection, flags, ring->fd, IORING_OFF_SQ_RING);
    ring->sqes = mmap(NULL, params->sq_entries * sizeof(struct io_uring_sqe), protection, flags,
                      ring->fd, IORING_OFF_SQES);
    if (base == MAP_FAILED || ring->sqes == MAP_FAILED) fail("mmap of the ring");
    ring->sq_tail = (unsigned *)(base + params->sq_off.tail);
    ring->sq_mask = *(unsigned *)(base + params->sq_off.ring_mask);
    ring->cq_head = (unsigned *)(base + params->cq_off.head);
    ring->cq_tail = (unsigned *)(base + params->cq_off.tail);
    ring->cq_mask = *(unsigned *)(base + params->cq_off.ring_mask);
    ring->cqes = (struct io_uring_cqe *)(base + params->cq_off.cqes);
    if (!(params->flags & IORING_SETUP_NO_SQARRAY)) {
        unsigned *array = (unsigned *)(base + params->sq_off.array);
        for (unsigned i = 0; i < params->sq_entries; i++) array[i] = i;
    }
}

static void register_all(struct ring *ring, int target, struct iovec *vectors, unsigned count) {
    if (syscall(__NR_io_uring_register, ring->fd, IORING_REGISTER_FILES, &target, 1) != 0)
        fail("registering the file");
    if (syscall(__NR_io_uring_register, ring->fd, IORING_REGISTER_BUFFERS, vectors, count) != 0)
        fail("registering the buffers (memlock limit?)");
    struct io_uring_rsrc_update update = {.offset = -1U, .data = (unsigned)ring->fd};
    ring->enter_fd = ring->fd;
    ring->enter_flags = IORING_ENTER_GETEVENTS;
    if (syscall(__NR_io_uring_register, ring->fd, IORING_REGISTER_RING_FDS, &update, 1) == 1) {
        ring->enter_fd = (int)update.offset;
        ring->enter_flags |= IORING_ENTER_REGISTERED_RING;
    }
}

static void make_ring(struct ring *ring, const struct options *options, int target, char *memory) {
    struct io_uring_params params;
    ring->fd = setup((unsigned)options->depth, &params);
    if (ring->fd < 0) fail("io_uring_setup");
    map_ring(ring, &params);
    struct iovec *vectors = calloc(options->depth, sizeof *vectors);
    if (vectors == NULL) fail("buffers");
    for (uint64_t i = 0; i < options->depth; i++)
        vectors[i] = (struct iovec){memory + i * options->block, options->block};
    register_all(ring, target, vectors, (unsigned)options->depth);
    free(vectors);
}

static uint64_t run_ring(struct options *options, int fd) {
    struct ring ring;
    char *memory = buffers(options->depth * options->block);
    make_ring(&ring, options, fd, memory);
    unsigned depth = (unsigned)options->depth, batch = (unsigned)options->batch;
    unsigned *slots = calloc(depth, sizeof *slots), spare = depth;
    if (slots == NULL) fail("slots");
    for (unsigned i = 0; i < depth; i++) slots[i] = i;
    uint64_t blocks = options->size / options->block, state = 88172645463325252ULL, ios = 0;
    unsigned tail = *ring.sq_tail, head = *ring.cq_head, queued = 0;
    start_timer(options->seconds);
    while (!time_is_up) {
        for (; spare > 0 && queued < batch; queued++, tail++) {
            unsigned slot = slots[--spare];
            struct io_uring_sqe *entry = &ring.sqes[tail & ring.sq_mask];
            *entry = (struct io_uring_sqe){
                .opcode = IORING_OP_READ_FIXED,
                .flags = IOSQE_FIXED_FILE,
                .off = next_offset(&state, blocks, options->block),
                .addr = (uint64_t)(memory + slot * options->block),
                .len = (unsigned)options->block,
                .user_data = slot,
                .buf_index = (uint16_t)slot,
            };
        }
        __atomic_store_n(ring.sq_tail, tail, __ATOMIC_RELEASE);
        unsigned want = spare > 0 ? 0 : (depth < batch ? depth : batch);
        long sent = syscall(__NR_io_uring_enter, ring.enter_fd, queued, want, ring.enter_flags, NULL, 0);
        if (sent < 0 && errno != EINTR) fail("io_uring_enter");
        if (sent > 0) queued -= (unsigned)sent;
        unsigned done = __atomic_load_n(ring.cq_tail, __ATOMIC_ACQUIRE);
        for (; head != done; head++, ios++) {
            const struct io_uring_cqe *entry = &ring.cqes[head & ring.cq_mask];
            if (entry->res != (int)options->block) {
                errno = entry->res < 0 ? -entry->res : EIO;
                fail("read");
            }
            slots[spare++] = (unsigned)entry->user_data;
        }
        __atomic_store_n(ring.cq_head, head, __ATOMIC_RELEASE);
    }
    return ios;
}

/* The head of what io_setup maps (fs/aio.c): completions lie there, and may be taken without a call. */
struct aio_ring {
    unsigned id, nr, head, tail, magic, compat, incompat, header_length;
    struct io_event events[];
};

static unsigned take_events(struct aio_ring *ring, struct io_event *events, unsigned most) {
    unsigned head = ring->head, tail = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE), got = 0;
    for (; head != tail && got < most; got++) {
        events[got] = ring->events[head];
        head = head + 1 == ring->nr ? 0 : head + 1;
    }
    __atomic_store_n(&ring->head, head, __ATOMIC_RELEASE);
    return got;
}

static uint64_t run_aio(struct options *options, int fd) {
    unsigned depth = (unsigned)options->depth, batch = (unsigned)options->batch, spare = depth, queued = 0;
    char *memory = buffers(options->depth * options->block);
    aio_context_t context = 0;
    if (syscall(__NR_io_setup, depth, &context) != 0) fail("io_setup");
    struct iocb *blocks_of = calloc(depth, sizeof *blocks_of), **queue = calloc(depth, sizeof *queue);
    struct io_event *events = calloc(depth, sizeof *events);
    unsigned *slots = calloc(depth, sizeof *slots);
    if (!blocks_of || !queue || !events || !slots) fail("slots");
    for (unsigned i = 0; i < depth; i++) {
        slots[i] = i;
        blocks_of[i] = (struct iocb){.aio_lio_opcode = IOCB_CMD_PREAD, .aio_fildes = (unsigned)fd, .aio_data = i,
                                     .aio_buf = (uint64_t)(memory + i * options->block), .aio_nbytes = options->block};
    }
    uint64_t blocks = options->size / options->block, state = 88172645463325252ULL, ios = 0;
    struct aio_ring *ring = (struct aio_ring *)context;
    start_timer(options->seconds);
    while (!time_is_up) {
        while (spare > 0 && queued < batch) {
            struct iocb *block = &blocks_of[slots[--spare]];
            block->aio_offset = (int64_t)next_offset(&state, blocks, options->block);
            queue[queued++] = block;
        }
        long sent = queued ? syscall(__NR_io_submit, context, queued, queue) : 0;
        if (sent < 0 && errno != EINTR && errno != EAGAIN) fail("io_submit");
        if (sent > 0) {
            queued -= (unsigned)sent;
            memmove(queue, queue + sent, queued * sizeof *queue);
        }
        long got = take_events(ring, events, depth);
        if (got == 0 && spare == 0) {
            got = syscall(__NR_io_getevents, context, 1, depth, events, NULL);
            if (got < 0 && errno != EINTR) fail("io_getevents");
        }
        for (long i = 0; i < got; i++, ios++) {
            if (events[i].res != (int64_t)options->block) {
                errno = events[i].res < 0 ? (int)-events[i].res : EIO;
                fail("read");
            }
            slots[spare++] = (unsigned)events[i].data;
        }
    }
    return ios;
}

static void read_option(struct options *options, const char *word) {
    const char *value = strchr(word, '=');
    size_t length = value ? (size_t)(value - word) : 0;
    int64_t number = value ? strtoll(value + 1, NULL, 10) : 0;
#define IS(name) (length == strlen(name) && strncmp(word, name, length) == 0)
    if (IS("size")) options->size = (uint64_t)number;
    else if (IS("block")) options->block = (uint64_t)number;
    else if (IS("seconds")) options->seconds = (uint64_t)number;
    else if (IS("depth")) options->depth = (uint64_t)number;
    else if (IS("batch")) options->batch = (uint64_t)number;
    else if (IS("cpu")) options->cpu = number;
    else if (IS("direct")) options->direct = number != 0;
    else if (IS("clock")) options->clock = number != 0;
    else {
        fprintf(stderr, "bare: unknown option '%s'\n", word);
        exit(3);
    }
#undef IS
}

int main(int count, char **words) {
    const char *loop = count > 2 ? words[1] : "";
    int ring = strcmp(loop, "ring") == 0, aio = strcmp(loop, "aio") == 0;
    if (!ring && !aio && strcmp(loop, "pread") != 0) {
        fprintf(stderr, "usage: bare pread|ring|aio PATH [key=value ...]\n");
        return 3;
    }
    struct options options = {words[2], 0, 4096, 1, 128, 32, -1, 0, 0};
    for (int i = 3; i < count; i++) read_option(&options, words[i]);
    if (options.cpu >= 0) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET((size_t)options.cpu, &set);
        if (sched_setaffinity(0, sizeof set, &set) != 0) fail("pinning");
    }
    int fd = open_target(&options);
    uint64_t ios = ring ? run_ring(&options, fd) : aio ? run_aio(&options, fd) : run_pread(&options, fd);
    double seconds = now_s() - start_s;
    printf("{\"ios\": %llu, \"seconds\": %.6f, \"iops\": %.1f}\n", (unsigned long long)ios, seconds,
           (double)ios / seconds);
    return 0;
}
