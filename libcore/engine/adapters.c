/* engine/adapters.c - the adapters of a request: checks, references, their part in the prefix tree */
#include "engine/engine.h"
#include "base/err.h"
#include "base/num.h"
#include "base/rng.h"
#include "lora/lora.h"

#include <math.h>

/* Check one adapter of a request and its place among those before it. */
static int check_use(const infer_engine *e, const struct infer_request *r, int32_t i,
                     infer_error *err)
{
	const struct infer_lora_use *u = &r->loras[i];
	struct infer_lora_info info;

	if (!u->lora || !isfinite(u->factor))
		return err_set(err, INFER_EINVAL, "adapter %d: its factor must be finite",
		               (int)i + 1);
	infer_lora_info(u->lora, &info);
	if (info.model != e->model)
		return err_set(err, INFER_EINVAL, "%s: the adapter was opened for another model",
		               info.path);
	for (int32_t k = 0; k < i; k++)
		if (r->loras[k].lora == u->lora)
			return err_set(err, INFER_EINVAL, "%s: the adapter is given twice",
			               info.path);
	return INFER_OK;
}

static int replaces(const struct infer_lora_use *u, int weight)
{
	const struct backend_adapter *a = lora_adapter(u->lora);

	return u->factor != 0 && (a->product[weight].whole || a->table[weight].whole);
}

/* Check that no tensor is replaced by two adapters. */
static int check_replaced(const infer_engine *e, const struct infer_request *r, infer_error *err)
{
	const struct backend_model m = arch_parts(e->model);

	for (int w = 0; w < m.n_weights && r->n_loras > 1; w++) {
		int n = 0;

		for (int32_t i = 0; i < r->n_loras; i++)
			n += replaces(&r->loras[i], w);
		if (n > 1)
			return err_set(err, INFER_EUNSUP,
			               "%.*s: %d adapters of the request replace this tensor",
			               (int)num_min((int64_t)e->model->tensors[w]->name.len, 100),
			               e->model->tensors[w]->name.at, n);
	}
	return INFER_OK;
}

int adapters_check(const infer_engine *e, const struct infer_request *r, infer_error *err)
{
	int64_t rank = 0;

	if (r->n_loras < 0 || r->n_loras > INFER_LORA_USES)
		return err_set(err, INFER_EINVAL, "%d adapters: must be at most %d",
		               (int)r->n_loras, INFER_LORA_USES);
	for (int32_t i = 0; i < r->n_loras; i++) {
		TRY(check_use(e, r, i, err));
		if (r->loras[i].factor != 0)
			rank += lora_adapter(r->loras[i].lora)->max_rank;
	}
	if (rank && !e->lora_rank)
		return err_set(err, INFER_EUNSUP, "the engine was opened without adapters");
	if (rank > e->lora_rank)
		return err_set(err, INFER_EUNSUP,
		               "adapters of rank %lld in all: the engine takes up to %d",
		               (long long)rank, (int)e->lora_rank);
	return check_replaced(e, r, err);
}

int adapters_take(struct request *q, const struct infer_request *r, infer_error *err)
{
	if (!r->n_loras)
		return INFER_OK;
	q->loras = arena_alloc(&q->arena, (size_t)r->n_loras, sizeof(infer_lora *));
	q->uses = arena_alloc(&q->arena, (size_t)r->n_loras, sizeof *q->uses);
	if (q->arena.bad)
		return err_set(err, INFER_ENOMEM, "no memory for the adapters of a request");
	for (int32_t i = 0; i < r->n_loras; i++) {
		const struct infer_lora_use *u = &r->loras[i];
		struct infer_lora_info info;
		uint64_t words[2];

		if (u->factor == 0)
			continue;
		infer_lora_info(u->lora, &info);
		words[0] = info.serial;
		words[1] = num_bits(u->factor);
		q->root = rng_hash(q->root, words, sizeof words);
		q->uses[q->n_uses] = (struct backend_use){ lora_adapter(u->lora), u->factor };
		q->loras[q->n_uses++] = infer_lora_ref(u->lora);
	}
	return INFER_OK;
}

void adapters_drop(struct request *q)
{
	for (int32_t i = 0; i < q->n_uses; i++)
		infer_lora_close(&q->loras[i]);
}
