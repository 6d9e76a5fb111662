/* engine/stats.c - counters, and a digest that is equal for runs with equal output */
#include "engine/engine.h"
#include "base/num.h"
#include "base/pool.h"
#include "base/rng.h"

uint64_t stats_digest(uint64_t digest, int32_t token, float logprob)
{
	const uint32_t words[2] = { (uint32_t)token, num_bits(logprob) };

	return rng_hash(digest, words, sizeof words);
}

void stats_publish(infer_engine *e)
{
	struct infer_engine_stats *s = &e->now;
	struct kv_stats kv;

	kv_stats(e->kv, &kv);
	s->kv_pages = kv.columns;
	s->kv_pages_used = kv.columns_used;
	s->kv_pages_idle = kv.page_bytes ? kv.evictable_bytes / kv.page_bytes : 0;
	s->evicted_pages = kv.evicted;
	s->swap_bytes = kv.swap_bytes;
	s->barriers = pool_runs(e->host.pool);
	s->digest = e->digest;
	pthread_mutex_lock(&e->lock);
	e->stats = *s;
	pthread_mutex_unlock(&e->lock);
}

void infer_engine_stats(const infer_engine *e, struct infer_engine_stats *s)
{
	pthread_mutex_t *lock =
		(pthread_mutex_t *)&e
			->lock; /* reading is const: the lock is not part of the value */

	pthread_mutex_lock(lock);
	*s = e->stats;
	pthread_mutex_unlock(lock);
}

void infer_engine_info(const infer_engine *e, struct infer_engine_info *info)
{
	*info = (struct infer_engine_info){
		.threads = e->threads,
		.ctx = e->ctx,
		.k_type = e->k_type,
		.v_type = e->v_type,
		.act_type = e->act_type,
		.prefill_chunk = e->chunk,
	};
	place_say(&e->place, info->placement, sizeof info->placement);
	host_describe(&e->host, info->isa, sizeof info->isa);
}
