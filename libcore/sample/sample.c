/* sample/sample.c - create a sampler: check options, allocate memory for all draws; keep the
 * history of tokens. */
#include "base/err.h"
#include "base/mem.h"
#include "sample/param.h"
#include "sample/sample.h"

#include <math.h>
#include <string.h>

#define STAGE(row, id) extern const struct stage stage_row_##row;
#include "sample/stage_list.h"
#undef STAGE
/* clang-format off */
/* The enum decides the default order: stage_list.h must have the same order. */
enum {
	LIST_END,
#define STAGE(row, id) LIST_##row,
#include "sample/stage_list.h"
#undef STAGE
	LIST_COUNT
};
#define STAGE(row, id) \
	_Static_assert((int)(id) == (int)LIST_##row, "stage_list.h has the order of enum infer_stage: " #row);
#include "sample/stage_list.h"
#undef STAGE
const struct stage *stage_get(int stage)
{
	switch ((enum infer_stage)stage) { /* no default: compilers report missing stages */
#define STAGE(row, id) case id: return &stage_row_##row;
#include "sample/stage_list.h"
#undef STAGE
	case INFER_STAGE_END:
	case INFER_STAGE_COUNT:
		break;
	}
	return NULL;
}
/* clang-format on */

const char *infer_stage_name(int stage)
{
	const struct stage *s = stage_get(stage);

	return s ? s->name : NULL;
}

int infer_stage_named(const char *name, size_t n)
{
	static const struct {
		const char *name;
		int stage;
	} others[] = {
		{ "temp", INFER_STAGE_TEMP },
		{ "typical", INFER_STAGE_TYPICAL },
		{ "typical_p", INFER_STAGE_TYPICAL },
	};
	char plain[24] = "";

	if (n >= sizeof plain)
		return INFER_STAGE_END;
	for (size_t i = 0; i < n; i++)
		plain[i] = name[i] == '-' ? '_' : name[i];
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (!strcmp(others[i].name, plain))
			return others[i].stage;
	for (int i = INFER_STAGE_END + 1; i < INFER_STAGE_COUNT; i++)
		if (!strcmp(stage_get(i)->name, plain))
			return i;
	return INFER_STAGE_END;
}

static int check_opts(const struct infer_sample_opts *o, int32_t n_vocab, infer_error *err)
{
	uint32_t seen = 0;
	int i = 0;

	if (n_vocab < 1)
		return err_set(err, INFER_EINVAL, "a vocabulary of %d tokens: must be at least 1",
		               (int)n_vocab);
	TRY(sample_check_all(o, err));
	if (o->n_bias < 0 || o->n_dry_breakers < 0 || o->n_banned < 0)
		return err_set(err, INFER_EINVAL,
		               "n_bias is %d, n_dry_breakers %d, n_banned %d: must be at least 0",
		               (int)o->n_bias, (int)o->n_dry_breakers, (int)o->n_banned);
	TRY(banned_check(o, n_vocab, err));
	for (; i < INFER_STAGE_COUNT && o->order[i] != INFER_STAGE_END; i++) {
		if (!stage_get(o->order[i]))
			return err_set(err, INFER_EINVAL, "sampler stage %d is not known",
			               o->order[i]);
		if (seen >> o->order[i] & 1)
			return err_set(err, INFER_EINVAL, "sampler stage %s is named twice",
			               stage_get(o->order[i])->name);
		seen |= 1u << o->order[i];
	}
	if (i == INFER_STAGE_COUNT)
		return err_set(err, INFER_EINVAL, "the order of sampler stages has no end");
	for (int32_t b = 0; b < o->n_bias; b++) {
		if (o->bias[b].token < 0 || o->bias[b].token >= n_vocab)
			return err_set(err, INFER_EINVAL,
			               "logit_bias: token %d is outside the vocabulary of %d",
			               (int)o->bias[b].token, (int)n_vocab);
		if (!(o->bias[b].bias <= 1e30f))
			return err_set(err, INFER_EINVAL,
			               "logit_bias: %g for token %d: must be at most 1e30",
			               (double)o->bias[b].bias, (int)o->bias[b].token);
	}
	return INFER_OK;
}

/* Register a breaker. Breakers of one token are in a table, since there may be thousands. Ids
 * outside the vocabulary are ignored. */
static void mark_breaker(infer_sampler *s, const int32_t *ids, int32_t n)
{
	if (n == 1 && ids[0] >= 0 && ids[0] < s->n_vocab)
		s->h.breaks[ids[0]] = 1;
	s->h.long_breakers |= n > 1;
}

int infer_sampler_new(infer_sampler **out, const struct infer_sample_opts *o, int32_t n_vocab,
                      infer_error *err)
{
	*out = NULL;
	TRY(check_opts(o, n_vocab, err));
	infer_sampler *s = mem_zalloc(MEM_SAMPLE, 1, sizeof *s);
	if (!s)
		goto full;
	s->o = *o;
	infer_sample_resolve(&s->o);
	s->n_vocab = n_vocab;
	s->mu = 2 * (double)s->o.mirostat_tau;
	int counts = stage_get(INFER_STAGE_PENALTIES)->on(&s->o),
	    dry = stage_get(INFER_STAGE_DRY)->on(&s->o), biased = o->n_bias || o->n_banned;
	s->h.keep = (dry || counts || o->n_banned ? HISTORY_IDS : 0) | (dry ? HISTORY_Z : 0) |
	            (s->o.mirostat ? HISTORY_MU : 0);
	s->c.at = mem_alloc(MEM_SAMPLE, (size_t)n_vocab, sizeof *s->c.at);
	s->biased = biased ? mem_alloc(MEM_SAMPLE, (size_t)n_vocab, sizeof *s->biased) : NULL;
	s->h.count = counts ? mem_zalloc(MEM_SAMPLE, (size_t)n_vocab, sizeof *s->h.count) : NULL;
	s->h.count_dry =
		dry ? mem_zalloc(MEM_SAMPLE, (size_t)n_vocab, sizeof *s->h.count_dry) : NULL;
	s->h.breaks = dry ? mem_zalloc(MEM_SAMPLE, (size_t)n_vocab, 1) : NULL;
	if (!s->c.at || (biased && !s->biased) || (counts && !s->h.count) ||
	    (dry && (!s->h.count_dry || !s->h.breaks)))
		goto full;
	for (int32_t b = 0; dry && b < o->n_dry_breakers; b++)
		mark_breaker(s, o->dry_breakers[b], o->n_dry_breaker[b]);
	*out = s;
	return INFER_OK;
full:
	infer_sampler_free(s);
	return err_set(err, INFER_ENOMEM, "no memory for a sampler over %d tokens", (int)n_vocab);
}

/* Grow *at to n elements if this history keeps the array. True on success. */
static int grow_history(void **at, int kept, size_t n, size_t size)
{
	void *p = kept ? mem_realloc(MEM_SAMPLE, *at, n, size) : NULL;

	if (p)
		*at = p;
	return p || !kept;
}

int infer_sampler_reserve(infer_sampler *s, size_t n, infer_error *err)
{
	struct sampler_history *h = &s->h;
	void *ids = h->ids, *z = h->z, *mu = h->mu;

	if (!h->keep || n <= h->cap)
		return INFER_OK;
	int ok = grow_history(&ids, h->keep & HISTORY_IDS, n, sizeof *h->ids) &&
	         grow_history(&z, h->keep & HISTORY_Z, n, sizeof *h->z) &&
	         grow_history(&mu, h->keep & HISTORY_MU, n, sizeof *h->mu);
	h->ids = ids;
	h->z = z;
	h->mu = mu;
	if (!ok)
		return err_set(err, INFER_ENOMEM, "no memory for a history of %zu tokens", n);
	h->cap = n;
	return INFER_OK;
}

int infer_sampler_feed(infer_sampler *s, const int32_t *tokens, size_t n, infer_error *err)
{
	struct sampler_history *h = &s->h;

	for (size_t i = 0; i < n; i++)
		if (tokens[i] < 0 || tokens[i] >= s->n_vocab)
			return err_set(err, INFER_EINVAL,
			               "token %d is outside the vocabulary of %d", (int)tokens[i],
			               (int)s->n_vocab);
	if (h->keep && h->n + n > h->cap)
		TRY(infer_sampler_reserve(s, h->n + n + h->cap / 2 + 64, err));
	for (size_t i = 0; i < n; i++) {
		if (h->keep & HISTORY_IDS)
			h->ids[h->n] = tokens[i];
		if (h->keep & HISTORY_MU)
			h->mu[h->n] = s->mu;
		if (h->count) {
			h->count[tokens[i]]++;
			if (s->o.repeat_window > 0 && h->n >= (size_t)s->o.repeat_window)
				h->count[h->ids[h->n - (size_t)s->o.repeat_window]]--;
		}
		h->n++;
	}
	return INFER_OK;
}

void infer_sampler_rollback(infer_sampler *s, size_t n)
{
	struct sampler_history *h = &s->h;

	for (; n && h->n; n--) {
		h->n--;
		if (h->keep & HISTORY_MU)
			s->mu = h->mu[h->n];
		if (!h->count)
			continue;
		h->count[h->ids[h->n]]--;
		if (s->o.repeat_window > 0 && h->n >= (size_t)s->o.repeat_window)
			h->count[h->ids[h->n - (size_t)s->o.repeat_window]]++;
	}
}

void infer_sampler_free(infer_sampler *s)
{
	if (!s)
		return;
	mem_free(s->c.at);
	mem_free(s->biased);
	mem_free(s->h.ids);
	mem_free(s->h.z);
	mem_free(s->h.mu);
	mem_free(s->h.count);
	mem_free(s->h.count_dry);
	mem_free(s->h.breaks);
	mem_free(s);
}
