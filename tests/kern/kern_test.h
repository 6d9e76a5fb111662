/* tests/kern/kern_test.h - every kernel set that this processor runs, and memory that ends at
 * the end of a mapping. */
#ifndef TESTS_KERN_TEST_H
#define TESTS_KERN_TEST_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cpu.h"
#include "kern/data.h"

/* bytes of memory right before a page that may not be touched; aligned to 1 */
struct fence {
	char *base, *at;
	size_t map;
};

static inline struct fence fence_new(size_t bytes)
{
	struct fence f;
	size_t room = (bytes + 4095) & ~(size_t)4095;

	f.map = room + 4096;
	f.base = mmap(NULL, f.map, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(f.base != MAP_FAILED);
	assert_int_equal(mprotect(f.base + room, 4096, PROT_NONE), 0);
	f.at = f.base + room - bytes;
	return f;
}

static inline void fence_free(struct fence *f) { munmap(f->base, f->map); }

/* memory aligned to 64, exactly `bytes` of it */
static inline void *block_new(size_t bytes)
{
	void *p = NULL;

	assert_int_equal(posix_memalign(&p, 64, bytes ? bytes : 1), 0);
	return p;
}

/* Call f for each set above ref that runs here, as the table it gives when nothing wider is
 * there. */
static inline int each_set(void (*f)(const struct kern *k, const struct kern *ref))
{
	const struct kern ref = kern_select(0);
	int n = 0;

	f(&ref, &ref);
	for (unsigned i = 1; kern_name(i); i++) {
		uint64_t have = cpu_permit(cpu_features());
		if (kern_limit(&have, kern_name(i), NULL) != INFER_OK) {
			printf("# %s: not on this processor\n", kern_name(i));
			continue;
		}
		const struct kern k = kern_select(have);
		f(&k, &ref);
		n++;
	}
	return n;
}
#endif
