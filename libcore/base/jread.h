/* base/jread.h - reading JSON from hostile hands: jansson with limits and errors of ours.  Confined. */
#ifndef BASE_JREAD_H
#define BASE_JREAD_H
#include <stddef.h>
#include <stdint.h>
#include <jansson.h>
#include <infer/status.h>

/* One JSON value, nothing behind it, duplicate keys refused, depth <= 256.  what: the name in the message.
 * INFER_EFORMAT with line and column; INFER_ENOMEM (jansson reports some as the former).  *out: json_decref is the
 * caller's. */
int jread(json_t **out, const char *text, size_t bytes, const char *what, infer_error *err);
/* Typed fields of an object: absent or null leaves *v alone; another type or range is INFER_EFORMAT naming the key. */
int jread_i64(const json_t *o, const char *key, int64_t *v, int64_t lo, int64_t hi, const char *what, infer_error *err);
int jread_f64(const json_t *o, const char *key, double *v, double lo, double hi, const char *what, infer_error *err);
int jread_str(const json_t *o, const char *key, const char **v, size_t *len, const char *what, infer_error *err);   /* borrowed from o; len NULL: a NUL in it is EFORMAT */
#endif
