/* automata/terms.h - automata of terminals, composed of texts, expressions and other terminals.
 *
 *	terms_init(&t, &w);
 *	terms_text(&t, "ab", 2, 0, &a);
 *	terms_regex(&t, "[0-9]+", 6, "", &b);
 *	terms_join(&t, TERMS_CAT, (const struct re *[]){ a, b }, 2, &c);
 *	terms_dfa(&d, &t, c);
 *	terms_fini(&t);
 *
 * A term may be part of any number of others.  Expressions have the syntax of Rust's crate regex: Unicode
 * classes, modifiers (?imsxuU), nested classes with && -- ~~, POSIX classes.  A ^ or \A at the beginning
 * and a $ or \z at the end of an expression have no effect; a lazy quantifier accepts what a greedy one
 * does.
 * INFER_EUNSUP: other anchors, also ^ and $ under the modifier m, \b, properties that automata/regex.h does not have, the flag R.
 *
 * Confined; memory and errors as in automata/work.h. */
#ifndef AUTOMATA_TERMS_H
#define AUTOMATA_TERMS_H
#include "automata/work.h"

struct re;
struct regex;
struct terms {
	struct work *w; /* borrowed until terms_fini */
	struct regex *x;
};
enum terms_op { TERMS_CAT, TERMS_ALT };

int terms_init(struct terms *t, struct work *w);
void terms_fini(struct terms *t); /* also after a failure of terms_init */

/* A text, UTF-8; fold: in upper or lower case. */
int terms_text(struct terms *t, const char *s, size_t n, int fold, const struct re **out);
/* one character of lo ... hi */
int terms_range(struct terms *t, uint32_t lo, uint32_t hi, const struct re **out);
/* flags: letters of imsxu
 * INFER_EINVAL  not an expression; the message names the character */
int terms_regex(struct terms *t, const char *pattern, size_t n, const char *flags,
                const struct re **out);
/* n terms in sequence, or one of them; n 0: the empty text, or none */
int terms_join(struct terms *t, enum terms_op op, const struct re *const *kid, uint32_t n,
               const struct re **out);
/* a term lo ... hi times; hi NOWHERE: without a bound */
int terms_repeat(struct terms *t, const struct re *kid, uint32_t lo, uint32_t hi,
                 const struct re **out);
/* texts of both; texts that are not of the term */
int terms_and(struct terms *t, const struct re *a, const struct re *b, const struct re **out);
int terms_not(struct terms *t, const struct re *kid, const struct re **out);
/* Set *out to the automaton of a term, owned by the caller. */
int terms_dfa(struct dfa **out, struct terms *t, const struct re *re);
#endif
