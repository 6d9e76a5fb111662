/* sample/dry.c - "Don't repeat yourself": a token that would extend a repeated run of length L >=
 * allowed is penalised by multiplier * base^(L - allowed).  p-e-w, oobabooga/text-generation-webui
 * #5677
 *
 * L is computed by a Z function over the reversed history: z[i] is the length of the longest run
 * that ends both at the last token and i tokens before it. Time is linear in the window. */
#include "base/fmath.h"
#include "sample/sample.h"

#include <float.h>

static int dry_is_on(const struct infer_sample_opts *o) { return o->dry_multiplier > 0; }

/* Return the length minus one of the longest multi-token breaker that begins i tokens before the
 * last, or -1. */
static int32_t long_breaker(const struct infer_sample_opts *o, const int32_t *end, int32_t i)
{
	int32_t longest = -1;

	for (int32_t b = 0; b < o->n_dry_breakers; b++) {
		const int32_t *seq = o->dry_breakers[b];
		int32_t tail = o->n_dry_breaker[b] - 1, j = 0;

		if (tail < 1 || tail > i || tail <= longest || seq[0] != end[-i])
			continue;
		while (j < tail && seq[1 + j] == end[-i + 1 + j])
			j++;
		if (j == tail)
			longest = tail;
	}
	return longest;
}

/* Return the number of tokens after the last breaker, which no run may cross. */
static int32_t find_run_limit(const struct infer_sampler *s, const int32_t *end, int32_t n)
{
	for (int32_t i = 0; i < n; i++) { /* i tokens before the last */
		int32_t longest = s->h.long_breakers ? long_breaker(&s->o, end, i) : -1;

		if (longest < 0 && s->h.breaks[end[-i]])
			longest = 0;
		if (longest >= 0)
			return i - longest;
	}
	return n;
}

static void z_function(int32_t *z, const int32_t *end, int32_t n)
{
	int32_t l = 0, r = 0;

	z[0] = n;
	for (int32_t i = 1; i < n; i++) {
		int32_t k = i < r ? (z[i - l] < r - i ? z[i - l] : r - i) : 0;

		while (i + k < n && end[-k] == end[-i - k])
			k++;
		z[i] = k;
		if (i + k > r) {
			l = i;
			r = i + k;
		}
	}
}

static void apply_dry(struct infer_sampler *s, struct cands *c)
{
	const struct infer_sample_opts *o = &s->o;
	size_t have = s->h.n;
	int32_t n =
		o->dry_window > 0 && (size_t)o->dry_window < have ? o->dry_window : (int32_t)have;
	int32_t *z = s->h.z, most;

	if (n <= o->dry_allowed_length)
		return;
	const int32_t *end = s->h.ids + have - 1;
	most = find_run_limit(s, end, n);
	if (most < o->dry_allowed_length)
		return;
	z_function(z, end, n);
	/* end[-i + 1] is the token after the run that ends i tokens before the last; for each token
	 * the longest run counts */
	int32_t *longest = s->h.count_dry;
	for (int32_t i = 1; i < n; i++) {
		int32_t k = z[i] < most ? z[i] : most;
		if (k >= o->dry_allowed_length && k > longest[end[-i + 1]])
			longest[end[-i + 1]] = k;
	}
	for (int32_t i = 0; i < c->n; i++) {
		int32_t k = longest[c->at[i].id];
		/* a breaker does not extend a run */
		if (!k || s->h.breaks[c->at[i].id])
			continue;
		double cost = (double)o->dry_multiplier *
		              fm_exp((k - o->dry_allowed_length) * fm_log((double)o->dry_base));
		c->at[i].logit -= cost < (double)FLT_MAX ? (float)cost : FLT_MAX;
	}
	for (int32_t i = 1; i < n; i++)
		longest[end[-i + 1]] = 0;
	c->sorted = c->soft = 0;
}
const struct stage stage_row_dry = { "dry", dry_is_on, apply_dry };
