/* automata/dfa.c - questions to an automaton: does it match, how many words, which ones. */
#include "automata/dfa.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/utf8.h"

#include <string.h>

enum { SURROGATES = 0xd800, AFTER = 0xe000 };

void dfa_free(struct dfa *d) { mem_free(d); }

void dfa_drop(struct dfa *d, struct budget *left)
{
	left->bytes += d ? d->bytes : 0;
	dfa_free(d);
}

int dfa_match(const struct dfa *d, const char *s, size_t n)
{
	uint32_t at = d->start, cp;

	for (size_t i = 0; i < n && dfa_live(at);) {
		int k = utf8_get(s + i, n - i, &cp);

		if (!k)
			return 0;
		at = dfa_step(d, at, cp);
		i += (size_t)k;
	}
	return dfa_accepts(d, at) != 0;
}

int dfa_equal(const struct dfa *a, const struct dfa *b)
{
	const size_t table = (size_t)a->n_states * a->n_classes;

	return a->n_states == b->n_states && a->n_classes == b->n_classes &&
	       a->n_ranges == b->n_ranges &&
	       !memcmp(a->from, b->from, a->n_ranges * sizeof *a->from) &&
	       !memcmp(a->range_class, b->range_class, a->n_ranges * sizeof *a->range_class) &&
	       !memcmp(a->next, b->next, table * sizeof *a->next) &&
	       !memcmp(a->flags, b->flags, a->n_states);
}

/* Range i of d is lo ... hi, without surrogates: those are never more than a part of a range. */
static uint32_t range_end(const struct dfa *d, uint32_t i)
{
	return i + 1 < d->n_ranges ? d->from[i + 1] - 1 : DFA_MOST_CP;
}

/* How many characters range i has. */
static uint32_t range_size(const struct dfa *d, uint32_t i)
{
	uint32_t lo = d->from[i], hi = range_end(d, i);

	return hi - lo + 1 - (lo < SURROGATES && hi >= AFTER - 1 ? AFTER - SURROGATES : 0);
}

/* Character k of range i. */
static uint32_t range_char(const struct dfa *d, uint32_t i, uint32_t k)
{
	uint32_t cp = d->from[i] + k;

	return d->from[i] < SURROGATES && cp >= SURROGATES ? cp + (AFTER - SURROGATES) : cp;
}

static void class_sizes(const struct dfa *d, uint64_t *size)
{
	memset(size, 0, d->n_classes * sizeof *size);
	for (uint32_t i = 0; i < d->n_ranges; i++)
		size[d->range_class[i]] += range_size(d, i);
}

/* a + b * c, at most UINT64_MAX */
static uint64_t add_times(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t p;

	return __builtin_mul_overflow(b, c, &p) || __builtin_add_overflow(a, p, &p) ? UINT64_MAX
	                                                                            : p;
}

/* In states by their greatest distance, words[s] is the number of words from s. */
static void count_words(const struct dfa *d, const uint64_t *size, uint64_t *words,
                        const uint32_t *order)
{
	for (uint32_t i = 0; i < d->n_states - 1; i++) {
		uint32_t s = order[i];

		words[s] = dfa_accepts(d, s) != 0;
		for (uint32_t c = 0; c < d->n_classes; c++) {
			uint32_t to = d->next[(size_t)s * d->n_classes + c];

			words[s] = add_times(words[s], size[c], words[to]);
		}
	}
}

/* The live states of a finite language by their greatest distance; at: [most + 2], scratch. */
static void by_distance(const struct dfa *d, uint32_t *order, uint32_t *at)
{
	uint32_t most = d->greatest[d->start];

	memset(at, 0, ((size_t)most + 2) * sizeof *at);
	for (uint32_t s = 1; s < d->n_states; s++)
		at[d->greatest[s] + 1]++;
	for (uint32_t k = 0; k <= most; k++)
		at[k + 1] += at[k];
	for (uint32_t s = 1; s < d->n_states; s++)
		order[at[d->greatest[s]]++] = s;
}

int dfa_count(uint64_t *out, const struct dfa *d, infer_error *err)
{
	uint64_t *words;
	uint32_t *order;

	*out = 0;
	if (dfa_is_none(d))
		return INFER_OK;
	*out = UINT64_MAX;
	if (!dfa_is_finite(d))
		return INFER_OK;
	*out = 0;
	words = mem_zalloc(MEM_AUTOMATA, (size_t)d->n_states + d->n_classes, sizeof *words);
	/* a path visits no state twice, so the greatest distance is less than n_states */
	order = mem_zalloc(MEM_AUTOMATA, (size_t)d->n_states * 2 + 2, sizeof *order);
	if (words && order) {
		class_sizes(d, words + d->n_states);
		by_distance(d, order, order + d->n_states);
		count_words(d, words + d->n_states, words, order);
		*out = words[d->start];
	}
	int rc = words && order ? INFER_OK : err_set(err, INFER_ENOMEM, "out of memory");

	mem_free(words);
	mem_free(order);
	return rc;
}

/* one position of the word that is being listed */
struct place {
	uint32_t state, range, k; /* the next character to try: k of a range */
};

static int list(const struct dfa *d, uint64_t most, struct place *at, uint32_t *word,
                int (*each)(void *, const uint32_t *, uint32_t), void *user)
{
	uint32_t n = 0;

	at[0] = (struct place){ .state = d->start };
	for (;;) {
		struct place *p = at + n;

		if (!p->range && !p->k && dfa_accepts(d, p->state)) {
			if (!most--)
				return 0;
			int rc = each(user, word, n);

			if (rc)
				return rc;
		}
		while (p->range < d->n_ranges) {
			uint32_t c = d->range_class[p->range];

			if (dfa_live(d->next[(size_t)p->state * d->n_classes + c]) &&
			    p->k < range_size(d, p->range))
				break;
			p->range++;
			p->k = 0;
		}
		if (p->range == d->n_ranges) {
			if (!n--)
				return 0;
			at[n].k++;
			continue;
		}
		word[n] = range_char(d, p->range, p->k);
		at[n + 1] = (struct place){ .state = dfa_step(d, p->state, word[n]) };
		n++;
	}
}

int dfa_list(const struct dfa *d, uint64_t most,
             int (*each)(void *user, const uint32_t *cp, uint32_t n), void *user, infer_error *err)
{
	struct place *at;
	uint32_t *word;
	int rc;

	if (!dfa_is_finite(d))
		return err_set(err, INFER_EINVAL, "the language is infinite");
	at = mem_zalloc(MEM_AUTOMATA, (size_t)d->greatest[d->start] + 1, sizeof *at);
	word = mem_zalloc(MEM_AUTOMATA, (size_t)d->greatest[d->start] + 1, sizeof *word);
	if (at && word)
		rc = list(d, most, at, word, each, user);
	else
		rc = err_set(err, INFER_ENOMEM, "out of memory");
	mem_free(at);
	mem_free(word);
	return rc;
}

/* A range whose class leads on from the state: of all those, or of those that lead nearer to an
 * end; NOWHERE where there is none. */
static uint32_t pick_range(const struct dfa *d, uint32_t state, int nearer, uint32_t random)
{
	uint32_t n = 0;

	for (int pass = 0; pass < 2; pass++) {
		uint32_t left = n ? random % n : 0;

		for (uint32_t i = 0; i < d->n_ranges; i++) {
			uint32_t c = d->range_class[i],
				 to = d->next[(size_t)state * d->n_classes + c];

			if (!dfa_live(to) || (nearer && d->least[to] >= d->least[state]))
				continue;
			if (pass && !left--)
				return i;
			n += !pass;
		}
		if (!n)
			break;
	}
	return UINT32_MAX;
}

int64_t dfa_sample(const struct dfa *d, uint64_t seed, uint64_t draw, uint32_t length, uint32_t *cp,
                   uint32_t cap)
{
	uint32_t state = d->start, n = 0, i, r[4];

	if (dfa_is_none(d))
		return -1;
	for (uint64_t stream = rng_hash(seed, &draw, sizeof draw);; n++) {
		int late = n >= length;

		rng_block(r, stream, n);
		if (dfa_accepts(d, state) && (late || r[0] % 8 == 0))
			return n;
		i = pick_range(d, state, late, r[1]);
		if (i == UINT32_MAX && dfa_accepts(d, state))
			return n;
		if (i == UINT32_MAX || n == cap)
			return -1;
		cp[n] = range_char(d, i, r[2] % range_size(d, i));
		state = dfa_step(d, state, cp[n]);
	}
}
