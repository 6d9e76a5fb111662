/* automata/dfa.c - matching, counting and listing the words of an automaton. */
#include "automata/dfa.h"
#include "base/err.h"
#include "base/mem.h"
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

/* Return the last code point of range i.  Surrogates never fill a range. */
static uint32_t range_end(const struct dfa *d, uint32_t i)
{
	return i + 1 < d->n_ranges ? d->from[i + 1] - 1 : DFA_MOST_CP;
}

/* Return the number of characters of range i, without surrogates. */
static uint32_t range_size(const struct dfa *d, uint32_t i)
{
	uint32_t lo = d->from[i], hi = range_end(d, i);

	return hi - lo + 1 - (lo < SURROGATES && hi >= AFTER - 1 ? AFTER - SURROGATES : 0);
}

/* Return character k of range i. */
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

/* Return a + b * c, at most UINT64_MAX. */
static uint64_t add_times(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t p;

	return __builtin_mul_overflow(b, c, &p) || __builtin_add_overflow(a, p, &p) ? UINT64_MAX
	                                                                            : p;
}

/* Set words[s] to the number of words accepted from s.  order: by greatest distance to an end. */
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

/* Sort live states of a finite language by greatest distance to an end; at: scratch [most + 2]. */
static void sort_by_distance(const struct dfa *d, uint32_t *order, uint32_t *at)
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
		sort_by_distance(d, order, order + d->n_states);
		count_words(d, words + d->n_states, words, order);
		*out = words[d->start];
	}
	int rc = words && order ? INFER_OK : err_nomem(err);

	mem_free(words);
	mem_free(order);
	return rc;
}

/* one position of the word being listed */
struct list_position {
	uint32_t state, range, k; /* the next character to try: number k of the range */
};

static int list_words(const struct dfa *d, uint64_t most, struct list_position *at, uint32_t *word,
                      int (*each)(void *, const uint32_t *, uint32_t), void *user)
{
	uint32_t n = 0;

	at[0] = (struct list_position){ .state = d->start };
	for (;;) {
		struct list_position *p = at + n;

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
		at[n + 1] = (struct list_position){ .state = dfa_step(d, p->state, word[n]) };
		n++;
	}
}

int dfa_list(const struct dfa *d, uint64_t most,
             int (*each)(void *user, const uint32_t *cp, uint32_t n), void *user, infer_error *err)
{
	struct list_position *at;
	uint32_t *word;
	int rc;

	if (!dfa_is_finite(d))
		return err_set(err, INFER_EINVAL, "the language is infinite");
	at = mem_zalloc(MEM_AUTOMATA, (size_t)d->greatest[d->start] + 1, sizeof *at);
	word = mem_zalloc(MEM_AUTOMATA, (size_t)d->greatest[d->start] + 1, sizeof *word);
	if (at && word)
		rc = list_words(d, most, at, word, each, user);
	else
		rc = err_nomem(err);
	mem_free(at);
	mem_free(word);
	return rc;
}
