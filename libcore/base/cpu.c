/* base/cpu.c - features and caches of the processor. */
#include "base/cpu.h"

#include <stdio.h>
#include <string.h>

#if defined __x86_64__
#include <cpuid.h>
#if defined __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif
#elif defined __aarch64__ && defined __linux__
#include <sys/auxv.h>
#endif

static const char *const names[] = {
	"avx2",     "fma",        "f16c",       "avxvnni",    "avx512f", "avx512bw", "avx512vl",
	"avx512dq", "avx512vnni", "avx512vbmi", "avx512bf16", "sha",     "amxint8",  "avx512fp16",
	"gfni",     "amxbf16",    "neon",       "dotprod",    "i8mm",
};

const char *cpu_feature_name(unsigned bit)
{
	return bit < sizeof names / sizeof *names ? names[bit] : NULL;
}

#if defined __x86_64__
enum { EAX, EBX, ECX, EDX };

static uint64_t xcr0(void)
{
	uint32_t lo, hi;

	__asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
	return (uint64_t)hi << 32 | lo;
}

uint64_t cpu_features(void)
{
	/* leaf: index of r; with: XCR0 bits of the registers that the system must save */
	enum { YMM = 0x6, ZMM = 0xe6, TILE = 0x60000 };
	static const struct {
		uint8_t leaf, reg, bit;
		uint32_t with, feature;
	} rows[] = {
		{ 1, ECX, 12, YMM, CPU_FMA },        { 1, ECX, 29, YMM, CPU_F16C },
		{ 2, EBX, 5, YMM, CPU_AVX2 },        { 2, EBX, 29, 0, CPU_SHA },
		{ 2, EBX, 16, ZMM, CPU_AVX512F },    { 2, EBX, 30, ZMM, CPU_AVX512BW },
		{ 2, EBX, 31, ZMM, CPU_AVX512VL },   { 2, EBX, 17, ZMM, CPU_AVX512DQ },
		{ 2, ECX, 11, ZMM, CPU_AVX512VNNI }, { 2, ECX, 1, ZMM, CPU_AVX512VBMI },
		{ 2, ECX, 8, YMM, CPU_GFNI },        { 2, EDX, 23, ZMM, CPU_AVX512FP16 },
		{ 2, EDX, 25, TILE, CPU_AMXINT8 },   { 2, EDX, 22, TILE, CPU_AMXBF16 },
		{ 3, EAX, 4, YMM, CPU_AVXVNNI },     { 3, EAX, 5, ZMM, CPU_AVX512BF16 },
	};
	uint32_t r[4][4] = { { 0 } }; /* indices: 1: leaf 1; 2: leaf 7.0; 3: leaf 7.1 */
	uint64_t have = 0, saved = 0;

	if (!__get_cpuid(1, &r[1][EAX], &r[1][EBX], &r[1][ECX], &r[1][EDX]))
		return 0;
	if (r[1][ECX] >> 27 & 1) /* OSXSAVE */
		saved = xcr0();
	if (__get_cpuid_count(7, 0, &r[2][EAX], &r[2][EBX], &r[2][ECX], &r[2][EDX]) && r[2][EAX])
		__get_cpuid_count(7, 1, &r[3][EAX], &r[3][EBX], &r[3][ECX], &r[3][EDX]);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (r[rows[i].leaf][rows[i].reg] >> rows[i].bit & 1 &&
		    (saved & rows[i].with) == rows[i].with)
			have |= rows[i].feature;
	return have;
}

/* asm/prctl.h, since Linux 5.16 */
enum { GET_XCOMP_SUPP = 0x1021, REQ_XCOMP_PERM = 0x1023, TILE_DATA = 18 };

uint64_t cpu_permit(uint64_t have)
{
#if defined __linux__
	if (!(have & CPU_AMX) || !syscall(SYS_arch_prctl, REQ_XCOMP_PERM, TILE_DATA))
		return have;
#endif
	return have & ~(uint64_t)CPU_AMX;
}

uint64_t cpu_grantable(uint64_t have)
{
#if defined __linux__
	uint64_t given = 0;

	if (!(have & CPU_AMX) ||
	    (!syscall(SYS_arch_prctl, GET_XCOMP_SUPP, &given) && given >> TILE_DATA & 1))
		return have;
#endif
	return have & ~(uint64_t)CPU_AMX;
}

void cpu_model_name(char out[64])
{
	uint32_t r[12];
	char text[49], *from = text;
	size_t n;

	out[0] = 0;
	for (unsigned i = 0; i < 3; i++)
		if (!__get_cpuid(0x80000002 + i, r + 4 * i, r + 4 * i + 1, r + 4 * i + 2,
		                 r + 4 * i + 3))
			return;
	memcpy(text, r, 48);
	text[48] = 0;
	while (*from == ' ')
		from++;
	for (n = strlen(from); n && from[n - 1] == ' '; n--)
		;
	memcpy(out, from, n);
	out[n] = 0;
}

/* Leaf 4 of Intel and leaf 0x8000001d of AMD have the same format. */
static void caches_cpuid(struct cpu_caches *c, unsigned leaf)
{
	for (unsigned i = 0; i < 16; i++) {
		uint32_t a, b, cc, d, kind, level;
		size_t line, bytes;

		if (!__get_cpuid_count(leaf, i, &a, &b, &cc, &d) || !(kind = a & 31))
			return;
		level = a >> 5 & 7;
		line = (b & 0xfff) + 1;
		bytes = line * ((b >> 12 & 0x3ff) + 1) * ((b >> 22) + 1) * ((size_t)cc + 1);
		if (kind == 2) /* an instruction cache */
			continue;
		if (level == 1)
			c->l1d_bytes = bytes;
		else if (level == 2)
			c->l2_bytes = bytes;
		else if (level == 3)
			c->l3_bytes = bytes;
		c->line_bytes = line;
	}
}

#else

uint64_t cpu_features(void)
{
#if defined __aarch64__ && defined __linux__
	uint64_t have = 0;
	unsigned long hwcap = getauxval(AT_HWCAP), hwcap2 = getauxval(AT_HWCAP2);

	if (hwcap >> 1 & 1) /* HWCAP_ASIMD */
		have |= CPU_NEON;
	if (hwcap >> 6 & 1) /* HWCAP_SHA2 */
		have |= CPU_SHA;
	if (hwcap >> 20 & 1) /* HWCAP_ASIMDDP */
		have |= CPU_DOTPROD;
	if (hwcap2 >> 13 & 1) /* HWCAP2_I8MM */
		have |= CPU_I8MM;
	return have;
#else
	return 0;
#endif
}

uint64_t cpu_permit(uint64_t have) { return have; }
uint64_t cpu_grantable(uint64_t have) { return have; }

void cpu_model_name(char out[64]) { out[0] = 0; }
#endif

/* Read a small file of sysfs below cache index i of cpu0; 0 if it is missing. */
static int cache_file(char out[32], int i, const char *name)
{
	char path[96];
	FILE *f;
	int ok;

	snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", i, name);
	f = fopen(path, "re");
	if (!f)
		return 0;
	ok = fgets(out, 32, f) != NULL;
	fclose(f);
	return ok;
}

static void caches_sysfs(struct cpu_caches *c)
{
	char text[32];

	for (int i = 0; i < 8 && cache_file(text, i, "type"); i++) {
		size_t bytes = 0, *to;
		int level = 0;
		char unit = 0;

		if (text[0] == 'I' || !cache_file(text, i, "level") ||
		    sscanf(text, "%d", &level) != 1)
			continue;
		if (!cache_file(text, i, "size") || sscanf(text, "%zu%c", &bytes, &unit) < 1)
			continue;
		bytes <<= unit == 'K' ? 10 : unit == 'M' ? 20 : 0;
		to = level == 1   ? &c->l1d_bytes
		     : level == 2 ? &c->l2_bytes
		     : level == 3 ? &c->l3_bytes
		                  : NULL;
		if (to)
			*to = bytes;
		if (cache_file(text, i, "coherency_line_size") && sscanf(text, "%zu", &bytes) == 1)
			c->line_bytes = bytes;
	}
}

void cpu_caches(struct cpu_caches *c)
{
	*c = (struct cpu_caches){ 0 };
#if defined __x86_64__
	caches_cpuid(c, 4);
	if (!c->l1d_bytes)
		caches_cpuid(c, 0x8000001d);
#endif
	if (!c->l1d_bytes)
		caches_sysfs(c);
}
