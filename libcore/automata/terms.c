/* automata/terms.c - compose the automata of terminals. */
#include "automata/terms.h"
#include "automata/regex_nfa.h"
#include "base/utf8.h"

int terms_init(struct terms *t, struct work *w)
{
	*t = (struct terms){ .w = w };
	TRY(work_alloc(w, &t->x, 1, sizeof *t->x));
	*t->x = (struct regex){ .w = w, .text = "", .end = "" };
	return htab_init(w, &t->x->index);
}

void terms_fini(struct terms *t)
{
	for (uint32_t i = 0; t->x && i < t->x->n_dfas; i++)
		dfa_drop(t->x->dfas[i], t->w->left);
	t->x = NULL;
}

/* Put a copy of `kid` before the kids of `re`, which are listed from last to first. */
static int append_kid(struct terms *t, struct re *re, const struct re *kid)
{
	struct re *copy;

	TRY(regex_node(t->x, kid->kind, t->x->text, &copy));
	*copy = *kid;
	copy->next = re->kid;
	re->kid = copy;
	re->kinds |= kid->kinds;
	return INFER_OK;
}

int terms_range(struct terms *t, uint32_t lo, uint32_t hi, const struct re **out)
{
	struct cpset set = { 0 };
	struct re *re;

	TRY(cpset_add(t->w, &set, lo, hi));
	TRY(regex_set_node(t->x, t->x->text, &set, &re));
	*out = re;
	return INFER_OK;
}

int terms_text(struct terms *t, const char *s, size_t n, int fold, const struct re **out)
{
	struct re *cat;

	TRY(regex_node(t->x, RE_CAT, t->x->text, &cat));
	for (size_t i = 0; i < n;) {
		struct cpset set = { 0 };
		struct re *re;
		uint32_t cp;
		const int len = utf8_get(s + i, n - i, &cp);

		if (!len)
			return err_set(t->w->err, INFER_EINVAL, "not UTF-8");
		i += (size_t)len;
		TRY(cpset_add(t->w, &set, cp, cp));
		if (fold)
			TRY(regex_fold(t->w, &set));
		TRY(regex_set_node(t->x, t->x->text, &set, &re));
		re->next = cat->kid;
		cat->kid = re;
		cat->kinds |= re->kinds;
	}
	*out = cat;
	return INFER_OK;
}

int terms_regex(struct terms *t, const char *pattern, size_t n, const char *flags,
                const struct re **out)
{
	struct re *re;

	TRY(regex_parse_rust(t->x, pattern, n, flags, &re));
	t->x->text = t->x->end = "";
	*out = re;
	return INFER_OK;
}

int terms_join(struct terms *t, enum terms_op op, const struct re *const *kid, uint32_t n,
               const struct re **out)
{
	struct cpset none = { 0 };
	struct re *re;

	if (n == 1) {
		*out = kid[0];
		return INFER_OK;
	}
	if (op == TERMS_ALT && !n) {
		TRY(regex_set_node(t->x, t->x->text, &none, &re));
	} else {
		TRY(regex_node(t->x, op == TERMS_CAT ? RE_CAT : RE_ALT, t->x->text, &re));
		for (uint32_t i = 0; i < n; i++)
			TRY(append_kid(t, re, kid[i]));
	}
	*out = re;
	return INFER_OK;
}

int terms_repeat(struct terms *t, const struct re *kid, uint32_t lo, uint32_t hi,
                 const struct re **out)
{
	struct re *re;

	TRY(regex_node(t->x, RE_REPEAT, t->x->text, &re));
	re->lo = lo;
	re->hi = hi;
	TRY(append_kid(t, re, kid));
	*out = re;
	return INFER_OK;
}

int terms_dfa(struct dfa **out, struct terms *t, const struct re *re)
{
	const struct nfa_context context = { 0 };

	return regex_det(out, t->x, re, &context);
}

/* Add a node of the automaton d; takes d. */
static int add_dfa_node(struct terms *t, struct dfa *d, const struct re **out)
{
	struct regex *x = t->x;
	struct re *re;
	int rc = work_grow(t->w, &x->dfas, &x->cap_dfas, (uint64_t)x->n_dfas + 1, sizeof *x->dfas);

	if (rc) {
		dfa_drop(d, t->w->left);
		return rc;
	}
	x->dfas[x->n_dfas++] = d;
	TRY(regex_node(x, RE_DFA, x->text, &re));
	re->lo = x->n_dfas - 1;
	*out = re;
	return INFER_OK;
}

int terms_not(struct terms *t, const struct re *kid, const struct re **out)
{
	struct dfa *d, *not ;
	int rc;

	TRY(terms_dfa(&d, t, kid));
	rc = dfa_not(&not, d, t->w->left, t->w->err);
	dfa_drop(d, t->w->left);
	return rc ? rc : add_dfa_node(t, not, out);
}

int terms_and(struct terms *t, const struct re *a, const struct re *b, const struct re **out)
{
	struct dfa *da, *db, *both = NULL;
	int rc;

	TRY(terms_dfa(&da, t, a));
	rc = terms_dfa(&db, t, b);
	if (!rc) {
		rc = dfa_and(&both, da, db, t->w->left, t->w->err);
		dfa_drop(db, t->w->left);
	}
	dfa_drop(da, t->w->left);
	return rc ? rc : add_dfa_node(t, both, out);
}
