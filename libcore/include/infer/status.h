/* infer/status.h - version, status codes, errors and the log hook.   floor: base
 *
 * These rules hold for all headers, unless a comment names an exception.
 *
 *	Immutable  any threads may use the object at the same time
 *	Shared     the same, but the object changes: it has its own lock
 *	Confined   one thread at a time may use the object, not always the same one
 *	Static     valid until the process ends
 *	borrowed   of an object: valid until that object is closed or freed
 *
 * Functions without an object: any thread.  Close or free an object only when no other thread uses
 * it and no object that borrows it is left.
 * Arguments, and what they point to, are borrowed for the call.  An argument may be NULL only if
 * its comment mentions NULL; err always may be.
 * After a failure, an out-parameter for memory or an object that the caller would own is NULL, so
 * there is nothing to free; the other out-parameters are unspecified.  The object passed stays
 * usable.
 * _free accepts NULL.  _close sets the caller's pointer to NULL; it may be NULL before.
 * A function that can fail and lists no code fails with INFER_ENOMEM only. */
#ifndef INFER_STATUS_H
#define INFER_STATUS_H
#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

#define INFER_VERSION "0.1.0"

/* The return value of functions that can fail.  New codes are appended; codes are never
 * renumbered. */
enum infer_status {
	INFER_OK = 0,
	INFER_EINVAL,  /* the caller's mistake: an argument out of its range */
	INFER_EFORMAT, /* bad bytes; the message names file, tensor or key, and byte offset */
	INFER_EUNSUP,  /* well formed but not supported; the message names it */
	INFER_ENOMEM,  /* host or device memory, or the context, is too small */
	INFER_EIO,     /* the operating system refused; the message has its reason */
	INFER_ENET,    /* a server cannot be reached, or does not answer as it must */
	INFER_EDEVICE, /* there is no such device, or it failed */
	INFER_ECANCEL, /* cancelled by the caller, or past a deadline */
	INFER_EAGAIN,  /* the queue is full */
	INFER_EEMPTY,  /* no token or text satisfies the constraint */
	INFER_ENAN,    /* a weight or a logit is not finite */
	INFER_STATUS_COUNT
};

/* A status code and a sentence, in the caller's own storage.  Every function that takes an
 * `infer_error *` accepts NULL and writes it on failure only. */
typedef struct infer_error {
	int code;          /* enum infer_status */
	char message[252]; /* UTF-8, no newline, NUL-terminated */
} infer_error;

/* Return the name of a code, "INFER_EFORMAT"; "INFER_E?" for other numbers.  Static.  Any thread. */
const char *infer_status_name(int code);

/* Return the version of the linked library, in the form of INFER_VERSION.  Static.  Any thread. */
const char *infer_version(void);

enum infer_log_level { INFER_LOG_WARN, INFER_LOG_INFO, INFER_LOG_DEBUG };

/* The caller's log function: receives one sentence without a newline, on the thread that called
 * into the library. */
typedef void infer_log_fn(void *user, int level, const char *sentence);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
