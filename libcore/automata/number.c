/* automata/number.c - automata that compare or divide a decimal number digit by digit. */
#include "automata/number.h"
#include "automata/regex.h"
#include "automata/work.h"

#include <string.h>

/* The characters of numbers.  The class of each is its index + 1: that of digit d is ZERO + d. */
static const char alphabet[] = "+-.0123456789Ee";
enum { PLUS = 1, MINUS, POINT, ZERO, BIG_E = ZERO + 10, SMALL_E };
enum { MOST_DIGITS = 4096 };

/* -- decimals ------------------------------------------------------------------------------- */

/* the number 0.d1 d2 ... dn * 10^point, with d1 > 0 and dn > 0; n 0: zero */
struct decimal {
	struct number_text text;
	int negative;
	uint32_t n;
	int64_t point;
	uint8_t *d;
};

static int is_digit(char c) { return c >= '0' && c <= '9'; }

static int not_a_number(struct work *w, const char *key, struct number_text t)
{
	return err_set(w->err, INFER_EINVAL, "%s: '%.*s' is not a number", key,
	               t.n < 60 ? (int)t.n : 60, t.at);
}

/* Read the exponent at *at, which begins with e, and move *at after it.  Returns it, clamped to
 * about a million.  Without digits, *at is unchanged and the result is 0. */
static int64_t read_exponent(const char **at, const char *end)
{
	const char *s = *at + 1;
	const int minus = s < end && *s == '-';
	int64_t v = 0;

	s += s < end && (*s == '-' || *s == '+');
	if (s == end || !is_digit(*s))
		return 0;
	for (; s < end && is_digit(*s); s++)
		v = v < 1000000 ? v * 10 + (*s - '0') : v;
	*at = s;
	return minus ? -v : v;
}

static int read_decimal(struct work *w, const char *key, struct number_text t, struct decimal *x)
{
	const char *s = t.at, *end = t.at + t.n, *first;
	int64_t before;

	*x = (struct decimal){ .text = t, .negative = t.n && *s == '-' };
	TRY(work_steps(w, t.n));
	TRY(work_alloc(w, &x->d, t.n, sizeof *x->d));
	first = s += x->negative;
	for (; s < end && is_digit(*s); s++)
		x->d[x->n++] = (uint8_t)(*s - '0');
	before = x->n;
	if (!before || (*first == '0' && before > 1))
		return not_a_number(w, key, t);
	if (s < end && *s == '.') {
		for (s++; s < end && is_digit(*s); s++)
			x->d[x->n++] = (uint8_t)(*s - '0');
		if (x->n == before)
			return not_a_number(w, key, t);
	}
	x->point = before;
	if (s < end && (*s == 'e' || *s == 'E'))
		x->point += read_exponent(&s, end);
	if (s != end)
		return not_a_number(w, key, t);
	while (x->n && !x->d[x->n - 1])
		x->n--;
	while (x->n && !*x->d) {
		x->d++;
		x->n--;
		x->point--;
	}
	if (!x->n)
		x->point = x->negative = 0;
	if (x->point > MOST_DIGITS || (int64_t)x->n - x->point > MOST_DIGITS)
		return err_set(w->err, INFER_EUNSUP, "%s: %.*s has more than %d digits", key,
		               t.n < 60 ? (int)t.n : 60, t.at, MOST_DIGITS);
	return INFER_OK;
}

/* Return digit i of x: 0 is the first after the point, -1 the last before it. */
static int digit_at(const struct decimal *x, int64_t i)
{
	i += x->point;
	return i >= 0 && i < x->n ? x->d[i] : 0;
}

/* -- states --------------------------------------------------------------------------------- */

static int number_classes(struct work *w, struct draft *m)
{
	uint32_t cp[sizeof alphabet - 1];

	*m = (struct draft){ 0 };
	for (size_t i = 0; i < sizeof cp / sizeof *cp; i++)
		cp[i] = (unsigned char)alphabet[i];
	return classes_each(w, &m->classes, cp, sizeof cp / sizeof *cp);
}

static void set_transition(struct draft *m, uint32_t from, uint32_t class, uint32_t to)
{
	m->next[(size_t)from * m->classes.n_classes + class] = to;
}

/* -- comparing ------------------------------------------------------------------------------ */

enum order { LESS, EQUAL, MORE, ORDERS };

/* states for the numbers of one sign */
struct side {
	const struct decimal *bound; /* numbers are compared with its magnitude */
	unsigned accept;             /* accepted orders to the bound: 1 << order, or'ed */
	int exponent;                /* 1: an exponent may follow */
	/* states by the order so far: after a digit of the fraction (not EQUAL), point or e */
	uint32_t fraction[ORDERS], point[ORDERS], e[ORDERS];
	uint32_t *equal; /* [n_equal] order EQUAL, i digits after the point */
	uint32_t n_equal;
};

static enum order compare_digits(int a, int b) { return a < b ? LESS : a > b ? MORE : EQUAL; }

/* Add a state in which the number may end with order o. */
static int add_end_state(struct work *w, struct draft *m, const struct side *k, enum order o,
                         uint32_t *s)
{
	TRY(draft_state(w, m, k->accept >> o & 1, s));
	if (k->exponent) {
		set_transition(m, *s, BIG_E, k->e[o]);
		set_transition(m, *s, SMALL_E, k->e[o]);
	}
	return INFER_OK;
}

/* Add the states after the e. */
static int add_exponent(struct work *w, struct draft *m, struct side *k)
{
	for (int o = 0; o < ORDERS && k->exponent; o++) {
		uint32_t sign, digits;

		TRY(draft_state(w, m, 0, k->e + o));
		TRY(draft_state(w, m, 0, &sign));
		TRY(draft_state(w, m, k->accept >> o & 1, &digits));
		set_transition(m, k->e[o], PLUS, sign);
		set_transition(m, k->e[o], MINUS, sign);
		for (uint32_t d = ZERO; d < ZERO + 10; d++) {
			set_transition(m, k->e[o], d, digits);
			set_transition(m, sign, d, digits);
			set_transition(m, digits, d, digits);
		}
	}
	return INFER_OK;
}

/* Add the states after the point. */
static int add_fraction(struct work *w, struct draft *m, struct side *k)
{
	const int64_t behind = (int64_t)k->bound->n - k->bound->point;
	const uint32_t n = behind > 0 ? (uint32_t)behind : 0;
	int order = LESS;

	for (; order <= MORE; order += MORE - LESS) {
		TRY(add_end_state(w, m, k, (enum order)order, k->fraction + order));
		TRY(draft_state(w, m, 0, k->point + order));
		for (uint32_t d = ZERO; d < ZERO + 10; d++) {
			set_transition(m, k->fraction[order], d, k->fraction[order]);
			set_transition(m, k->point[order], d, k->fraction[order]);
		}
	}
	/* states equal so far, after i digits; zeros after the last one keep it equal */
	k->n_equal = n > 1 ? n + 1 : 2;
	TRY(work_alloc(w, &k->equal, k->n_equal, sizeof *k->equal));
	TRY(draft_state(w, m, 0, k->equal));
	for (uint32_t i = 1; i < k->n_equal; i++)
		TRY(add_end_state(w, m, k, i < n ? LESS : EQUAL, k->equal + i));
	k->point[EQUAL] = *k->equal;
	for (uint32_t i = 0; i < k->n_equal; i++)
		for (int d = 0; d < 10; d++) {
			enum order o = compare_digits(d, digit_at(k->bound, i));
			uint32_t to = i + 1 < k->n_equal ? i + 1 : i;

			set_transition(m, k->equal[i], ZERO + (uint32_t)d,
			               o == EQUAL ? k->equal[to] : k->fraction[o]);
		}
	return INFER_OK;
}

/* Add a state in which the digits before the point have order o. */
static int add_whole_state(struct work *w, struct draft *m, const struct side *k, enum order o,
                           uint32_t *s)
{
	const int less = o == EQUAL && (int64_t)k->bound->n > k->bound->point;

	TRY(add_end_state(w, m, k, less ? LESS : o, s));
	set_transition(m, *s, POINT, k->point[o]);
	return INFER_OK;
}

/* Add the states before the point, entered from `from` by the first digit.  State at[o] after i + 1
 * digits: they have order o to the first i + 1 of the n digits of the bound. */
static int add_whole(struct work *w, struct draft *m, const struct side *k, uint32_t from)
{
	const struct decimal *b = k->bound;
	const uint32_t n = b->point > 0 ? (uint32_t)b->point : 1;
	uint32_t last[ORDERS], at[ORDERS], more, zero;

	/* a number with fewer digits is less, one with more digits is more */
	TRY(add_whole_state(w, m, k, MORE, &more));
	TRY(add_whole_state(w, m, k, n > 1 ? LESS : compare_digits(0, digit_at(b, -1)), &zero));
	set_transition(m, from, ZERO, zero);
	for (uint32_t d = ZERO; d < ZERO + 10; d++)
		set_transition(m, more, d, more);
	for (uint32_t i = 0; i < n; i++, memcpy(last, at, sizeof at)) {
		const int to = digit_at(b, (int64_t)i - n);

		for (int o = 0; o < ORDERS; o++)
			TRY(add_whole_state(w, m, k, i + 1 < n ? LESS : (enum order)o, at + o));
		for (int d = !i; d < 10; d++)
			for (int o = 0; o < ORDERS; o++) {
				enum order now = o == EQUAL ? compare_digits(d, to) : (enum order)o;

				if (i || o == EQUAL)
					set_transition(m, i ? last[o] : from, ZERO + (uint32_t)d,
					               at[now]);
			}
	}
	for (uint32_t d = ZERO; d < ZERO + 10; d++)
		for (int o = 0; o < ORDERS; o++)
			set_transition(m, last[o], d, more);
	return INFER_OK;
}

/* Accept the numbers whose order to the bound is one of `accept`. */
static int build_bound(struct dfa **out, struct work *w, const struct decimal *x, unsigned accept)
{
	const int zero = !x->n;
	/* for negative numbers, by magnitude */
	const unsigned flipped =
		(accept >> LESS & 1) << MORE | (accept & 1 << EQUAL) | (accept >> MORE & 1) << LESS;
	struct side plus = { .bound = x, .accept = accept }, minus = { .bound = x };
	struct draft m;
	uint32_t sign;

	if (x->negative)
		plus.accept = accept >> MORE & 1 ? 7 : 0;
	minus.accept = x->negative || zero ? flipped : accept >> LESS & 1 ? 7 : 0;
	plus.exponent = zero || x->negative;
	minus.exponent = zero || !x->negative;
	TRY(number_classes(w, &m));
	TRY(draft_state(w, &m, 0, &m.start));
	TRY(draft_state(w, &m, 0, &sign));
	set_transition(&m, m.start, MINUS, sign);
	TRY(add_exponent(w, &m, &plus));
	TRY(add_fraction(w, &m, &plus));
	TRY(add_whole(w, &m, &plus, m.start));
	TRY(add_exponent(w, &m, &minus));
	TRY(add_fraction(w, &m, &minus));
	TRY(add_whole(w, &m, &minus, sign));
	return draft_finish(out, w, &m);
}

/* -- multiples ------------------------------------------------------------------------------ */

/* Multiples of v * 10^e, v not divisible by 10: the digits down to the place of 10^e must be
 * divisible by v, and the lower ones must be zeros. */
struct multiple {
	uint64_t v;
	uint32_t zeros, places;   /* max(e, 0); max(-e, 0) */
	uint32_t whole, fraction; /* the first states before and after the point */
};

/* Return the state of remainder r, followed by z zeros that are not divided yet. */
static uint32_t whole_at(const struct multiple *k, uint64_t r, uint32_t z)
{
	return k->whole + (uint32_t)(r * (k->zeros + 1) + z);
}

/* Return the state of remainder r after p digits after the point. */
static uint32_t fraction_at(const struct multiple *k, uint64_t r, uint32_t p)
{
	return k->fraction + (uint32_t)(r * (k->places + 1) + p);
}

/* True if r, followed by that many zeros, is divisible by v. */
static int is_divisible(const struct multiple *k, uint64_t r, uint32_t zeros)
{
	for (; zeros && r; zeros--)
		r = r * 10 % k->v;
	return !r;
}

static void add_whole_digits(struct draft *m, const struct multiple *k, uint64_t r, uint32_t z)
{
	const uint32_t s = whole_at(k, r, z);
	uint64_t shifted = r;

	m->accept[s] = z == k->zeros && is_divisible(k, r, k->places);
	/* a fraction of zeros, or of digits that are divided further */
	if (k->places || m->accept[s])
		set_transition(m, s, POINT, k->places ? fraction_at(k, r, 0) : k->fraction);
	set_transition(m, s, ZERO,
	               z < k->zeros ? whole_at(k, r, z + 1) : whole_at(k, r * 10 % k->v, z));
	for (uint32_t i = 0; i <= z; i++)
		shifted = shifted * 10 % k->v;
	for (uint32_t d = 1; d < 10; d++)
		set_transition(m, s, ZERO + d, whole_at(k, (shifted + d) % k->v, 0));
}

static void add_fraction_digits(struct draft *m, const struct multiple *k, uint64_t r, uint32_t p)
{
	const uint32_t s = fraction_at(k, r, p);

	m->accept[s] = p && is_divisible(k, r, k->places - p);
	if (p == k->places)
		set_transition(m, s, ZERO, s);
	for (uint32_t d = 0; d < 10 && p < k->places; d++)
		set_transition(m, s, ZERO + d, fraction_at(k, (r * 10 + d) % k->v, p + 1));
}

/* Add the states.  They are counted first, since there may be 10^18 of them. */
static int add_multiple_states(struct work *w, struct draft *m, const struct multiple *k)
{
	const uint64_t per = (uint64_t)k->zeros + 1 + (k->places ? k->places + 1 : 0);
	uint64_t n, bytes;
	uint32_t s;

	if (__builtin_mul_overflow(k->v, per, &n) || n > INT32_MAX ||
	    __builtin_mul_overflow(n, (uint64_t)m->classes.n_classes * sizeof *m->next, &bytes))
		bytes = UINT64_MAX;
	TRY(work_bytes(w, bytes));
	w->left->bytes += bytes;
	for (uint64_t i = 0; i < n; i++)
		TRY(draft_state(w, m, 0, &s));
	return work_steps(w, n * 64);
}

static int build_multiple(struct dfa **out, struct work *w, const struct decimal *x)
{
	const int64_t e = x->point - (int64_t)x->n;
	struct multiple k = { .zeros = e > 0 ? (uint32_t)e : 0,
		              .places = e < 0 ? (uint32_t)-e : 0 };
	struct draft m;
	uint32_t sign, zero, point, tail;

	for (uint32_t i = 0; i < x->n; i++)
		k.v = k.v * 10 + x->d[i];
	TRY(number_classes(w, &m));
	TRY(draft_state(w, &m, 0, &m.start));
	TRY(draft_state(w, &m, 0, &sign));
	TRY(draft_state(w, &m, 1, &zero));
	TRY(draft_state(w, &m, 0, &point));
	TRY(draft_state(w, &m, 1, &tail));
	k.whole = m.n;
	k.fraction = k.places ? k.whole + (uint32_t)k.v * (k.zeros + 1) : point;
	TRY(add_multiple_states(w, &m, &k));
	set_transition(&m, m.start, MINUS, sign);
	set_transition(&m, m.start, ZERO, zero);
	set_transition(&m, sign, ZERO, zero);
	set_transition(&m, zero, POINT, k.places ? fraction_at(&k, 0, 0) : point);
	set_transition(&m, point, ZERO, tail);
	set_transition(&m, tail, ZERO, tail);
	for (uint32_t d = 1; d < 10; d++) {
		set_transition(&m, m.start, ZERO + d, whole_at(&k, d % k.v, 0));
		set_transition(&m, sign, ZERO + d, whole_at(&k, d % k.v, 0));
	}
	for (uint64_t r = 0; r < k.v; r++) {
		for (uint32_t z = 0; z <= k.zeros; z++)
			add_whole_digits(&m, &k, r, z);
		for (uint32_t p = 0; k.places && p <= k.places; p++)
			add_fraction_digits(&m, &k, r, p);
	}
	return draft_finish(out, w, &m);
}

/* -- all of it ------------------------------------------------------------------------------ */

/* Replace *out by its intersection with d, and drop both.  rc: the result of making d */
static int intersect(struct dfa **out, struct dfa *d, int rc, struct budget *left, infer_error *err)
{
	struct dfa *both = NULL;

	if (!rc)
		rc = dfa_and(&both, *out, d, left, err);
	dfa_drop(d, left);
	dfa_drop(*out, left);
	*out = both;
	return rc;
}

static int apply_bound(struct dfa **out, const char *key, struct number_text t, unsigned accept,
                       struct budget *left, infer_error *err)
{
	struct decimal x;
	struct dfa *d = NULL;
	struct work w;
	int rc;

	if (!t.at)
		return INFER_OK;
	work_begin(&w, key, left, err);
	rc = read_decimal(&w, key, t, &x);
	if (!rc)
		rc = build_bound(&d, &w, &x, accept);
	work_end(&w);
	return intersect(out, d, rc, left, err);
}

static int apply_multiple(struct dfa **out, struct number_text t, struct budget *left,
                          infer_error *err)
{
	static const char key[] = "multipleOf";
	struct decimal x = { 0 };
	struct dfa *d = NULL;
	struct work w;
	int rc;

	if (!t.at)
		return INFER_OK;
	work_begin(&w, key, left, err);
	rc = read_decimal(&w, key, t, &x);
	if (!rc && (x.negative || !x.n))
		rc = err_set(err, INFER_EINVAL, "%s: %.*s is not greater than 0", key,
		             t.n < 60 ? (int)t.n : 60, t.at);
	if (!rc && x.n > 18)
		rc = err_set(err, INFER_EUNSUP, "%s: %.*s has more than 18 digits", key,
		             t.n < 60 ? (int)t.n : 60, t.at);
	if (!rc)
		rc = build_multiple(&d, &w, &x);
	work_end(&w);
	return intersect(out, d, rc, left, err);
}

int number_dfa(struct dfa **out, const struct number_spec *spec, struct budget *left,
               infer_error *err)
{
	static const char *const kinds[] = {
		[NUMBER_ANY] = "-?(?:0|[1-9]\\d*)(?:\\.\\d+)?(?:[eE][+-]?\\d+)?",
		[NUMBER_INTEGER] = ("-?(?:0|[1-9]\\d*)(?:\\.0+)?(?:[eE]\\+?\\d+)?|"
		                    "-?0(?:\\.0+)?[eE]-\\d+"),
		[NUMBER_DIGITS] = "-?(?:0|[1-9]\\d*)",
	};
	const char *kind = kinds[spec->kind];
	struct dfa *d = NULL;
	int rc;

	*out = NULL;
	rc = regex_dfa(&d, kind, strlen(kind), REGEX_WHOLE, left, err);
	if (!rc)
		rc = apply_bound(&d, "minimum", spec->minimum, 1 << MORE | 1 << EQUAL, left, err);
	if (!rc)
		rc = apply_bound(&d, "maximum", spec->maximum, 1 << LESS | 1 << EQUAL, left, err);
	if (!rc)
		rc = apply_bound(&d, "exclusiveMinimum", spec->exclusive_minimum, 1 << MORE, left,
		                 err);
	if (!rc)
		rc = apply_bound(&d, "exclusiveMaximum", spec->exclusive_maximum, 1 << LESS, left,
		                 err);
	if (!rc)
		rc = apply_multiple(&d, spec->multiple_of, left, err);
	if (rc)
		dfa_drop(d, left);
	else
		*out = d;
	return rc;
}
