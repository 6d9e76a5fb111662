/* base/os.h - memory from the operating system, files mapped read-only, and what the process may
 * use.  Any thread. */
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
	int above; /* one above the descriptor that is kept; 0: none */
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

/* Map a regular file read-only, whole.  Anything else (a directory, a pipe) is INFER_EIO with its
 * name; an empty file gives at = NULL, bytes = 0. */
int os_file_map(struct os_file *f, const char *path, infer_error *err);
void os_file_unmap(struct os_file *f); /* a zeroed *f is fine */
/* Whether somebody wrote to the file since (its size, its time of change).  A file that took its
 * name does not count. */
int os_file_changed(const struct os_file *f);
/* start reading ahead; a hint */
void os_file_want(const struct os_file *f, size_t from, size_t bytes);

/* A new name becomes lasting when its directory is on the disk: that of `path`, whose links are
 * followed.  A directory that may not be read, and file systems that cannot do it, are passed over.
 * INFER_EIO. */
int os_dir_sync(const char *path, infer_error *err);

/* Address space without memory behind it (PROT_READ|WRITE, NORESERVE): pages appear when touched.
 * INFER_ENOMEM names bytes and the limit that was met. */
int os_reserve(void **at, size_t bytes, infer_error *err);
/* Memory of a file without a name: what a mapped file costs to read, in pages of the usual size.
 * Zero at first. */
int os_file_memory(void **at, size_t bytes, infer_error *err);
void os_release(void *at, size_t bytes); /* the whole reservation */
void os_forget(void *at, size_t bytes);  /* give page-aligned memory back; reads as zero again */
size_t os_page(void);
/* Bytes between here and the end of this thread's stack; 0: not to be known.  Costs some 50 us on
 * the main thread. */
size_t os_stack_left(void);

struct os_limits {
	/* cores this process may use: affinity, then the cgroup's cpu.max rounded up; >= 1 */
	int threads;
	uint64_t memory_bytes; /* least of physical memory and the cgroup's memory.max */
	/* of that, not in use by others now (MemAvailable, cgroup usage) */
	uint64_t available_bytes;
	uint64_t address_bytes; /* RLIMIT_AS less what is mapped already; UINT64_MAX: no limit */
};
void os_limits(struct os_limits *l);
/* Lower *l to what the control groups allow, seen from the files root/proc/self/cgroup and
 * root/sys/fs/cgroup. */
void os_limits_cgroup(struct os_limits *l, const char *root);

struct os_usage {
	uint64_t minor_faults, major_faults, peak_rss_bytes;
	double user_ms, system_ms;
};
void os_usage(struct os_usage *u); /* of this process so far */
#endif
