/* tests/unit/base/test_cpu.c - features and caches, compared with what the kernel reports. */
#include "../left_out.h"
#include "../nth.h"
#include "base/cpu.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The first line of /proc/cpuinfo that begins with key, from its value on; spaces around. */
static int cpuinfo(const char *key, char line[8192])
{
	FILE *f = fopen("/proc/cpuinfo", "r");
	char *p = NULL;

	while (f && !p && fgets(line, 8191, f))
		if (!strncmp(line, key, strlen(key)))
			p = strchr(line, ':');
	if (f)
		fclose(f);
	if (!p)
		return 0;
	memmove(line, p + 1, strlen(p));
	line[strcspn(line, "\n")] = 0;
	strcat(line, " ");
	return 1;
}

static void test_features(void **state)
{
	static const struct {
		uint64_t bit;
		const char *x86, *arm;
	} rows[] = {
		{ CPU_AVX2, "avx2", 0 },
		{ CPU_FMA, "fma", 0 },
		{ CPU_F16C, "f16c", 0 },
		{ CPU_AVXVNNI, "avx_vnni", 0 },
		{ CPU_AVX512F, "avx512f", 0 },
		{ CPU_AVX512BW, "avx512bw", 0 },
		{ CPU_AVX512VL, "avx512vl", 0 },
		{ CPU_AVX512DQ, "avx512dq", 0 },
		{ CPU_AVX512VNNI, "avx512_vnni", 0 },
		{ CPU_AVX512VBMI, "avx512vbmi", 0 },
		{ CPU_AVX512BF16, "avx512_bf16", 0 },
		{ CPU_SHA, "sha_ni", "sha2" },
		{ CPU_AMXINT8, "amx_int8", 0 },
		{ CPU_AVX512FP16, "avx512_fp16", 0 },
		{ CPU_GFNI, "gfni", 0 },
		{ CPU_AMXBF16, "amx_bf16", 0 },
		{ CPU_NEON, 0, "asimd" },
		{ CPU_DOTPROD, 0, "asimddp" },
		{ CPU_I8MM, 0, "i8mm" },
	};
	char line[8192], word[64];
	uint64_t have = cpu_features(), named = 0;

	(void)state;
#if defined __aarch64__
	int arm = 1;
#else
	int arm = 0;
#endif
	if (!cpuinfo(arm ? "Features" : "flags", line))
		left_out("needs /proc/cpuinfo with flags");
	for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
		const char *name = arm ? rows[r].arm : rows[r].x86;

		snprintf(word, sizeof word, " %s ", name ? name : "?");
		if (!!(have & rows[r].bit) != (strstr(line, word) != NULL))
			fail_msg("%s: %d", name ? name : "of another machine",
			         !!(have & rows[r].bit));
		named |= rows[r].bit;
	}
	assert_int_equal(have & ~named, 0);
}

static void test_names(void **state)
{
	(void)state;
	assert_string_equal(cpu_feature_name(0), "avx2");
	assert_string_equal(cpu_feature_name(13), "avx512fp16");
	assert_string_equal(cpu_feature_name(14), "gfni");
	assert_string_equal(cpu_feature_name(15), "amxbf16");
	assert_string_equal(cpu_feature_name(18), "i8mm");
	assert_null(cpu_feature_name(19));
	assert_null(cpu_feature_name(1000));
}

#if defined __x86_64__ && defined __linux__
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* The system refuses `from` of arch_prctl and what is above from here on, as an old one or a filter
 * does. */
static int refuse(unsigned from)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_arch_prctl, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, from, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { sizeof code / sizeof *code, code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog);
}

enum { SAME, LESS, CANNOT };

/* In a process of its own: whether permission and the question about it leave all features. */
static int asked(unsigned from, uint64_t have, int grantable)
{
	int status;
	pid_t child = fork();

	assert_true(child >= 0);
	if (!child) {
		uint64_t got = from && refuse(from) ? 0
		               : grantable          ? cpu_grantable(have)
		                                    : cpu_permit(have);
		_exit(!got                                 ? CANNOT
		      : got == have                        ? SAME
		      : got == (have & ~(uint64_t)CPU_AMX) ? LESS
		                                           : 99);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void test_permit(void **state)
{
	const uint64_t tiles = CPU_AVX2 | CPU_AMX, none = CPU_AVX2 | CPU_GFNI;
	int got = asked(0x1021, tiles, 0);

	(void)state;
	assert_int_equal(asked(0, none, 0), SAME);
	assert_int_equal(asked(0, none, 1), SAME);
	if (got == CANNOT)
		left_out("needs the right to filter system calls (seccomp)");
	assert_int_equal(got, LESS);
	assert_int_equal(asked(0x1021, none, 0), SAME);
	assert_int_equal(asked(0x1021, tiles, 1), LESS);
	assert_int_equal(asked(0x1023, tiles, 0), LESS);
	if ((cpu_features() & CPU_AMX) == CPU_AMX) {
		assert_int_equal(asked(0, tiles, 1), SAME);
		assert_int_equal(asked(0x1023, tiles, 1), SAME); /* it asks for nothing */
	}
}
#endif

static void test_model(void **state)
{
	char name[64], line[8192];

	(void)state;
	memset(name, 'x', sizeof name);
	cpu_model_name(name);
	assert_true(strlen(name) < sizeof name);
	if (!name[0] || !cpuinfo("model name", line))
		left_out("needs /proc/cpuinfo with a model name");
	assert_non_null(strstr(line, name));
}

/* What the kernel says of a level's data cache of processor 0, in bytes; -1 where it says nothing.
 * (sysconf of glibc 2.36 takes the third level of some AMD processors ten times as large.) */
static long kernel_says(int level)
{
	for (int i = 0; i < 8; i++) {
		char path[96], type[32] = "", unit = 0;
		long size = -1;
		int at = 0;
		const char *files[] = { "level", "type", "size" };

		for (int k = 0; k < 3; k++) {
			FILE *f;

			snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s",
			         i, files[k]);
			f = fopen(path, "re");
			if (!f)
				return -1;
			if ((k == 0   ? fscanf(f, "%d", &at)
			     : k == 1 ? fscanf(f, "%31s", type)
			              : fscanf(f, "%ld%c", &size, &unit)) < 1)
				size = -1;
			fclose(f);
		}
		if (at == level && strcmp(type, "Instruction"))
			return unit == 'K' ? size << 10 : unit == 'M' ? size << 20 : size;
	}
	return -1;
}

static void test_caches(void **state)
{
	struct cpu_caches c;
	long l1 = kernel_says(1), l2 = kernel_says(2), l3 = kernel_says(3),
	     line = sysconf(_SC_LEVEL1_DCACHE_LINESIZE);

	(void)state;
	memset(&c, 0xff, sizeof c);
	cpu_caches(&c);
	if (l1 <= 0 || l2 <= 0)
		left_out("needs a system that says the sizes of its caches");
	assert_int_equal(c.l1d_bytes, l1);
	assert_int_equal(c.l2_bytes, l2);
	assert_int_equal(c.l3_bytes, l3 > 0 ? l3 : 0);
	if (line > 0)
		assert_int_equal(c.line_bytes, line);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#if defined __x86_64__ && defined __linux__
		cmocka_unit_test(test_permit),
#endif
		cmocka_unit_test(test_features),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_caches),
	};
	return nth_group(tests);
}
