/* quant/override.h - (private) type overrides: types of tensors by patterns of their names. */
#ifndef QUANT_OVERRIDE_H
#define QUANT_OVERRIDE_H
#include <infer/file.h>
#include "base/arena.h"

/* How weights are rounded. */
enum method { METHOD_SEARCH, METHOD_RTN, METHOD_GPTQ, METHOD_COUNT };
const char *method_name(int method);
int method_find(const char *name); /* enum method; -1: there is none */

struct override_rule {
	const char *pattern, *label; /* label: names the rule in messages */
	int type, code;              /* enum infer_type; the error code if the rule is wrong */
	int method;                  /* enum method; -1: the recipe's */
};
/* Read "PATTERN=TYPE" into *r; strings are copied into a.  INFER_EINVAL: malformed, or an
 * unknown type; INFER_ENOMEM */
int override_read(struct override_rule *r, struct arena *a, const char *rule, infer_error *err);

struct overrides;
/* Compile rules [n], borrowed.  Error code of the rule: its pattern is malformed; INFER_ENOMEM */
int override_new(struct overrides **out, const struct override_rule *rules, size_t n,
                 infer_error *err);
void override_free(struct overrides *k); /* NULL is fine */
/* Set *rule to the first rule whose pattern matches a part of the name, or NULL.
 * Error code of the rule: matching takes too long. */
int override_find(const struct override_rule **rule, struct overrides *k, struct infer_str name,
                  infer_error *err);
/* Check that every pattern has matched a tensor.  Error code of the rule: its has not. */
int override_check(const struct overrides *k, infer_error *err);
#endif
