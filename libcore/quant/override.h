/* quant/override.h - (private) type overrides: types of tensors by patterns of their names. */
#ifndef QUANT_OVERRIDE_H
#define QUANT_OVERRIDE_H
#include <infer/file.h>
#include "base/arena.h"

/* Methods of rounding weights. */
enum method { METHOD_SEARCH, METHOD_RTN, METHOD_GPTQ, METHOD_COUNT };
const char *method_name(int method);
int method_find(const char *name); /* enum method; -1: there is none */

struct override_rule {
	const char *pattern, *label; /* label: names the rule in messages */
	int type, code;              /* enum infer_type; error code for a bad rule */
	int method;                  /* enum method; -1: the recipe's */
};
/* Read "PATTERN=TYPE" into *r; strings are copied into a.  INFER_EINVAL: malformed, or an
 * unknown type; INFER_ENOMEM */
int override_read(struct override_rule *r, struct arena *a, const char *rule, infer_error *err);

struct overrides;
/* Compile n rules, borrowed.  INFER_ENOMEM, or the `code` of a rule whose pattern is malformed. */
int override_new(struct overrides **out, const struct override_rule *rules, size_t n,
                 infer_error *err);
void override_free(struct overrides *k); /* NULL is fine */
/* Set *rule to the first rule whose pattern matches a part of the name, or NULL.  Returns a rule's
 * `code` if its matching takes too long. */
int override_find(const struct override_rule **rule, struct overrides *k, struct infer_str name,
                  infer_error *err);
/* Check that every pattern has matched a tensor.  Returns the `code` of a rule that has not. */
int override_check(const struct overrides *k, infer_error *err);
#endif
