/* base/cpu.h - features that the processor has and the operating system allows.  Any thread; no
 * state. */
#ifndef BASE_CPU_H
#define BASE_CPU_H
#include <stddef.h>
#include <stdint.h>

enum cpu_feature {
	CPU_AVX2 = 1 << 0,
	CPU_FMA = 1 << 1,
	CPU_F16C = 1 << 2,
	CPU_AVXVNNI = 1 << 3,
	CPU_AVX512F = 1 << 4,
	CPU_AVX512BW = 1 << 5,
	CPU_AVX512VL = 1 << 6,
	CPU_AVX512DQ = 1 << 7,
	CPU_AVX512VNNI = 1 << 8,
	CPU_AVX512VBMI = 1 << 9,
	CPU_AVX512BF16 = 1 << 10,
	CPU_SHA = 1 << 11,
	CPU_AMXINT8 = 1 << 12,
	CPU_AVX512FP16 = 1 << 13,
	CPU_GFNI = 1 << 14,
	CPU_AMXBF16 = 1 << 15,
	CPU_NEON = 1 << 16,
	CPU_DOTPROD = 1 << 17,
	CPU_I8MM = 1 << 18,
	CPU_AVX512 = CPU_AVX512F | CPU_AVX512BW | CPU_AVX512VL | CPU_AVX512DQ,
	CPU_AMX = CPU_AMXINT8 | CPU_AMXBF16,
};

uint64_t cpu_features(void); /* CPU_* bits; only features that the system enables (XCR0) */
/* AMX needs permission from the system: without it, the first tile instruction raises a signal.
 * cpu_permit requests it for all threads of the process if `have` contains AMX; it returns `have`
 * without features that the system refuses.  cpu_grantable does the same, but requests nothing. */
uint64_t cpu_permit(uint64_t have);
uint64_t cpu_grantable(uint64_t have);
const char *cpu_feature_name(unsigned bit); /* "avx2" for bit 0; NULL for a bit without a name */
void cpu_model_name(char out[64]);          /* "" if unknown */

/* Caches of one core, in bytes; 0: unknown. */
struct cpu_caches {
	size_t l1d_bytes, l2_bytes, l3_bytes;
	size_t line_bytes;
};
void cpu_caches(struct cpu_caches *c);
#endif
