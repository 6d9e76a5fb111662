/* backend/cpu/limits.h - how the CPU backend divides work among threads.  plan/ predicts its speed
 * with the same values. */
#ifndef BACKEND_CPU_LIMITS_H
#define BACKEND_CPU_LIMITS_H

enum {
	CPU_ITEM_WORK = 64 << 10,  /* least multiplications of an item of a product */
	CPU_ATTN_BLOCK = 32,       /* rows of a task of attention; a split of K stays in cache */
	CPU_ATTN_SMALL = 64 << 10, /* multiplications below which one thread runs attention */
};
#endif
