/* base/mem.c - counted heap calls that can be made to fail. */
#include "base/mem.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static _Atomic uint64_t mem_count[MEM_MODULES];
static _Atomic uint64_t mem_blocks;
static _Atomic uint64_t mem_countdown; /* calls until one fails; 0: none fails */

/* Count a call of module `who`; nonzero if this call has to fail. */
static int count_call(enum mem_module who)
{
	uint64_t left = atomic_load_explicit(&mem_countdown, memory_order_relaxed);

	atomic_fetch_add_explicit(&mem_count[who], 1, memory_order_relaxed);
	while (left)
		if (atomic_compare_exchange_weak(&mem_countdown, &left, left - 1))
			return left == 1;
	return 0;
}

static void *count_block(void *p)
{
	if (p)
		atomic_fetch_add_explicit(&mem_blocks, 1, memory_order_relaxed);
	return p;
}

void *mem_alloc(enum mem_module who, size_t n, size_t size)
{
	size_t bytes;

	if (count_call(who) || __builtin_mul_overflow(n, size, &bytes) || bytes > PTRDIFF_MAX)
		return NULL;
	return count_block(malloc(bytes ? bytes : 1));
}

void *mem_zalloc(enum mem_module who, size_t n, size_t size)
{
	size_t bytes;

	if (count_call(who) || __builtin_mul_overflow(n, size, &bytes) || bytes > PTRDIFF_MAX)
		return NULL;
	return count_block(calloc(bytes ? bytes : 1, 1));
}

void *mem_realloc(enum mem_module who, void *p, size_t n, size_t size)
{
	size_t bytes;
	void *q;

	if (count_call(who) || __builtin_mul_overflow(n, size, &bytes) || bytes > PTRDIFF_MAX)
		return NULL;
	q = realloc(p, bytes ? bytes : 1);
	return p ? q : count_block(q);
}

void *mem_aligned(enum mem_module who, size_t align, size_t bytes)
{
	void *p;

	if (count_call(who) || bytes > PTRDIFF_MAX)
		return NULL;
	if (align < 16)
		align = 16;
	return posix_memalign(&p, align, bytes ? bytes : 1) ? NULL : count_block(p);
}

char *mem_strndup(enum mem_module who, const char *s, size_t n)
{
	char *p = n < SIZE_MAX ? mem_alloc(who, n + 1, 1) : NULL;

	if (p) {
		if (n)
			memcpy(p, s, n);
		p[n] = 0;
	}
	return p;
}

void mem_free(void *p)
{
	if (!p)
		return;
	atomic_fetch_sub_explicit(&mem_blocks, 1, memory_order_relaxed);
	free(p);
}

uint64_t mem_calls(enum mem_module who) { return atomic_load(&mem_count[who]); }

uint64_t mem_calls_all(void)
{
	uint64_t sum = 0;

	for (int i = 0; i < MEM_MODULES; i++)
		sum += atomic_load(&mem_count[i]);
	return sum;
}

uint64_t mem_live(void) { return atomic_load(&mem_blocks); }

void mem_fail_at(uint64_t nth) { atomic_store(&mem_countdown, nth); }
