/* ir/match_differ.h - unique arrays: canonical forms of elements, and the check that an element can
 * still differ from earlier ones.  Confined. */
#ifndef IR_MATCH_DIFFER_H
#define IR_MATCH_DIFFER_H
#include "ir/match_step.h"
#include "base/slab.h"

/* Append the canonical form of a complete JSON text to out: equal values have equal bytes.  Members are
 * sorted by name; characters are not escaped, but " and \ are preceded by a \; no white space; numbers,
 * which have no exponent, are as short as possible.
 * INFER_EUNSUP  nested too deeply; INFER_ENOMEM; test out->bad too */
int canonical_json(struct slab_buf *out, const char *text, uint32_t n);
/* Append that of a string without its closing quote, which ends between two characters. */
void canonical_string_prefix(struct slab_buf *out, const char *text, uint32_t n);

/* Return the *n bytes of an ITEM_BYTES, freed by the caller in the slab; NULL if out of memory. */
char *element_bytes(struct slab *slab, const struct stack_item *text, uint32_t *n);

/* Set *can if the element with this stack and bytes can be completed to differ from all earlier
 * ones.
 * INFER_EUNSUP  the steps are used up, or the search found no different element */
int element_can_differ(struct step *s, struct stack_item *stack, struct stack_item *wrote,
                       int *can);
/* True if an element with this stack certainly has infinitely many completions; 0: unknown. */
int has_many_values_left(struct step *s, const struct stack_item *n);
#endif
