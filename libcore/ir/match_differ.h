/* ir/match_differ.h - elements that must differ, and their canonical form.  Confined. */
#ifndef IR_MATCH_DIFFER_H
#define IR_MATCH_DIFFER_H
#include "ir/match_step.h"
#include "base/slab.h"

/* The JSON value of that text, which is whole, so that equal values have equal bytes: members in
 * order of their names, characters as they are, \ only before " and \, no white space; numbers, which
 * have no exponent, as short as can be.  Behind the last character of text that is not whole, canonical_string_prefix() ends.
 * INFER_EUNSUP  nested too deeply */
int canonical_json(struct slab_buf *out, const char *text, uint32_t n);
/* of a string without its closing quote, between two characters */
void canonical_string_prefix(struct slab_buf *out, const char *text, uint32_t n);

/* The bytes of frames ITEM_BYTES, from the slab; the caller frees them; NULL: no memory. */
char *element_bytes(struct slab *slab, const struct stack_item *text, uint32_t *n);

/* Whether the stack of an element can end so that the element differs from all before it. */
int element_can_differ(struct step *s, struct stack_item *stack, struct stack_item *wrote,
                       int *can);
/* Whether infinitely many values are left for it, as far as that is seen at once. */
int has_many_values_left(struct step *s, const struct stack_item *n);
#endif
