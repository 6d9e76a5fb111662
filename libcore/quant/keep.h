/* quant/keep.h - (private) the types that patterns of names give to tensors. */
#ifndef QUANT_KEEP_H
#define QUANT_KEEP_H
#include <infer/file.h>
#include "base/arena.h"

struct keep_rule {
	const char *pattern, *label; /* label: the rule in messages */
	int type, code;              /* code: of errors that are the rule's fault */
};
/* Read "PATTERN=TYPE"; the texts are copied into a.  INFER_EINVAL, INFER_ENOMEM */
int keep_read(struct keep_rule *r, struct arena *a, const char *rule, infer_error *err);

struct keep;
/* rules: borrowed.  The code of a rule: its pattern is malformed; INFER_ENOMEM */
int keep_new(struct keep **out, const struct keep_rule *rules, size_t n, infer_error *err);
void keep_free(struct keep *k); /* NULL is fine */
/* The type of the first pattern that matches a part of the name; -1: none does.
 * The code of a rule: the pattern takes too long */
int keep_find(int *type, struct keep *k, struct infer_str name, infer_error *err);
/* The code of a rule: its pattern has matched no tensor */
int keep_check(const struct keep *k, infer_error *err);
#endif
