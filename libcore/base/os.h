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
	int above; /* the kept descriptor plus 1; 0: none */
};

/* OS_MEMORY: bytes that have no file. */
enum os_kind { OS_MEMORY, OS_REGULAR, OS_DIRECTORY };
struct os_stat {
	enum os_kind kind;
	uint64_t bytes; /* of a regular file */
};
/* What lies at path, links followed, and the first *n bytes of a regular file, at most cap, into
 * head.  INFER_EIO, also for what is neither a regular file nor a directory. */
int os_look(struct os_stat *st, const char *path, void *head, size_t cap, size_t *n,
            infer_error *err);

/* Map a whole regular file read-only.  Anything else (a directory, a pipe) is INFER_EIO, naming it;
 * an empty file gives at = NULL, bytes = 0. */
int os_file_map(struct os_file *f, const char *path, infer_error *err);
void os_file_unmap(struct os_file *f); /* a zeroed *f is fine */
/* Give up the mapping, and keep the file open for os_file_read and os_file_changed. */
void os_file_hold(struct os_file *f);
/* Read *got bytes from byte `from` on, fewer than n only at the end of the file.  path is for
 * messages.  INFER_EIO. */
int os_file_read(const struct os_file *f, const char *path, size_t from, void *to, size_t n,
                 size_t *got, infer_error *err);
/* 1: the file was modified since (its size or modification time changed).  Another file renamed to
 * the same name does not count. */
int os_file_changed(const struct os_file *f);
/* Bring mapped memory in, from the file where it is not there yet, and wait for it.  Where the file
 * has become shorter or cannot be read no signal comes. */
enum os_brought {
	OS_FAILED,
	OS_THERE, /* it was in memory, or is being read already */
	OS_READ,  /* this call read some of it */
};
enum os_brought os_populate(const void *at, size_t bytes);
/* Of a mapping by os_file_map these bytes are read a few at a time, here and there: a fault then
 * brings in and maps some 64 KiB instead of 2 MiB.  A hint. */
void os_sparse(const void *at, size_t bytes);
/* start reading ahead; a hint */
void os_file_want(const struct os_file *f, size_t from, size_t bytes);

/* Sync the directory of `path`, following links, so that a new name survives a crash.  Directories
 * without read permission and file systems without support are ignored.  INFER_EIO. */
int os_dir_sync(const char *path, infer_error *err);

/* Reserve address space without memory (PROT_READ|WRITE, NORESERVE): pages are allocated when
 * touched.  INFER_ENOMEM names the bytes and the limit that was reached. */
int os_reserve(void **at, size_t bytes, infer_error *err);
/* Make a reservation of `from` bytes one of `to`.  Its contents stay, and may move to another
 * address without being copied.  On failure *at is as it was.  INFER_ENOMEM as above. */
int os_reserve_again(void **at, size_t from, size_t to, infer_error *err);
/* Memory of an unnamed file, in pages of the usual size, which is as costly to read as a mapped
 * file.  Initially zero. */
int os_file_memory(void **at, size_t bytes, infer_error *err);
void os_release(void *at, size_t bytes); /* the whole reservation */
/* return page-aligned memory to the system; it then reads as zero */
void os_forget(void *at, size_t bytes);
size_t os_page(void);
/* Bytes left on the stack of this thread; 0: unknown.  Takes about 50 us on the main thread. */
size_t os_stack_left(void);

struct os_limits {
	/* cores this process may use: affinity, then the cgroup's cpu.max rounded up; >= 1 */
	int threads;
	uint64_t memory_bytes; /* the smaller of physical memory and the cgroup's memory.max */
	/* the part of it that is not in use (MemAvailable, cgroup usage) */
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
};
void os_usage(struct os_usage *u); /* of this process so far */
#endif
