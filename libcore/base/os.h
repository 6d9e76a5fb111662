/* base/os.h - memory from the operating system, files mapped read-only, and the resources of the
 * process.  Any thread. */
#ifndef BASE_OS_H
#define BASE_OS_H
#include <stddef.h>
#include <stdint.h>
#include <infer/status.h>

struct os_file {
	const unsigned char *at;
	size_t bytes;
	uint64_t device, inode;
	int64_t mtime_ns;
	int above; /* file descriptor + 1; 0: not open */
};

/* OS_MEMORY: a memory region without a file. */
enum os_kind { OS_MEMORY, OS_REGULAR, OS_DIRECTORY };
struct os_stat {
	enum os_kind kind;
	uint64_t bytes; /* of a regular file */
};
/* Get the kind of `path`, following links.  If it is a regular file, also read its first *n bytes,
 * at most cap, into head.
 * INFER_EIO: also if it is neither a regular file nor a directory. */
int os_look(struct os_stat *st, const char *path, void *head, size_t cap, size_t *n,
            infer_error *err);

/* Map a whole regular file read-only.  INFER_EIO, naming the path: it is anything else (a
 * directory, a pipe). An empty file gives at = NULL, bytes = 0. */
int os_file_map(struct os_file *f, const char *path, infer_error *err);
void os_file_unmap(struct os_file *f); /* a zeroed *f is fine */
/* Unmap the file, but keep it open for os_file_read and os_file_changed. */
void os_file_hold(struct os_file *f);
/* Read n bytes at offset `from`.  *got: bytes read, fewer than n only at the end of the file.
 * path: for messages.  INFER_EIO */
int os_file_read(const struct os_file *f, const char *path, size_t from, void *to, size_t n,
                 size_t *got, infer_error *err);
/* True if the file was modified since it was mapped (its size or modification time changed).
 * Another file renamed to the same name does not count. */
int os_file_changed(const struct os_file *f);
/* os_populate: read the pages of a mapping from the file, and wait for them.  OS_FAILED, without a
 * signal: the file became shorter or cannot be read. */
enum os_brought {
	OS_FAILED,
	OS_THERE, /* already in memory, or being read */
	OS_READ,  /* this call read some pages */
};
enum os_brought os_populate(const void *at, size_t bytes);
/* Advise that a mapping is read at random, a few bytes at a time: a page fault then reads
 * and maps some 64 KiB instead of 2 MiB.  A hint. */
void os_sparse(const void *at, size_t bytes);
/* Start to read bytes [from, from + bytes) into memory; a hint. */
void os_file_want(const struct os_file *f, size_t from, size_t bytes);

/* Sync the directory of `path`, following links, so that a new name survives a crash.  Directories
 * without read permission and file systems without support are ignored.  INFER_EIO */
int os_dir_sync(const char *path, infer_error *err);

/* Reserve address space without memory (PROT_READ|WRITE, NORESERVE): pages are allocated when
 * touched, as zeros.
 * INFER_ENOMEM: names the bytes and the limit that was reached. */
int os_reserve(void **at, size_t bytes, infer_error *err);
/* Resize a reservation from `from` to `to` bytes.  The contents are kept; the address may change.
 * On failure *at is unchanged.  INFER_ENOMEM as above. */
int os_reserve_again(void **at, size_t from, size_t to, infer_error *err);
/* Map an unnamed file, zeroed, in pages of the normal size, so that it costs as much to read as any
 * mapped file.  INFER_ENOMEM */
int os_file_memory(void **at, size_t bytes, infer_error *err);
/* Map the same `period` bytes again and again, `bytes` in all, in pages of the normal size, zeroed: what is
 * written to a byte is read from every `period` bytes after it.  Both are multiples of os_page().  INFER_ENOMEM */
int os_repeated(void **at, size_t period, size_t bytes, infer_error *err);
void os_release(void *at, size_t bytes); /* unmaps the whole reservation */
/* Return page-aligned memory to the system; it then reads as zero. */
void os_forget(void *at, size_t bytes);
size_t os_page(void);
/* Return the bytes left on the stack of this thread; 0: unknown.  Takes about 50 us on the main
 * thread. */
size_t os_stack_left(void);

struct os_limits {
	/* cores this process may use: affinity and cgroup cpu.max, rounded up; >= 1 */
	int threads;
	uint64_t memory_bytes; /* the smaller of physical memory and the cgroup's memory.max */
	/* unused memory: the smaller of MemAvailable and the cgroup's */
	uint64_t available_bytes;
	/* RLIMIT_AS minus the address space already mapped; UINT64_MAX: no limit */
	uint64_t address_bytes;
};
void os_limits(struct os_limits *l);
/* Lower *l to the limits of the control groups, read from root/proc/self/cgroup and
 * root/sys/fs/cgroup. */
void os_limits_cgroup(struct os_limits *l, const char *root);

struct os_usage {
	uint64_t minor_faults, major_faults, peak_rss_bytes;
	double user_ms, system_ms;
	uint64_t preempted; /* times that other threads took a processor */
};
void os_usage(struct os_usage *u); /* of this process so far */
#endif
