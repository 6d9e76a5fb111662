/* base/err.h - set and forward errors. */
#ifndef BASE_ERR_H
#define BASE_ERR_H
#include <infer/status.h>

/* Set *err (may be NULL) to code and a printf message, cut at a UTF-8 boundary.  Returns code. */
int err_set(infer_error *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4), cold));

/* As err_set with INFER_EIO (INFER_ENOMEM for ENOMEM), adding ": " and strerror(errnum). */
int err_errno(infer_error *err, int errnum, const char *fmt, ...)
	__attribute__((format(printf, 3, 4), cold));

/* Set INFER_ENOMEM, "out of memory", and return it. */
int err_nomem(infer_error *err) __attribute__((cold));

/* Return the error code of `call` if it fails.  Use it only where nothing must be cleaned up. */
#define TRY(call) \
	do { \
		int try_rc_ = (call); \
		if (try_rc_) \
			return try_rc_; \
	} while (0)

/* Check an internal invariant, also in release builds.  If x is false, print a line on stderr and
 * abort().  Never use it to check input. */
#define must(x) ((x) ? (void)0 : must_fail(#x, __FILE__, __LINE__))
_Noreturn void must_fail(const char *what, const char *file, int line) __attribute__((cold));
#endif
