/* schema/text.c - automata of the keywords of numbers, strings and constants. */
#include "automata/format.h"
#include "automata/number.h"
#include "automata/regex.h"
#include "schema/compile.h"
#include "base/err.h"
#include "base/jwrite.h"

#include <stdio.h>
#include <string.h>

/* `how` of the cache, apart from enum number_bound and enum string_bound */
enum {
	CACHED_VALUES = 1000,
	CACHED_INTEGER = 2000,
	CACHED_REGEX = 3000,
	CACHED_CANONICAL = 4000,
	CACHED_CANONICAL_SHORT,
	CACHED_PLAIN,
	CACHED_SHORT
};

/* numbers without exponent; of these, numbers that are not integers */
#define PLAIN "-?(?:0|[1-9]\\d*)(?:\\.\\d+)?"
#define BROKEN "-?(?:0|[1-9]\\d*)\\.\\d*[1-9]\\d*"

int schema_own(struct schema *c, struct dfa *d, const struct dfa **out)
{
	struct grammar *g = c->g;
	int rc = work_grow(&c->w, &g->dfa, &g->cap_dfas, g->n_dfas + 1, sizeof *g->dfa);

	*out = NULL;
	if (rc) {
		dfa_drop(d, c->w.left);
		return rc;
	}
	*out = g->dfa[g->n_dfas++] = d;
	return INFER_OK;
}

/* Find the slot of (of, how), or a free one. Probes cost no steps: addresses vary by run. */
static struct htab_slot *cached_seat(const struct schema *c, const void *of, uint32_t how,
                                     uint32_t *hash)
{
	struct htab_slot *s;

	*hash = schema_hash(&of, sizeof of, how);
	for (s = htab_find(&c->by_cached, *hash); s->index != NOWHERE;
	     s = htab_next(&c->by_cached, s))
		if (c->cached[s->index].of == of && c->cached[s->index].how == how)
			break;
	return s;
}

const struct dfa *schema_cached(const struct schema *c, const void *of, uint32_t how)
{
	uint32_t hash;
	const struct htab_slot *s = cached_seat(c, of, how, &hash);

	return s->index == NOWHERE ? NULL : c->cached[s->index].d;
}

int schema_cache(struct schema *c, const void *of, uint32_t how, const struct dfa *d)
{
	uint32_t hash;
	struct htab_slot *s = cached_seat(c, of, how, &hash);

	TRY(work_grow(&c->w, &c->cached, &c->cap_cached, c->n_cached + 1, sizeof *c->cached));
	c->cached[c->n_cached] = (struct cached){ of, how, d };
	return htab_insert(&c->w, &c->by_cached, s, hash, c->n_cached++);
}

/* Return the same address for equal texts, so that equal patterns share an automaton. */
static int intern_text(struct schema *c, const char *s, size_t n, const void **out)
{
	const uint32_t hash = schema_hash(s, n, 0);
	struct htab_slot *at;

	TRY(work_steps(&c->w, n / 8 + 1));
	for (at = htab_find(&c->by_text, hash); at->index != NOWHERE;
	     at = htab_next(&c->by_text, at)) {
		const struct dfa_word *w = c->text[at->index];

		if (w->n == n && (!n || !memcmp(w->at, s, n))) {
			*out = w;
			return INFER_OK;
		}
	}
	struct dfa_word *own;

	TRY(work_alloc(&c->w, &own, 1, sizeof *own));
	*own = (struct dfa_word){ s, n };
	*out = own;
	TRY(work_grow(&c->w, &c->text, &c->cap_texts, c->n_texts + 1, sizeof *c->text));
	c->text[c->n_texts] = own;
	return htab_insert(&c->w, &c->by_text, at, hash, c->n_texts++);
}

/* Hand d over to the grammar and cache it; if rc is an error, add the JSON pointer of `at` to
 * it. */
static int cache_result(struct schema *c, int rc, const struct json *at, const void *of,
                        uint32_t how, struct dfa *d, const struct dfa **out)
{
	char why[160] = "";

	if (rc == INFER_ENOMEM)
		return rc;
	if (rc) {
		if (c->w.err)
			snprintf(why, sizeof why, "%.150s", c->w.err->message);
		return schema_fail(c, rc, at, "%s", why);
	}
	TRY(schema_own(c, d, out));
	return schema_cache(c, of, how, *out);
}

/* Set *d to f(*d, other); frees both operands. */
static int combine(struct dfa **d, struct dfa *other, int rc,
                   int (*f)(struct dfa **, const struct dfa *, const struct dfa *, struct budget *,
                            infer_error *),
                   struct budget *left, infer_error *err)
{
	struct dfa *both = NULL;

	if (!rc)
		rc = f(&both, *d, other, left, err);
	dfa_drop(*d, left);
	dfa_drop(other, left);
	*d = both;
	return rc;
}

static int negate(struct schema *c, struct dfa **d)
{
	struct dfa *no = NULL;
	const int rc = dfa_not(&no, *d, c->w.left, c->w.err);

	dfa_drop(*d, c->w.left);
	*d = no;
	return rc;
}

int schema_intersect(struct schema *c, const struct dfa *a, const struct dfa *b,
                     const struct dfa **out)
{
	*out = !a ? b : a;
	if (!a || !b || a == b || dfa_is_all(b))
		return INFER_OK;
	return schema_memo(c, MEMO_AND, a, b, out);
}

/* -- numbers -------------------------------------------------------------------------------- */

/* Write a number such that reading it gives the same double. */
static int write_number(struct schema *c, const struct json *v, struct number_text *t)
{
	struct jwrite w;
	struct buf b;
	char *at = NULL;
	int rc;

	buf_init(&b, MEM_GRAMMAR);
	jw_init(&w, &b);
	struct json plain = *v;

	plain.key = NULL;
	plain.next = NULL;
	jw_value(&w, NULL, &plain);
	rc = b.bad ? err_set(c->w.err, INFER_ENOMEM, "out of memory")
	           : work_alloc(&c->w, &at, b.len + 1, 1);
	if (!rc) {
		memcpy(at, b.at, b.len);
		*t = (struct number_text){ at, b.len };
	}
	buf_fini(&b);
	return rc;
}

static int whole_regex(struct schema *c, const char *s, struct dfa **d)
{
	return regex_dfa(d, s, strlen(s), REGEX_WHOLE, c->w.left, c->w.err);
}

int schema_integer(struct schema *c, int digits, int neg, const struct dfa **out)
{
	const struct number_spec spec = { .kind = digits ? NUMBER_DIGITS : NUMBER_INTEGER };
	const uint32_t how = CACHED_INTEGER + (uint32_t)(digits * 2 + neg);
	struct dfa *d = NULL;
	int rc;

	*out = schema_cached(c, NULL, how);
	if (*out)
		return INFER_OK;
	rc = neg ? whole_regex(c, BROKEN, &d) : number_dfa(&d, &spec, c->w.left, c->w.err);
	return cache_result(c, rc, NULL, NULL, how, d, out);
}

int schema_number(struct schema *c, const struct json *v, enum number_bound bound,
                  const struct dfa **out)
{
	struct number_spec spec = { .kind = NUMBER_ANY };
	struct dfa *d = NULL, *all = NULL;
	struct number_text t = { 0 };
	int rc;

	*out = schema_cached(c, v, bound);
	if (*out)
		return INFER_OK;
	if (v)
		TRY(write_number(c, v, &t));
	switch (bound) {
	case BOUND_NONE:
		break;
	case BOUND_MULTIPLE:
	case BOUND_NOT_MULTIPLE:
		spec.multiple_of = t;
		break;
	case BOUND_AT_MOST:
		spec.maximum = t;
		break;
	case BOUND_BELOW:
		spec.exclusive_maximum = t;
		break;
	case BOUND_AT_LEAST:
		spec.minimum = t;
		break;
	case BOUND_ABOVE:
		spec.exclusive_minimum = t;
		break;
	}
	rc = number_dfa(&d, &spec, c->w.left, c->w.err);
	if (!rc && bound == BOUND_NOT_MULTIPLE) {
		rc = whole_regex(c, PLAIN, &all);
		rc = combine(&all, d, rc, dfa_minus, c->w.left, c->w.err);
		d = all;
	}
	return cache_result(c, rc, v, v, bound, d, out);
}

/* Canonical notations of numbers: their integers without exponent fit 64 bits, all fit a double. */
#define CANONICAL \
	"(?:0|-?[1-9]\\d{0,17}|-?(?:0|[1-9]\\d{0,11})\\.\\d{1,20})" \
	"(?:[eE][-+]?(?:\\d\\d?|[01]\\d\\d|2[0-7]\\d))?"
/* of integers that do not fit 64 bits, and of numbers that no canonical notation has */
#define LONG_INTEGERS "0|-?[1-9]\\d*"
/* one notation of each number */
#define SHORTEST "0|-?[1-9]\\d*|-?(?:0|[1-9]\\d*)\\.\\d*[1-9]"

/* Intersect numbers with a regular expression that matches whole numbers. */
static int restrict_numbers(struct schema *c, const struct dfa *numbers, const char *spellings,
                            struct dfa **d)
{
	struct dfa *all = NULL;
	int rc;

	TRY(whole_regex(c, spellings, &all));
	rc = dfa_and(d, numbers, all, c->w.left, c->w.err);
	dfa_drop(all, c->w.left);
	return rc;
}

/* Set *yes to 1 if all of these numbers are integers. */
static int are_integers(struct schema *c, const struct dfa *numbers, int *yes)
{
	const struct dfa *integers;
	struct dfa *d = NULL;

	TRY(schema_integer(c, 0, 0, &integers));
	*yes = numbers == integers;
	if (*yes)
		return INFER_OK;
	TRY(dfa_minus(&d, numbers, integers, c->w.left, c->w.err));
	*yes = dfa_is_none(d);
	dfa_drop(d, c->w.left);
	return INFER_OK;
}

/* Set *d to the integers among these numbers that fit 64 bits. */
static int restrict_to_int64(struct schema *c, const struct dfa *numbers, struct dfa **d)
{
	struct dfa *all;
	int rc;

	TRY(number_int64(&all, c->w.left, c->w.err));
	if (numbers == schema_cached(c, NULL, CACHED_INTEGER)) {
		*d = all;
		return INFER_OK;
	}
	rc = dfa_and(d, numbers, all, c->w.left, c->w.err);
	dfa_drop(all, c->w.left);
	return rc;
}

int schema_canonical_numbers(struct schema *c, const struct dfa *numbers, int is_short,
                             const struct dfa **out)
{
	const uint32_t how = is_short ? CACHED_CANONICAL_SHORT : CACHED_CANONICAL;
	struct dfa *d = NULL;
	int integers = 0;

	*out = schema_cached(c, numbers, how);
	if (*out)
		return INFER_OK;
	if (!is_short)
		TRY(are_integers(c, numbers, &integers));
	TRY(integers ? restrict_to_int64(c, numbers, &d)
	             : restrict_numbers(c, numbers, is_short ? SHORTEST : CANONICAL, &d));
	if (dfa_is_none(d)) {
		dfa_drop(d, c->w.left);
		TRY(restrict_numbers(c, numbers, LONG_INTEGERS, &d));
	}
	*out = numbers;
	if (dfa_is_none(d))
		dfa_drop(d, c->w.left);
	else
		TRY(schema_own(c, d, out));
	return schema_cache(c, numbers, how, *out);
}

int schema_plain_numbers(struct schema *c, const struct dfa *numbers, int is_short,
                         const struct dfa **out)
{
	const uint32_t how = is_short ? CACHED_SHORT : CACHED_PLAIN;
	struct dfa *d = NULL;

	*out = schema_cached(c, numbers, how);
	if (*out)
		return INFER_OK;
	TRY(restrict_numbers(c, numbers, is_short ? SHORTEST : PLAIN, &d));
	TRY(schema_own(c, d, out));
	return schema_cache(c, numbers, how, *out);
}

/* -- strings -------------------------------------------------------------------------------- */

uint32_t schema_count(const struct json *v)
{
	const double d = json_double(v);

	return d > 4e9 ? DFA_FOREVER - 1 : (uint32_t)d;
}

static int lengths_dfa(struct schema *c, uint32_t n, enum string_bound kind, int neg,
                       struct dfa **d)
{
	struct budget *left = c->w.left;

	if (kind == STRING_MAX_LENGTH)
		return neg ? dfa_lengths(d, n + 1, DFA_FOREVER, left, c->w.err)
		           : dfa_lengths(d, 0, n, left, c->w.err);
	if (!neg)
		return dfa_lengths(d, n, DFA_FOREVER, left, c->w.err);
	return n ? dfa_lengths(d, 0, n - 1, left, c->w.err) : dfa_none(d, left, c->w.err);
}

/* Return the same address for equal numbers. */
static int intern_count(struct schema *c, uint32_t n, const void **out)
{
	char *own;

	TRY(work_alloc(&c->w, &own, sizeof n, 1));
	memcpy(own, &n, sizeof n);
	return intern_text(c, own, sizeof n, out);
}

int schema_string(struct schema *c, const struct json *v, enum string_bound kind, int neg,
                  const struct dfa **out)
{
	const uint32_t how = (uint32_t)kind * 2 + (uint32_t)neg;
	const int length = kind == STRING_MAX_LENGTH || kind == STRING_MIN_LENGTH;
	const struct string_format *f = NULL;
	struct dfa *d = NULL;
	const void *of;
	int rc;

	TRY(length ? intern_count(c, schema_count(v), &of)
	           : intern_text(c, json_str(v), v->n, &of));
	*out = schema_cached(c, of, how);
	if (*out)
		return INFER_OK;
	if (length) {
		rc = lengths_dfa(c, schema_count(v), kind, neg, &d);
		return cache_result(c, rc, v, of, how, d, out);
	}
	if (kind == STRING_FORMAT) {
		f = string_format_find(v->s, v->n);
		if (!f)
			return schema_fail(c, INFER_EUNSUP, v, "this format is not supported");
		rc = string_format_dfa(&d, f, c->w.left, c->w.err);
	} else {
		rc = regex_dfa(&d, v->s, v->n, REGEX_SEARCH, c->w.left, c->w.err);
	}
	if (!rc && neg)
		rc = negate(c, &d);
	return cache_result(c, rc, v, of, how, d, out);
}

int schema_short_strings(struct schema *c, const struct json *v, uint32_t n, const struct dfa **out)
{
	const uint32_t how = STRING_MAX_LENGTH * 2;
	struct dfa *d = NULL;
	const void *of;
	int rc;

	TRY(intern_count(c, n, &of));
	*out = schema_cached(c, of, how);
	if (*out)
		return INFER_OK;
	rc = lengths_dfa(c, n, STRING_MAX_LENGTH, 0, &d);
	return cache_result(c, rc, v, of, how, d, out);
}

int schema_regex(struct schema *c, const struct json *at, const char *s, size_t n,
                 const struct dfa **out)
{
	struct dfa *d = NULL;
	const void *of;
	int rc;

	TRY(intern_text(c, s, n, &of));
	*out = schema_cached(c, of, CACHED_REGEX);
	if (*out)
		return INFER_OK;
	rc = regex_dfa(&d, s, n, REGEX_SEARCH, c->w.left, c->w.err);
	return cache_result(c, rc, at, of, CACHED_REGEX, d, out);
}

/* -- values --------------------------------------------------------------------------------- */

/* Make the automaton of the numbers equal to v, or of all others if neg. */
static int equal_number(struct schema *c, const struct json *v, int neg, struct dfa **d)
{
	struct number_spec spec = { .kind = NUMBER_ANY };
	struct budget *left = c->w.left;
	struct number_text t;
	struct dfa *above = NULL;
	int rc;

	TRY(write_number(c, v, &t));
	if (!neg) {
		spec.minimum = spec.maximum = t;
		return number_dfa(d, &spec, left, c->w.err);
	}
	spec.exclusive_maximum = t;
	TRY(number_dfa(d, &spec, left, c->w.err));
	spec = (struct number_spec){ .kind = NUMBER_ANY, .exclusive_minimum = t };
	rc = number_dfa(&above, &spec, left, c->w.err);
	return combine(d, above, rc, dfa_or, left, c->w.err);
}

enum { LEVELS = 32 };

/* Merge d, which is consumed, into of: of[k] combines 2^k numbers, or is NULL. So each automaton is
 * copied O(log n) times. all: merge everything into of[0]. */
static int merge_dfa(struct schema *c, struct dfa **of, struct dfa *d, int neg, int all)
{
	for (int k = 0; k < LEVELS; k++) {
		if (!of[k] && !all) {
			of[k] = d;
			return INFER_OK;
		}
		if (of[k] && d)
			TRY(combine(of + k, d, INFER_OK, neg ? dfa_and : dfa_or, c->w.left,
			            c->w.err));
		d = of[k] ? of[k] : d;
		of[k] = NULL;
	}
	of[0] = d;
	return INFER_OK;
}

static int numbers_dfa(struct schema *c, const struct json *v, int list, int neg, struct dfa **d)
{
	struct budget *left = c->w.left;
	struct dfa *of[LEVELS] = { 0 };
	int rc = INFER_OK;

	if (!list)
		return equal_number(c, v, neg, d);
	json_each(e, v) {
		struct dfa *one;

		if (!json_is_number(e))
			continue;
		rc = equal_number(c, e, neg, &one);
		if (!rc)
			rc = merge_dfa(c, of, one, neg, 0);
		if (rc)
			break;
	}
	if (!rc)
		rc = merge_dfa(c, of, NULL, neg, 1);
	*d = of[0];
	for (int k = rc ? 0 : LEVELS; k < LEVELS; k++)
		dfa_drop(of[k], left);
	if (rc || *d)
		return rc;
	return neg ? number_dfa(d, &(struct number_spec){ .kind = NUMBER_ANY }, left, c->w.err)
	           : dfa_none(d, left, c->w.err);
}

static int strings_dfa(struct schema *c, const struct json *v, int list, int neg, struct dfa **d)
{
	struct dfa_word *word, one = { json_str(v), json_bytes(v) };
	size_t n = 0;
	int rc;

	if (!list)
		word = &one;
	else
		TRY(work_alloc(&c->w, &word, json_count(v) + 1, sizeof *word));
	if (list)
		json_each(e, v)
			if (json_is_string(e))
				word[n++] = (struct dfa_word){ e->s, e->n };
	rc = dfa_words(d, word, list ? n : 1, c->w.left, c->w.err);
	return rc || !neg ? rc : negate(c, d);
}

int schema_values(struct schema *c, const struct json *v, int list, int neg, const struct dfa **out)
{
	const uint32_t how =
		CACHED_VALUES + (uint32_t)c->type * 4 + (uint32_t)list * 2 + (uint32_t)neg;
	struct dfa *d = NULL;
	int rc;

	*out = schema_cached(c, v, how);
	if (*out)
		return INFER_OK;
	rc = c->type == ALT_NUMBER ? numbers_dfa(c, v, list, neg, &d)
	                           : strings_dfa(c, v, list, neg, &d);
	return cache_result(c, rc, v, v, how, d, out);
}

int schema_equal(const struct json *a, const struct json *b)
{
	if (json_is_number(a) && json_is_number(b)) {
		if (json_is_whole(a) && json_is_whole(b))
			return a->kind == b->kind && a->i == b->i;
		return json_double(a) <= json_double(b) && json_double(a) >= json_double(b);
	}
	if (!a || !b || a->kind != b->kind)
		return 0;
	if (json_is_string(a))
		return a->n == b->n && !memcmp(a->s, b->s, a->n);
	if (!json_is_array(a) && !json_is_object(a))
		return 1;
	if (a->n != b->n)
		return 0;
	const struct json *y = json_first(b);

	json_each(x, a) {
		const struct json *other = json_is_object(a) ? json_getn(b, x->key, x->key_n) : y;

		if (!other || !schema_equal(x, other))
			return 0;
		y = y->next;
	}
	return 1;
}
