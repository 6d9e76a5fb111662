/* pyval/budget.h - the limits of a run (steps, bytes, nesting, time), and its error.  Confined. */
#ifndef PYVAL_BUDGET_H
#define PYVAL_BUDGET_H
#include <stddef.h>
#include <stdint.h>

struct pyrun;

/* Fail with INFER_EFORMAT, "name: line N: " and the message, unless the run has failed; returns
 * r->rc. */
int py_fail(struct pyrun *r, const char *fmt, ...) __attribute__((format(printf, 2, 3), cold));
/* A step takes about 50 ns: a node evaluated, an item visited, a value made, or the bytes of a
 * string below. */
enum {
	PY_STEP_COPY = 128, /* bytes copied or compared */
	PY_STEP_LOOK = 32,  /* bytes examined one by one */
	PY_STEP_READ = 8,   /* bytes decoded to characters */
};
enum {
	PY_STEP_ITEMS = 8,   /* items moved, or keys compared, for one step */
	PY_STEP_DIGITS = 32, /* steps to convert a float to text or back */
};
/* Count steps; fails if the limit of steps or of time is exceeded. Returns r->rc. */
int py_spend(struct pyrun *r, uint64_t steps);
/* Fail with INFER_ENOMEM: the limit of bytes is exceeded. */
int py_fail_bytes(struct pyrun *r) __attribute__((cold));
/* Allocate n * size bytes in the arena, zeroed. NULL: failed, the code is in r->rc. */
void *py_alloc(struct pyrun *r, size_t n, size_t size);
/* Enter one more level of nesting; fails if the limit or the stack is exceeded. On success the
 * caller decrements r->depth when it leaves. */
int py_enter(struct pyrun *r);
#endif
