/* base/sandbox.c - Landlock and seccomp, without libraries for them.
 *
 * seccomp: a filter of system calls by number, for all threads at once (TSYNC).  It lists the
 * allowed calls, because every kernel adds new ones.  All others fail with EPERM instead of killing
 * the process: libraries try calls that they can do without, and the user gets an error message.
 * Calls of another architecture kill the process, because their numbers have other meanings.
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
#include <sched.h>
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

int sandbox_paths(const char *const *read, int n_read, const char *const *written, int n_written,
                  const char *const *logged, int n_logged, infer_error *err)
{
	(void)read, (void)n_read, (void)written, (void)n_written, (void)logged, (void)n_logged;
	return err_set(err, INFER_EDEVICE, "%s", WHY_NOT);
}

int sandbox_serve(infer_error *err) { return err_set(err, INFER_EDEVICE, "%s", WHY_NOT); }

int sandbox_removals(const char *const *folders, int n, infer_error *err)
{
	(void)folders, (void)n;
	return err_set(err, INFER_EDEVICE, "%s", WHY_NOT);
}
#else

/* The calls that a rule matches.  ANY: all.  Otherwise calls whose argument `arg` (its low half;
 * the kernel ignores the rest) is EQUAL to value, WITHOUT any bit of value, WITH at least one,
 * SELF: the ID of this process, OTHER: another ID.  NIL: the argument is a null pointer. */
enum how { ANY, EQUAL, WITHOUT, WITH, NIL, SELF, OTHER };
struct rule {
	uint16_t call;
	uint8_t how, arg;
	uint32_t value;
};

static const struct rule compute[] = {
	/* open files */
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
	/* isatty; not TIOCSTI, which simulates typed input */
	{ SYS_ioctl, EQUAL, 1, TCGETS },
	{ SYS_ioctl, EQUAL, 1, TIOCGWINSZ },
	/* memory, none of it executable */
	{ SYS_mmap, WITHOUT, 2, PROT_EXEC },
	{ SYS_mprotect, WITHOUT, 2, PROT_EXEC },
	{ SYS_munmap, ANY, 0, 0 },
	{ SYS_mremap, ANY, 0, 0 },
	{ SYS_madvise, ANY, 0, 0 },
	{ SYS_brk, ANY, 0, 0 },
	/* threads: start of those already created, and exit */
	{ SYS_set_robust_list, ANY, 0, 0 },
	{ SYS_rseq, ANY, 0, 0 },
	{ SYS_futex, ANY, 0, 0 },
	{ SYS_sched_yield, ANY, 0, 0 },
	{ SYS_sched_getaffinity, ANY, 0, 0 },
	{ SYS_getcpu, ANY, 0, 0 },
	{ SYS_exit, ANY, 0, 0 },
	{ SYS_exit_group, ANY, 0, 0 },
	/* signals, sent only to this process */
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
/* Calls that SANDBOX_READ also allows: reading files, and restricting the process further. */
static const struct rule reading[] = {
	{ SYS_openat, WITHOUT, 2,
	  O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND | (O_TMPFILE & ~O_DIRECTORY) },
	{ SYS_newfstatat, ANY, 0, 0 },
	{ SYS_statx, ANY, 0, 0 },
	{ SYS_readlinkat, ANY, 0, 0 },
#ifdef SYS_readlink
	{ SYS_readlink, ANY, 0, 0 },
#endif
	{ SYS_getcwd, ANY, 0, 0 },
	{ SYS_faccessat, ANY, 0, 0 },
	{ SYS_getdents64, ANY, 0, 0 },
	{ SYS_fadvise64, ANY, 0, 0 },
	{ SYS_seccomp, ANY, 0, 0 },
	{ SYS_prctl, EQUAL, 0, PR_SET_NO_NEW_PRIVS },
	{ 444, ANY, 0, 0 },
	{ 446, ANY, 0, 0 }, /* Landlock: the same numbers on every architecture */
};

/* Calls forbidden to a server: new programs, processes and sockets, other processes, executable
 * memory, privileges, and the parts of the kernel with most vulnerabilities.  A list of allowed
 * calls would depend on the C library and on libmicrohttpd. */
static const struct rule never[] = {
	{ SYS_execve, ANY, 0, 0 },
	{ SYS_execveat, ANY, 0, 0 },
	{ SYS_clone, WITHOUT, 0, CLONE_THREAD },
	{ SYS_ptrace, ANY, 0, 0 },
	{ SYS_process_vm_readv, ANY, 0, 0 },
	{ SYS_process_vm_writev, ANY, 0, 0 },
	{ SYS_kcmp, ANY, 0, 0 },
	{ SYS_kill, OTHER, 0, 0 },
	{ SYS_tgkill, OTHER, 0, 0 },
	{ SYS_tkill, ANY, 0, 0 },
	{ SYS_socket, ANY, 0, 0 },
	{ SYS_socketpair, ANY, 0, 0 },
	{ SYS_connect, ANY, 0, 0 },
	{ SYS_bind, ANY, 0, 0 },
	{ SYS_listen, ANY, 0, 0 },
	{ SYS_mmap, WITH, 2, PROT_EXEC },
	{ SYS_mprotect, WITH, 2, PROT_EXEC },
	{ SYS_memfd_create, ANY, 0, 0 },
	{ SYS_personality, ANY, 0, 0 },
	{ SYS_ioctl, EQUAL, 1, TIOCSTI },
	{ SYS_mount, ANY, 0, 0 },
	{ SYS_umount2, ANY, 0, 0 },
	{ SYS_pivot_root, ANY, 0, 0 },
	{ SYS_chroot, ANY, 0, 0 },
	{ SYS_unshare, ANY, 0, 0 },
	{ SYS_setns, ANY, 0, 0 },
	{ SYS_open_by_handle_at, ANY, 0, 0 },
	{ SYS_setuid, ANY, 0, 0 },
	{ SYS_setgid, ANY, 0, 0 },
	{ SYS_setreuid, ANY, 0, 0 },
	{ SYS_setregid, ANY, 0, 0 },
	{ SYS_setresuid, ANY, 0, 0 },
	{ SYS_setresgid, ANY, 0, 0 },
	{ SYS_setgroups, ANY, 0, 0 },
	{ SYS_capset, ANY, 0, 0 },
	{ SYS_bpf, ANY, 0, 0 },
	{ SYS_perf_event_open, ANY, 0, 0 },
	{ SYS_userfaultfd, ANY, 0, 0 },
	{ SYS_add_key, ANY, 0, 0 },
	{ SYS_request_key, ANY, 0, 0 },
	{ SYS_keyctl, ANY, 0, 0 },
	{ SYS_init_module, ANY, 0, 0 },
	{ SYS_finit_module, ANY, 0, 0 },
	{ SYS_delete_module, ANY, 0, 0 },
	{ SYS_kexec_load, ANY, 0, 0 },
	{ SYS_reboot, ANY, 0, 0 },
	{ SYS_swapon, ANY, 0, 0 },
	{ SYS_swapoff, ANY, 0, 0 },
	{ SYS_acct, ANY, 0, 0 },
	{ SYS_settimeofday, ANY, 0, 0 },
	{ SYS_clock_settime, ANY, 0, 0 },
	{ SYS_adjtimex, ANY, 0, 0 },
	{ SYS_sethostname, ANY, 0, 0 },
	{ SYS_setdomainname, ANY, 0, 0 },
	{ SYS_syslog, ANY, 0, 0 },
	{ SYS_quotactl, ANY, 0, 0 },
	/* modes, owners and attributes of files */
	{ SYS_fchmod, ANY, 0, 0 },
	{ SYS_fchmodat, ANY, 0, 0 },
	{ SYS_fchown, ANY, 0, 0 },
	{ SYS_fchownat, ANY, 0, 0 },
	{ SYS_setxattr, ANY, 0, 0 },
	{ SYS_lsetxattr, ANY, 0, 0 },
	{ SYS_fsetxattr, ANY, 0, 0 },
	{ SYS_removexattr, ANY, 0, 0 },
	{ SYS_lremovexattr, ANY, 0, 0 },
	{ SYS_fremovexattr, ANY, 0, 0 },
	/* every architecture: fchmodat2, setxattrat, removexattrat, file_setattr */
	{ 452, ANY, 0, 0 },
	{ 463, ANY, 0, 0 },
	{ 466, ANY, 0, 0 },
	{ 469, ANY, 0, 0 },
	/* io_uring, the new calls to mount, pidfd_getfd */
	{ 425, ANY, 0, 0 },
	{ 426, ANY, 0, 0 },
	{ 427, ANY, 0, 0 },
	{ 428, ANY, 0, 0 },
	{ 429, ANY, 0, 0 },
	{ 430, ANY, 0, 0 },
	{ 431, ANY, 0, 0 },
	{ 432, ANY, 0, 0 },
	{ 433, ANY, 0, 0 },
	{ 438, ANY, 0, 0 },
	{ 442, ANY, 0, 0 },
#ifdef SYS_fork
	{ SYS_fork, ANY, 0, 0 },
	{ SYS_vfork, ANY, 0, 0 },
	{ SYS_iopl, ANY, 0, 0 },
	{ SYS_ioperm, ANY, 0, 0 },
	{ SYS_modify_ldt, ANY, 0, 0 },
	{ SYS_chmod, ANY, 0, 0 },
	{ SYS_chown, ANY, 0, 0 },
	{ SYS_lchown, ANY, 0, 0 },
#endif
};

enum {
	PER_RULE = 7,
	AROUND = 8,
	ROOM = AROUND +
	       PER_RULE * (sizeof compute + sizeof reading + sizeof never) / sizeof(struct rule)
};
struct program {
	struct sock_filter at[ROOM];
	unsigned short n;
};
#define PUT(p, code, k, yes, no) \
	((p)->at[(p)->n++] = (struct sock_filter)BPF_JUMP((code), (uint32_t)(k), (yes), (no)))
#define LOAD(p, from) PUT(p, BPF_LD | BPF_W | BPF_ABS, from, 0, 0)
#define RETURN(p, what) PUT(p, BPF_RET | BPF_K, what, 0, 0)

/* Append the test of a rule: calls that match it return `what`.  The accumulator contains the call
 * number before and after.  Jumps count the instructions that they skip. */
static void add_rule(struct program *p, const struct rule *r, uint32_t what)
{
	uint32_t value = r->how == SELF || r->how == OTHER ? (uint32_t)getpid() : r->value;
	int no = r->how == WITHOUT || r->how == OTHER; /* the rule matches if the test fails */

	/* offset of the argument's low half (little-endian) */
	uint32_t low = (uint32_t)(offsetof(struct seccomp_data, args) + 8 * r->arg);

	PUT(p, BPF_JMP | BPF_JEQ | BPF_K, r->call, 0, r->how == ANY ? 1 : r->how == NIL ? 6 : 4);
	if (r->how == ANY) {
		RETURN(p, what);
		return;
	}
	LOAD(p, low);
	if (r->how == NIL) {
		PUT(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 3);
		LOAD(p, low + 4);
	}
	PUT(p, BPF_JMP | BPF_K | (r->how == WITHOUT || r->how == WITH ? BPF_JSET : BPF_JEQ), value,
	    no, !no);
	RETURN(p, what);
	LOAD(p, offsetof(struct seccomp_data, nr));
}

static void add_arch_check(struct program *p)
{
	p->n = 0;
	LOAD(p, offsetof(struct seccomp_data, arch));
	PUT(p, BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0);
	RETURN(p, SECCOMP_RET_KILL_PROCESS);
	LOAD(p, offsetof(struct seccomp_data, nr));
}

/* A filter cannot check the flags of clone3.  If it is missing, the C library uses clone. */
static void refuse_clone3(struct program *p)
{
	enum { CLONE3 = 435 };

	PUT(p, BPF_JMP | BPF_JEQ | BPF_K, CLONE3, 0, 1);
	RETURN(p, SECCOMP_RET_ERRNO | ENOSYS);
}

static void build_filter(struct program *p, unsigned flags)
{
	add_arch_check(p);
	for (size_t i = 0; i < sizeof compute / sizeof *compute; i++)
		add_rule(p, &compute[i], SECCOMP_RET_ALLOW);
	if (flags & SANDBOX_THREADS) {
		static const struct rule thread = { SYS_clone, WITH, 0, CLONE_THREAD },
					 memory = { SYS_memfd_create, ANY, 0, 0 };

		refuse_clone3(p);
		add_rule(p, &thread, SECCOMP_RET_ALLOW);
		add_rule(p, &memory, SECCOMP_RET_ALLOW);
	}
	for (size_t i = 0; flags & SANDBOX_READ && i < sizeof reading / sizeof *reading; i++)
		add_rule(p, &reading[i], SECCOMP_RET_ALLOW);
	RETURN(p, SECCOMP_RET_ERRNO | EPERM);
}

static void build_deny_filter(struct program *p)
{
	enum { X32 = 0x40000000 };

	add_arch_check(p);
	/* x32 calls have numbers that are not in the list */
	PUT(p, BPF_JMP | BPF_JGE | BPF_K, X32, 0, 1);
	RETURN(p, SECCOMP_RET_KILL_PROCESS);
	refuse_clone3(p);
	for (size_t i = 0; i < sizeof never / sizeof *never; i++)
		add_rule(p, &never[i], SECCOMP_RET_ERRNO | EPERM);
	RETURN(p, SECCOMP_RET_ALLOW);
}

/* Deny the calling thread access to all paths.  The rights of each Landlock version are listed
 * here, because the kernel's header may be older than the kernel. */
static void drop_path_access(unsigned flags)
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

/* Install the filter for all threads. */
static int install_filter(struct program *p, infer_error *err)
{
	long rc = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC,
	                  &(struct sock_fprog){ p->n, p->at });

	if (rc > 0)
		return err_set(err, INFER_EDEVICE, "thread %ld has a filter of its own", rc);
	if (rc)
		return err_set(err, INFER_EDEVICE, "the kernel refuses filters of system calls: %s",
		               strerror(errno));
	return INFER_OK;
}

static int no_new_privileges(infer_error *err)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return err_set(err, INFER_EDEVICE,
		               "the kernel does not let privileges be given up: %s",
		               strerror(errno));
	return INFER_OK;
}

int sandbox_enter(unsigned flags, infer_error *err)
{
	struct program p;

	build_filter(&p, flags);
	TRY(no_new_privileges(err));
	drop_path_access(flags);
	return install_filter(&p, err);
}

int sandbox_serve(infer_error *err)
{
	struct program p;

	build_deny_filter(&p);
	TRY(no_new_privileges(err));
	return install_filter(&p, err);
}

/* Allow access below a path, which may be missing. */
static void allow_beneath(int rules, const char *path, uint64_t rights)
{
	enum { ADD = 445, BENEATH = 1, OF_FILES = 0x4007 };
	struct {
		uint64_t rights;
		int32_t fd;
	} __attribute__((packed)) beneath = { rights, open(path, O_PATH | O_CLOEXEC) };

	if (beneath.fd < 0)
		return;
	if (syscall(ADD, rules, BENEATH, &beneath, 0)) {
		beneath.rights &= OF_FILES; /* path is not a directory */
		(void)syscall(ADD, rules, BENEATH, &beneath, 0);
	}
	close(beneath.fd);
}

int sandbox_paths(const char *const *read, int n_read, const char *const *written, int n_written,
                  const char *const *logged, int n_logged, infer_error *err)
{
	static const uint64_t known[] = { 0, 0x1fff, 0x3fff, 0x7fff };
	enum { CREATE = 444, RESTRICT = 446, VERSION = 1, READ = 0xc, REMOVE_FILE = 0x20 };
	/* write, create, remove, rename and truncate files and directories */
	const uint64_t write = READ | 0x2 | 0x10 | 0x80 | 0x100 | 0x2000 | 0x4000;
	const uint64_t append = 0x2 | 0x100;
	long version = syscall(CREATE, NULL, 0, VERSION);
	uint64_t rights;
	int rules, failed;

	if (version < 1)
		return err_set(err, INFER_EDEVICE, "the kernel has no Landlock");
	TRY(no_new_privileges(err));
	/* sandbox_removals restricts removing files */
	rights = known[version > 3 ? 3 : version] & ~(uint64_t)REMOVE_FILE;
	rules = (int)syscall(CREATE, &rights, sizeof rights, 0);
	if (rules < 0)
		return err_set(err, INFER_EDEVICE, "Landlock: %s", strerror(errno));
	for (int i = 0; i < n_read; i++)
		allow_beneath(rules, read[i], READ & rights);
	for (int i = 0; i < n_written; i++)
		allow_beneath(rules, written[i], write & rights);
	for (int i = 0; i < n_logged; i++)
		allow_beneath(rules, logged[i], append & rights);
	failed = syscall(RESTRICT, rules, 0) != 0;
	close(rules);
	return failed ? err_set(err, INFER_EDEVICE, "Landlock: %s", strerror(errno)) : INFER_OK;
}

int sandbox_removals(const char *const *folders, int n, infer_error *err)
{
	enum { CREATE = 444, RESTRICT = 446 };
	const uint64_t remove_file = 0x20;
	int rules, failed;

	TRY(no_new_privileges(err));
	rules = (int)syscall(CREATE, &remove_file, sizeof remove_file, 0);
	if (rules < 0)
		return err_set(err, INFER_EDEVICE, "Landlock: %s", strerror(errno));
	for (int i = 0; i < n; i++)
		allow_beneath(rules, folders[i], remove_file);
	failed = syscall(RESTRICT, rules, 0) != 0;
	close(rules);
	return failed ? err_set(err, INFER_EDEVICE, "Landlock: %s", strerror(errno)) : INFER_OK;
}
#endif
