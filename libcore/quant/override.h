/* quant/override.h - (private) the types that patterns of names give to tensors. */
#ifndef QUANT_OVERRIDE_H
#define QUANT_OVERRIDE_H
#include <infer/file.h>
#include "base/arena.h"

/* How weights are rounded. */
enum method { METHOD_SEARCH, METHOD_RTN, METHOD_GPTQ, METHOD_COUNT };
const char *method_name(int method);
int method_find(const char *name); /* -1: there is none */

struct override_rule {
	const char *pattern, *label; /* label: the rule in messages */
	int type, code;              /* code: of errors that are the rule's fault */
	int method;                  /* -1: as the other tensors */
};
/* Read "PATTERN=TYPE"; the texts are copied into a.  INFER_EINVAL, INFER_ENOMEM */
int override_read(struct override_rule *r, struct arena *a, const char *rule, infer_error *err);

struct overrides;
/* rules: borrowed.  The code of a rule: its pattern is malformed; INFER_ENOMEM */
int override_new(struct overrides **out, const struct override_rule *rules, size_t n,
                 infer_error *err);
void override_free(struct overrides *k); /* NULL is fine */
/* The rule of the first pattern that matches a part of the name; NULL: none does.
 * The code of a rule: the pattern takes too long */
int override_find(const struct override_rule **rule, struct overrides *k, struct infer_str name,
                  infer_error *err);
/* The code of a rule: its pattern has matched no tensor */
int override_check(const struct overrides *k, infer_error *err);
#endif
