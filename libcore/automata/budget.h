/* automata/budget.h - limits on the work of compiling a constraint and of parsing under it.
 *
 * Work is counted, never timed: the same input succeeds or fails on every machine.  A step is an
 * elementary operation of a few nanoseconds.  An operation that needs more than is left returns
 * INFER_EUNSUP, "... needs more than ...".  Confined. */
#ifndef AUTOMATA_BUDGET_H
#define AUTOMATA_BUDGET_H
#include <stdint.h>

struct budget {
	uint64_t steps, bytes; /* left */
	int exhausted;         /* an operation failed for want of steps or bytes */
};

/* Default of one constraint: less than a second, 256 MiB. */
#define BUDGET_STEPS (UINT64_C(1) << 26)
#define BUDGET_BYTES (UINT64_C(1) << 28)
#endif
