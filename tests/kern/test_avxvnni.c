/* tests/kern/test_avxvnni.c - avxvnni on processors with the AVX-512 form of its instructions:
 * the sources of the folder, compiled for that, give the bits of ref.  Left out under
 * sanitizers, where compiling this takes minutes. */
#include "../unit/left_out.h"
#include "mm_cases.h"

#if defined __x86_64__ && defined __GNUC__ && !defined __clang__ && \
	!defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
#define WITH_EVEX 1
#pragma GCC target("avx2,fma,f16c,avx512f,avx512vl,avx512vnni")
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#define KERN_ISA evex
#define kern_avxvnni kern_evex
extern const struct kern kern_evex;
#include "kern/avxvnni/quant.c"
#include "kern/avxvnni/mm_q32.c"
#undef ROW
#undef ROWS_TYPES
#include "kern/avxvnni/mm_q256.c"
#undef ROW
#define pack8 pack8_256
#include "kern/avxvnni/mm_q256_tile.c"
#undef ROW
#include "kern/avxvnni/table.c"

static void test_bits(void **state)
{
	const uint64_t needs = CPU_AVX2 | CPU_FMA | CPU_F16C | CPU_AVX512 | CPU_AVX512VNNI;
	const struct kern ref = kern_select(0);
	int n = 0;

	(void)state;
	if ((cpu_features() & needs) != needs)
		left_out("needs a processor with AVX-VNNI");
	for (int t = 0; t < INFER_TYPE_COUNT; t++)
		if (kern_evex.mm[t].rows) {
			shapes_of(&kern_evex, &ref, t);
			n++;
		}
#define ONE(TYPE, name) +1
	assert_int_equal(n, 0 KERN_ROWS_32(ONE) KERN_ROWS_64(ONE) KERN_ROWS_16(ONE)
	                            KERN_ROWS_256(ONE));
}
#endif

/* the instructions of wider sets do not make this one usable */
static void test_needs(void **state)
{
	(void)state;
	for (unsigned i = 0; kern_name(i); i++)
		if (!strcmp(kern_name(i), "avxvnni"))
			assert_true(kern_needs(i) & CPU_AVXVNNI &&
			            !(kern_needs(i) & CPU_AVX512VNNI));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#ifdef WITH_EVEX
		cmocka_unit_test(test_bits),
#endif
		cmocka_unit_test(test_needs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
