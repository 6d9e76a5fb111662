/* base/err.h - set and forward errors. */
#ifndef BASE_ERR_H
#define BASE_ERR_H
#include <infer/status.h>

/* Fill *err (NULL is fine) with code and a printf sentence, cut at a UTF-8 boundary; returns
 * code. */
int err_set(infer_error *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4), cold));

/* As err_set with INFER_EIO (INFER_ENOMEM for ENOMEM), adding ": " and strerror(errnum). */
int err_errno(infer_error *err, int errnum, const char *fmt, ...)
	__attribute__((format(printf, 3, 4), cold));

/* Set INFER_ENOMEM, "out of memory", and return it. */
int err_nomem(infer_error *err) __attribute__((cold));

/* Forward a failure.  Use it only where nothing needs to be cleaned up. */
#define TRY(call) \
	do { \
		int try_rc_ = (call); \
		if (try_rc_) \
			return try_rc_; \
	} while (0)

/* For our own invariants; also active in release builds: one line on stderr, then abort().  Never
 * use it for input. */
#define must(x) ((x) ? (void)0 : must_fail(#x, __FILE__, __LINE__))
_Noreturn void must_fail(const char *what, const char *file, int line) __attribute__((cold));
#endif
