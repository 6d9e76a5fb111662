/* tests/unit/base/test_cpu.c - against what the kernel says. */
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
	static const struct { uint64_t bit; const char *x86, *arm; } rows[] = {
		{ CPU_AVX2, "avx2", 0 }, { CPU_FMA, "fma", 0 }, { CPU_F16C, "f16c", 0 }, { CPU_AVXVNNI, "avx_vnni", 0 },
		{ CPU_AVX512F, "avx512f", 0 }, { CPU_AVX512BW, "avx512bw", 0 }, { CPU_AVX512VL, "avx512vl", 0 },
		{ CPU_AVX512DQ, "avx512dq", 0 }, { CPU_AVX512VNNI, "avx512_vnni", 0 },
		{ CPU_AVX512VBMI, "avx512vbmi", 0 }, { CPU_AVX512BF16, "avx512_bf16", 0 }, { CPU_SHA, "sha_ni", 0 },
		{ CPU_AMXINT8, "amx_int8", 0 }, { CPU_AVX512FP16, "avx512_fp16", 0 }, { CPU_GFNI, "gfni", 0 },
		{ CPU_NEON, 0, "asimd" }, { CPU_DOTPROD, 0, "asimddp" }, { CPU_I8MM, 0, "i8mm" },
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
		skip();
	for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
		const char *name = arm ? rows[r].arm : rows[r].x86;

		snprintf(word, sizeof word, " %s ", name ? name : "?");
		if (!!(have & rows[r].bit) != (strstr(line, word) != NULL))
			fail_msg("%s: %d", name ? name : "of another machine", !!(have & rows[r].bit));
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
	assert_null(cpu_feature_name(15));
	assert_string_equal(cpu_feature_name(18), "i8mm");
	assert_null(cpu_feature_name(19));
	assert_null(cpu_feature_name(1000));
}

static void test_model(void **state)
{
	char name[64], line[8192];

	(void)state;
	memset(name, 'x', sizeof name);
	cpu_model_name(name);
	assert_true(strlen(name) < sizeof name);
	if (!name[0] || !cpuinfo("model name", line))
		skip();
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

			snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", i, files[k]);
			f = fopen(path, "re");
			if (!f)
				return -1;
			if ((k == 0 ? fscanf(f, "%d", &at) : k == 1 ? fscanf(f, "%31s", type) : fscanf(f, "%ld%c", &size, &unit)) < 1)
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
	long l1 = kernel_says(1), l2 = kernel_says(2), l3 = kernel_says(3), line = sysconf(_SC_LEVEL1_DCACHE_LINESIZE);

	(void)state;
	memset(&c, 0xff, sizeof c);
	cpu_caches(&c);
	if (l1 <= 0 || l2 <= 0)
		skip();
	assert_int_equal(c.l1d_bytes, l1);
	assert_int_equal(c.l2_bytes, l2);
	assert_int_equal(c.l3_bytes, l3 > 0 ? l3 : 0);
	if (line > 0)
		assert_int_equal(c.line_bytes, line);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_features), cmocka_unit_test(test_names), cmocka_unit_test(test_model),
		cmocka_unit_test(test_caches),
	};
	return nth_group(tests);
}
