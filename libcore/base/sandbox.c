/* base/sandbox.c - two mechanisms of the kernel, from its headers alone.
 *
 * seccomp: a filter of system calls by number, for all threads at once (TSYNC).  It lists the allowed
 * calls, because every kernel adds new ones.  All others fail with EPERM and do not kill: the C library
 * and other libraries try calls that they can do without, the forbidden action does not happen either
 * way, and the user gets an error message instead of a dead process.  Calls of another architecture
 * kill the process, because their numbers have other meanings.
 *
 * Landlock: the calling thread has no access to paths, in case the filter has a hole; threads that
 * already run are not affected.  If the kernel lacks it, there is only the filter. */
#include "base/sandbox.h"
#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define WHY_NOT "this build has sanitizers"
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
	__has_feature(memory_sanitizer)
#define WHY_NOT "this build has sanitizers"
#endif
#endif
#if defined(__x86_64__) && defined(__LP64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__) && defined(__LP64__) && !defined(__AARCH64EB__)
#define ARCH AUDIT_ARCH_AARCH64
#elif !defined(WHY_NOT)
#define WHY_NOT "not on this kind of processor"
#endif

#ifdef WHY_NOT
int sandbox_enter(unsigned flags, infer_error *err)
{
	(void)flags;
	return err_set(err, INFER_EDEVICE, "%s", WHY_NOT);
}
#else

/* ANY: with any arguments.  Otherwise the low half of one argument, which is all the kernel
 * looks at, decides: EQUAL to value, or WITHOUT its bits; NIL: a pointer, both halves. */
enum how { ANY, EQUAL, WITHOUT, NIL, SELF };
struct rule {
	uint16_t call;
	uint8_t how, arg;
	uint32_t value;
};

static const struct rule compute[] = {
	/* what is open */
	{ SYS_read, ANY, 0, 0 },
	{ SYS_readv, ANY, 0, 0 },
	{ SYS_pread64, ANY, 0, 0 },
	{ SYS_write, ANY, 0, 0 },
	{ SYS_writev, ANY, 0, 0 },
	{ SYS_pwrite64, ANY, 0, 0 },
	{ SYS_lseek, ANY, 0, 0 },
	{ SYS_close, ANY, 0, 0 },
	{ SYS_fstat, ANY, 0, 0 },
	{ SYS_fsync, ANY, 0, 0 },
	{ SYS_fdatasync, ANY, 0, 0 },
	{ SYS_ppoll, ANY, 0, 0 },
	{ SYS_newfstatat, EQUAL, 3, AT_EMPTY_PATH }, /* fstat of glibc */
	{ SYS_fcntl, EQUAL, 1, F_GETFL },
	{ SYS_fcntl, EQUAL, 1, F_GETFD },
	/* isatty; never TIOCSTI, which types */
	{ SYS_ioctl, EQUAL, 1, TCGETS },
	{ SYS_ioctl, EQUAL, 1, TIOCGWINSZ },
	/* memory, none of it executable */
	{ SYS_mmap, WITHOUT, 2, PROT_EXEC },
	{ SYS_mprotect, WITHOUT, 2, PROT_EXEC },
	{ SYS_munmap, ANY, 0, 0 },
	{ SYS_mremap, ANY, 0, 0 },
	{ SYS_madvise, ANY, 0, 0 },
	{ SYS_brk, ANY, 0, 0 },
	/* threads: some may have been created and not run yet; and their end */
	{ SYS_set_robust_list, ANY, 0, 0 },
	{ SYS_rseq, ANY, 0, 0 },
	{ SYS_futex, ANY, 0, 0 },
	{ SYS_sched_yield, ANY, 0, 0 },
	{ SYS_sched_getaffinity, ANY, 0, 0 },
	{ SYS_getcpu, ANY, 0, 0 },
	{ SYS_exit, ANY, 0, 0 },
	{ SYS_exit_group, ANY, 0, 0 },
	/* signals, sent to this process alone */
	{ SYS_rt_sigaction, ANY, 0, 0 },
	{ SYS_rt_sigprocmask, ANY, 0, 0 },
	{ SYS_rt_sigreturn, ANY, 0, 0 },
	{ SYS_sigaltstack, ANY, 0, 0 },
	{ SYS_restart_syscall, ANY, 0, 0 },
	{ SYS_tgkill, SELF, 0, 0 },
	{ SYS_getpid, ANY, 0, 0 },
	{ SYS_gettid, ANY, 0, 0 },
	/* time, random numbers, counters */
	{ SYS_clock_gettime, ANY, 0, 0 },
	{ SYS_clock_getres, ANY, 0, 0 },
	{ SYS_gettimeofday, ANY, 0, 0 },
	{ SYS_clock_nanosleep, ANY, 0, 0 },
	{ SYS_nanosleep, ANY, 0, 0 },
	{ SYS_getrandom, ANY, 0, 0 },
	{ SYS_getrusage, ANY, 0, 0 },
	{ SYS_sysinfo, ANY, 0, 0 },
	{ SYS_prlimit64, NIL, 2, 0 },
#ifdef SYS_poll
	{ SYS_poll, ANY, 0, 0 },
	{ SYS_time, ANY, 0, 0 },
#endif
};
/* with SANDBOX_READ; and the calls that restrict it further later */
static const struct rule reading[] = {
	{ SYS_openat, WITHOUT, 2,
	  O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND | (O_TMPFILE & ~O_DIRECTORY) },
	{ SYS_newfstatat, ANY, 0, 0 },
	{ SYS_statx, ANY, 0, 0 },
	{ SYS_readlinkat, ANY, 0, 0 },
	{ SYS_faccessat, ANY, 0, 0 },
	{ SYS_getdents64, ANY, 0, 0 },
	{ SYS_fadvise64, ANY, 0, 0 },
	{ SYS_seccomp, ANY, 0, 0 },
	{ SYS_prctl, EQUAL, 0, PR_SET_NO_NEW_PRIVS },
	{ 444, ANY, 0, 0 },
	{ 446, ANY, 0, 0 }, /* Landlock: the same numbers on every architecture */
};

enum {
	PER_RULE = 7,
	AROUND = 4,
	ROOM = AROUND + PER_RULE * (sizeof compute + sizeof reading) / sizeof(struct rule)
};
struct program {
	struct sock_filter at[ROOM];
	unsigned short n;
};
#define PUT(p, code, k, yes, no) \
	((p)->at[(p)->n++] = (struct sock_filter)BPF_JUMP((code), (uint32_t)(k), (yes), (no)))
#define LOAD(p, from) PUT(p, BPF_LD | BPF_W | BPF_ABS, from, 0, 0)
#define RETURN(p, what) PUT(p, BPF_RET | BPF_K, what, 0, 0)

/* The accumulator holds the number of the call before and after.  Jumps count the instructions
 * that they skip. */
static void put_rule(struct program *p, const struct rule *r)
{
	/* little-endian */
	uint32_t low = (uint32_t)(offsetof(struct seccomp_data, args) + 8 * r->arg);

	PUT(p, BPF_JMP | BPF_JEQ | BPF_K, r->call, 0, r->how == ANY ? 1 : r->how == NIL ? 6 : 4);
	if (r->how == ANY) {
		RETURN(p, SECCOMP_RET_ALLOW);
		return;
	}
	LOAD(p, low);
	if (r->how == NIL) {
		PUT(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 3);
		LOAD(p, low + 4);
	}
	if (r->how == WITHOUT)
		PUT(p, BPF_JMP | BPF_JSET | BPF_K, r->value, 1, 0);
	else
		PUT(p, BPF_JMP | BPF_JEQ | BPF_K, r->how == SELF ? (uint32_t)getpid() : r->value, 0,
		    1);
	RETURN(p, SECCOMP_RET_ALLOW);
	LOAD(p, offsetof(struct seccomp_data, nr));
}

static void put_all(struct program *p, unsigned flags)
{
	p->n = 0;
	LOAD(p, offsetof(struct seccomp_data, arch));
	PUT(p, BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0);
	RETURN(p, SECCOMP_RET_KILL_PROCESS);
	LOAD(p, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < sizeof compute / sizeof *compute; i++)
		put_rule(p, &compute[i]);
	for (size_t i = 0; flags & SANDBOX_READ && i < sizeof reading / sizeof *reading; i++)
		put_rule(p, &reading[i]);
	RETURN(p, SECCOMP_RET_ERRNO | EPERM);
}

/* As in the header of the kernel, which may be older than the kernel: rights to files since version
 * 1, more of them since 2 to 5. */
static void landlock(unsigned flags)
{
	static const uint64_t files_of[] = { 0, 0x1fff, 0x3fff, 0x7fff, 0x7fff, 0xffff };
	enum { CREATE = 444, RESTRICT = 446, VERSION = 1, READ_FILE = 4, READ_DIR = 8, NET = 3 };
	long version = syscall(CREATE, NULL, 0, VERSION);

	if (version < 1)
		return;
	struct {
		uint64_t files, net;
	} rights = { files_of[version > 5 ? 5 : version], version >= 4 ? NET : 0 };

	if (flags & SANDBOX_READ)
		rights.files &= ~(uint64_t)(READ_FILE | READ_DIR);
	long fd = syscall(CREATE, &rights, version >= 4 ? sizeof rights : sizeof rights.files, 0);

	if (fd < 0)
		return;
	(void)syscall(RESTRICT, fd, 0);
	close((int)fd);
}

int sandbox_enter(unsigned flags, infer_error *err)
{
	struct program p;
	long rc;

	put_all(&p, flags);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return err_set(err, INFER_EDEVICE,
		               "the kernel does not let privileges be given up: %s",
		               strerror(errno));
	landlock(flags);
	rc = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC,
	             &(struct sock_fprog){ p.n, p.at });
	if (rc > 0)
		return err_set(err, INFER_EDEVICE, "thread %ld has a filter of its own", rc);
	if (rc)
		return err_set(err, INFER_EDEVICE, "the kernel refuses filters of system calls: %s",
		               strerror(errno));
	return INFER_OK;
}
#endif
