/* quant/keep.h - (private) the types that the caller gives to tensors by patterns of their names. */
#ifndef QUANT_KEEP_H
#define QUANT_KEEP_H
#include <infer/file.h>

struct keep;
/* Of "PATTERN=TYPE" [n].  INFER_EINVAL: malformed; INFER_ENOMEM */
int keep_new(struct keep **out, const char *const *rules, size_t n, infer_error *err);
void keep_free(struct keep *k); /* NULL is fine */
/* The type of the first pattern that matches a part of the name; -1: none does.
 * INFER_EINVAL: the pattern takes too long */
int keep_find(int *type, struct keep *k, struct infer_str name, infer_error *err);
/* INFER_EINVAL: a pattern has matched no tensor */
int keep_check(const struct keep *k, infer_error *err);
#endif
