/* job/breakers.c - sequence breakers of DRY: find the tokens that contain them */
#include <infer/job.h>
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

#include <string.h>

struct infer_breakers {
	struct arena mem;
	const int32_t **at;
	int32_t *lens;
	int32_t n;
};

static int contains_any(const char *at, size_t n, const struct infer_str *texts, size_t n_texts)
{
	for (size_t i = 0; i < n_texts; i++)
		if (memmem(at, n, texts[i].at, texts[i].len))
			return 1;
	return 0;
}

/* Append the ids of all tokens that contain one of the texts to *ids. */
static int find_tokens(struct buf *ids, const infer_tokenizer *t, const struct infer_str *texts,
                       size_t n, infer_error *err)
{
	const char *bytes;
	size_t len;

	for (int32_t id = 0; id < infer_tokenizer_count(t); id++) {
		TRY(infer_token_bytes(t, id, 0, &bytes, &len, err));
		if (len && contains_any(bytes, len, texts, n))
			buf_put(ids, &id, sizeof id);
	}
	return ids->bad ? err_nomem(err) : INFER_OK;
}

static int add_breaker(infer_breakers *b, const int32_t *ids, size_t n, infer_error *err)
{
	int32_t *kept = arena_alloc(&b->mem, n, sizeof *kept);

	if (!kept)
		return err_nomem(err);
	memcpy(kept, ids, n * sizeof *kept);
	b->at[b->n] = kept;
	b->lens[b->n++] = (int32_t)n;
	return INFER_OK;
}

static int add_encoded_breaker(infer_breakers *b, const infer_tokenizer *t,
                               const struct infer_str *text, infer_error *err)
{
	int32_t *ids;
	size_t n;
	int rc = infer_encode(t, text->at, text->len, 0, &ids, &n, err);

	if (rc == INFER_EUNSUP) /* tokens that cannot encode the text never produce it */
		return INFER_OK;
	if (!rc && n > 1)
		rc = add_breaker(b, ids, n, err);
	infer_ids_free(ids);
	return rc;
}

static int fill_breakers(infer_breakers *b, const infer_tokenizer *t, const struct infer_str *texts,
                         size_t n, struct buf *ids, infer_error *err)
{
	for (size_t i = 0; i < n; i++)
		if (!texts[i].len)
			return err_set(err, INFER_EINVAL, "sequence breaker %zu is empty", i);
	TRY(find_tokens(ids, t, texts, n, err));
	size_t singles = ids->len / sizeof(int32_t);

	b->at = arena_alloc(&b->mem, singles + n, sizeof *b->at);
	b->lens = arena_alloc(&b->mem, singles + n, sizeof *b->lens);
	int32_t *one = arena_alloc(&b->mem, singles, sizeof *one);

	if (!b->at || !b->lens || !one)
		return err_nomem(err);
	if (singles)
		memcpy(one, ids->at, ids->len);
	for (size_t i = 0; i < singles; i++) {
		b->at[b->n] = &one[i];
		b->lens[b->n++] = 1;
	}
	for (size_t i = 0; i < n; i++)
		TRY(add_encoded_breaker(b, t, &texts[i], err));
	return INFER_OK;
}

int infer_breakers_new(infer_breakers **out, const infer_tokenizer *t,
                       const struct infer_str *texts, size_t n, infer_error *err)
{
	infer_breakers *b = mem_zalloc(MEM_JOB, 1, sizeof *b);
	struct buf ids;

	*out = NULL;
	if (!b)
		return err_nomem(err);
	arena_init(&b->mem, MEM_JOB);
	buf_init(&ids, MEM_JOB);
	int rc = fill_breakers(b, t, texts, n, &ids, err);

	buf_fini(&ids);
	if (rc)
		infer_breakers_free(b);
	else
		*out = b;
	return rc;
}

void infer_breakers_use(const infer_breakers *b, struct infer_sample_opts *o)
{
	o->dry_breakers = b->at;
	o->n_dry_breaker = b->lens;
	o->n_dry_breakers = b->n;
}

void infer_breakers_free(infer_breakers *b)
{
	if (!b)
		return;
	arena_fini(&b->mem);
	mem_free(b);
}
