/* sample/cands.c - sorting, softmax and entropy of candidates. */
#include "sample/sample.h"
#include "base/fmath.h"

#include <math.h>

static int ranks_before(const struct cand *a, const struct cand *b)
{
	return a->logit > b->logit || (a->logit == b->logit && a->id < b->id);
}

static void swap_cands(struct cand *a, struct cand *b)
{
	struct cand t = *a;

	*a = *b;
	*b = t;
}

/* Restore the heap below i. The root of the heap is the worst candidate. */
static void sift_down(struct cand *at, int32_t i, int32_t n)
{
	for (;;) {
		int32_t big = i, l = 2 * i + 1, r = l + 1;

		if (l < n && ranks_before(&at[big], &at[l]))
			big = l;
		if (r < n && ranks_before(&at[big], &at[r]))
			big = r;
		if (big == i)
			return;
		swap_cands(&at[i], &at[big]);
		i = big;
	}
}

static void make_heap(struct cand *at, int32_t n)
{
	for (int32_t i = n / 2; i-- > 0;)
		sift_down(at, i, n);
}

static void sort_heap(struct cand *at, int32_t n)
{
	for (int32_t i = n; i-- > 1;) {
		swap_cands(&at[0], &at[i]);
		sift_down(at, 0, i);
	}
}

/* Keep the n best candidates so far in a heap with the worst at its root: almost every later
 * candidate then costs one comparison.  Heap sort orders them in place, so the time is bounded for
 * any values. */
void cands_sort(struct cands *c, int32_t n)
{
	struct cand *at = c->at;

	if (n > c->n)
		n = c->n;
	if (c->sorted || n < 1)
		return;
	make_heap(at, n);
	for (int32_t i = n; i < c->n; i++)
		if (ranks_before(&at[i], &at[0])) {
			swap_cands(&at[i], &at[0]);
			sift_down(at, 0, n);
		}
	sort_heap(at, n);
	c->sorted = n == c->n;
}

enum { STRETCH = 16 };
static int any_above(const float *l, float least)
{
	int any = 0;

	for (int i = 0; i < STRETCH; i++)
		any |= l[i] > least;
	return any;
}

int32_t cands_next(const uint64_t *allowed, int32_t i, int32_t n_vocab)
{
	if (!allowed || i >= n_vocab)
		return i;
	uint64_t word = allowed[i / 64] >> i % 64;
	if (word)
		return i + __builtin_ctzll(word) < n_vocab ? i + __builtin_ctzll(word) : n_vocab;
	for (int32_t w = i / 64 + 1; w < (n_vocab + 63) / 64; w++)
		if (allowed[w])
			return w * 64 + __builtin_ctzll(allowed[w]) < n_vocab
			               ? w * 64 + __builtin_ctzll(allowed[w])
			               : n_vocab;
	return n_vocab;
}

/* Fill the heap of cands_sort directly from the logits: most of them never enter it. */
void cands_take(struct cands *c, const float *logits, const uint64_t *allowed, int32_t n_vocab,
                int32_t n)
{
	struct cand *at = c->at;
	int32_t i = cands_next(allowed, 0, n_vocab), have = 0;

	for (; i < n_vocab && have < n; i = cands_next(allowed, i + 1, n_vocab))
		if (logits[i] > -INFINITY) /* NaN compares false */
			at[have++] = (struct cand){ .id = i, .logit = logits[i] };
	make_heap(at, have);
	while (i < n_vocab) {
		if (i + STRETCH <= n_vocab && !any_above(logits + i, at[0].logit)) {
			i = cands_next(allowed, i + STRETCH, n_vocab);
			continue;
		}
		/* an equal logit has a higher id and ranks lower */
		if (logits[i] > at[0].logit) {
			at[0] = (struct cand){ .id = i, .logit = logits[i] };
			sift_down(at, 0, have);
		}
		i = cands_next(allowed, i + 1, n_vocab);
	}
	sort_heap(at, have);
	c->n = have;
	c->sorted = 1;
	c->soft = 0;
}

void cands_soft(struct cands *c)
{
	float max = c->at[0].logit;
	double sum = 0;

	if (c->soft)
		return;
	for (int32_t i = 1; i < c->n; i++)
		max = c->at[i].logit > max ? c->at[i].logit : max;
	for (int32_t i = 0; i < c->n; i++) {
		c->at[i].p = fm_expf(c->at[i].logit - max);
		sum += (double)c->at[i].p;
	}
	for (int32_t i = 0; i < c->n; i++)
		c->at[i].p = (float)((double)c->at[i].p / sum);
	c->soft = 1;
}

double cands_entropy(const struct cands *c)
{
	double h = 0;

	for (int32_t i = 0; i < c->n; i++)
		if (c->at[i].p > 0)
			h -= (double)c->at[i].p * fm_log((double)c->at[i].p);
	return h;
}
