/* pyval/budget.c - the limits of a run (steps, bytes, nesting, time), and its error. */
#include "pyval/value.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/os.h"
#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* steps between readings of the clock */
enum { STEPS_UNSEEN = 1 << 16 };

static int set_failure(struct pyrun *r, int code, const char *fmt, va_list ap)
{
	char s[200];

	if (r->rc)
		return r->rc;
	vsnprintf(s, sizeof s, fmt, ap);
	for (char *p = s; *p; p++)
		if ((unsigned char)*p < ' ')
			*p = ' ';
	s[utf8_check(s, strlen(s))] = 0; /* drop an incomplete last character */
	return r->rc = err_set(r->err, code, "%s: line %d: %s", r->name, r->line, s);
}

int py_fail(struct pyrun *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	int rc = set_failure(r, INFER_EFORMAT, fmt, ap);
	va_end(ap);
	return rc;
}

static int fail_with(struct pyrun *r, int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	int rc = set_failure(r, code, fmt, ap);
	va_end(ap);
	return rc;
}

int py_fail_bytes(struct pyrun *r)
{
	r->bytes_spent |= !r->rc;
	return fail_with(r, INFER_ENOMEM, "the template needs more than %zu bytes for this",
	                 r->bytes_max);
}

int py_spend(struct pyrun *r, uint64_t steps)
{
	if (r->rc)
		return r->rc;
	r->steps += steps;
	if (r->steps > r->steps_max)
		return py_fail(r, "the template needs more than %llu steps",
		               (unsigned long long)r->steps_max);
	if (r->steps < r->clock_step)
		return INFER_OK;
	r->clock_step = r->steps + STEPS_UNSEEN;
	if (clock_thread_ns() > r->until_ns)
		return py_fail(r, "the template takes too long");
	return INFER_OK;
}

void *py_alloc(struct pyrun *r, size_t n, size_t size)
{
	size_t bytes;
	void *p;

	if (__builtin_mul_overflow(n, size, &bytes))
		bytes = SIZE_MAX;
	if (py_spend(r, 1 + (bytes < r->bytes_max ? bytes / PY_STEP_COPY : 0)))
		return NULL;
	if (bytes > r->bytes_max - r->bytes) {
		py_fail_bytes(r);
		return NULL;
	}
	r->bytes += (bytes + 15) & ~(size_t)15;
	if (r->bytes > r->bytes_max)
		r->bytes = r->bytes_max;
	p = arena_alloc(&r->arena, n, size);
	if (!p)
		r->rc = err_set(r->err, INFER_ENOMEM, "%s: out of memory", r->name);
	return p;
}

static size_t stack_used(const struct pyrun *r)
{
	return (size_t)(r->stack - (const char *)__builtin_frame_address(0));
}

/* Ask the system how much of the stack is left, and set r->stack_most to all of it but a
 * reserve. */
static int extend_stack_limit(struct pyrun *r)
{
	/* for functions that nest without py_enter: formatting a number, sorting */
	enum { RESERVE = 32 << 10 };
	size_t left = os_stack_left();

	if (left <= RESERVE)
		return py_fail(r,
		               "the template needs more levels than the %d that the stack of "
		               "this thread has room for",
		               r->depth);
	r->stack_most = stack_used(r) + left - RESERVE;
	return INFER_OK;
}

int py_enter(struct pyrun *r)
{
	if (r->rc)
		return r->rc;
	if (r->depth >= r->depth_max)
		return py_fail(r, "the template needs more than %d levels", r->depth_max);
	if (stack_used(r) > r->stack_most)
		TRY(extend_stack_limit(r));
	r->depth++;
	return INFER_OK;
}
