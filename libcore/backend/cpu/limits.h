/* backend/cpu/limits.h - how the CPU backend divides work among threads.  plan/ predicts its speed
 * with the same values. */
#ifndef BACKEND_CPU_LIMITS_H
#define BACKEND_CPU_LIMITS_H

enum {
	CPU_ITEM_WORK = 64 << 10, /* fewest multiplications of an item of a matrix product */
	CPU_ATTN_BLOCK = 32, /* rows of an attention task, so that a split of K stays in cache */
	CPU_ATTN_SMALL = 64 << 10, /* multiplications below which one thread runs attention */
};
#endif
