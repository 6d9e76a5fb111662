/* tests/unit/engine/test_lora.c - requests with adapters: the same answer whatever runs beside them, the prefix
 * cache kept apart, references, and what is refused. */
#include "small.h"
#include "../lora/write.h"
#include "base/mem.h"

#include <math.h>

enum { ADAPTERS = 5, PROMPT = 40, NEW = 40, RANK = 6 };

static infer_lora *open_adapter(const infer_model *m, const char *const *tensors, int n,
                                uint32_t seed, int64_t rank)
{
	const struct made_keys keys = { "adapter", "llama", "lora", NULL, 8 };
	struct made_tensor t[16];
	infer_error err;
	infer_lora *l;

	for (int i = 0; i < n; i++) {
		const struct infer_tensor *of = infer_file_tensor(infer_model_file(m), tensors[i]);

		assert_non_null(of);
		made_pair(t + 2 * i, of, rank, i & 1 ? INFER_F16 : INFER_F32,
		          !strncmp(tensors[i], "token_embd", 10), 0, seed + (uint32_t)i * 7);
	}
	write_adapter(&keys, t, 2 * n);
	if (infer_lora_open(&l, m, adapter_path, NULL, NULL, &err))
		fail_msg("%s", err.message);
	return l;
}

static infer_lora *adapter(uint32_t seed)
{
	static const char *const all[] = { "blk.0.attn_q.weight", "blk.1.attn_v.weight",
		                           "blk.0.ffn_down.weight", "token_embd.weight",
		                           "blk.1.ffn_up.weight" };

	return open_adapter(model, all, seed % 2 ? 5 : 3, seed, seed % 3 + 1);
}

/* An adapter that replaces the gains of a norm. */
static infer_lora *norm_adapter(float gain)
{
	const struct made_keys keys = { "adapter", "llama", "lora", NULL, 8 };
	struct made_tensor t = { "blk.0.attn_norm.weight", INFER_F32, { 96, 1, 1, 1 }, 1, gain };
	infer_error err;
	infer_lora *l;

	write_adapter(&keys, &t, 1);
	if (infer_lora_open(&l, model, adapter_path, NULL, NULL, &err))
		fail_msg("%s", err.message);
	return l;
}

/* Submit a request of PROMPT ids; kinds: it draws, or scores the prompt too. */
static void ask(infer_engine *e, int slot, const int32_t *ids, const struct infer_lora_use *uses,
                int n)
{
	struct infer_request r = request(ids, PROMPT, NEW, slot);

	r.loras = uses;
	r.n_loras = n;
	r.sample.temp = slot & 1 ? 0.9f : 0;
	r.sample.seed = 5;
	r.flags |= slot % 3 == 2 ? INFER_REQ_SCORE : 0;
	submit(e, &r);
}

static void answer_alone(int slot, const int32_t *ids, const struct infer_lora_use *uses, int n,
                         int32_t rank)
{
	infer_engine *e = engine((struct infer_engine_opts){
		.threads = 1, .lora_rank = rank, .flags = INFER_ENGINE_NO_PREFIX_CACHE });

	ask(e, slot, ids, uses, n);
	drive(e);
	assert_int_equal(res[slot].code, INFER_OK);
	infer_engine_close(&e);
}

/* The last drawn token once more. */
static int32_t guess_last(void *user, const uint64_t *ids, int32_t n, uint64_t *next, int32_t cap)
{
	(void)user;
	if (cap)
		*next = ids[n - 1];
	return cap > 0;
}

/* Eight requests with none, one or several adapters, run together, give what each gives alone. */
static void test_beside(void **state)
{
	static const struct {
		struct infer_engine_opts o;
		int guesses;
	} ways[] = {
		{ { .threads = 2, .max_seqs = 8, .prefill_chunk = 16 }, 0 },
		{ { .threads = 2, .max_seqs = 8, .prefill_chunk = 13, .isa = "ref" }, 1 },
		{ { .threads = 3, .max_seqs = 5 }, 0 },
		/* not all fit: some are preempted */
		{ { .threads = 1, .max_seqs = 8, .kv_bytes = 80 << 10 }, 0 },
		{ { .threads = 2, .max_seqs = 8, .kv_bytes = 80 << 10, .swap_bytes = 1 << 20 }, 0 },
	};
	static struct result alone[8];
	struct infer_lora_use uses[8][3];
	const int n_uses[8] = { 1, 0, 3, 1, 2, 1, 0, 1 };
	infer_lora *l[ADAPTERS];
	int32_t ids[8][PROMPT];
	uint64_t preempted = 0;

	(void)state;
	for (int i = 0; i < ADAPTERS; i++)
		l[i] = i == 4 ? norm_adapter(0.7f) : adapter(20 + (uint32_t)i);
	for (int s = 0; s < 8; s++) {
		run_ids(ids[s], PROMPT, 30 + (uint64_t)s / 2, 3, 900); /* two have one prompt */
		for (int u = 0; u < n_uses[s]; u++)
			uses[s][u] = (struct infer_lora_use){ l[(s + u * 2) % ADAPTERS],
				                              u ? 0.5f : -1.25f };
		answer_alone(s, ids[s], uses[s], n_uses[s], n_uses[s] ? 9 : 0);
		alone[s] = res[s];
	}
	for (size_t w = 0; w < sizeof ways / sizeof ways[0]; w++) {
		struct infer_engine_opts o = ways[w].o;
		struct infer_engine_stats st;
		infer_engine *e;

		o.lora_rank = 9;
		e = engine(o);
		if (ways[w].guesses)
			e->draft.guess = guess_last;
		for (int s = 0; s < 8; s++)
			ask(e, s, ids[s], uses[s], n_uses[s]);
		drive(e);
		infer_engine_stats(e, &st);
		preempted += st.preemptions;
		assert_int_equal(st.decode_allocs, 0);
		for (int s = 0; s < 8; s++)
			run_same(&res[s], &alone[s], "beside others");
		infer_engine_close(&e);
	}
	assert_true(preempted > 0);
	for (int i = 0; i < ADAPTERS; i++)
		infer_lora_close(&l[i]);
}

/* Activations in bf16: adapters read f32 all the same, with any kernels. */
static void test_bf16(void **state)
{
	infer_model *f32 = model;
	struct infer_lora_use use;
	struct result one;
	int32_t ids[PROMPT];
	infer_error err;

	(void)state;
	run_ids(ids, PROMPT, 79, 3, 900);
	assert_int_equal(
		infer_model_open(&model,
	                         run_model("half",
	                                   "--embd 96 --heads 3 --kv-heads 1 --ff 128 --vocab "
	                                   "1003 --ctx 256 --type f16 --seed 3"),
	                         NULL, &err),
		INFER_OK);
	use = (struct infer_lora_use){ adapter(3), 1 };
	for (int i = 0; i < 3; i++) {
		infer_engine *e = engine((struct infer_engine_opts){ .threads = 1 + i,
		                                                     .act_type = INFER_BF16,
		                                                     .prefill_chunk = i ? 13 : 0,
		                                                     .isa = i == 2 ? "ref" : NULL,
		                                                     .lora_rank = 4 });
		ask(e, 2, ids, &use, 1);
		drive(e);
		assert_int_equal(res[2].code, INFER_OK);
		if (!i)
			one = res[2];
		run_same(&res[2], &one, "bf16");
		infer_engine_close(&e);
	}
	infer_lora_close(&use.lora);
	infer_model_close(&model);
	model = f32;
}

/* Return the cached prompt tokens of a request. */
static uint64_t ask_cached(infer_engine *e, const int32_t *ids, const struct infer_lora_use *uses,
                           int n)
{
	ask(e, 0, ids, uses, n);
	drive(e);
	assert_int_equal(res[0].code, INFER_OK);
	return (uint64_t)res[0].usage.cached_tokens;
}

/* Only the same adapters with the same factors in the same order share what is computed. */
static void test_prefix(void **state)
{
	infer_engine *e = engine((struct infer_engine_opts){ .threads = 1, .lora_rank = 9 });
	infer_lora *a = adapter(3), *b = adapter(4), *c;
	struct infer_lora_use one[] = { { a, 1 } }, other[] = { { b, 1 } },
			      less[] = { { a, 0.5f } }, both[] = { { a, 1 }, { b, 1 } },
			      turned[] = { { b, 1 }, { a, 1 } }, none[] = { { a, 0 } };
	int32_t ids[PROMPT];
	struct result base, again;

	(void)state;
	run_ids(ids, PROMPT, 77, 3, 900);
	assert_int_equal(ask_cached(e, ids, NULL, 0), 0);
	base = res[0];
	assert_int_equal(ask_cached(e, ids, one, 1), 0);
	again = res[0];
	assert_memory_not_equal(base.logprobs, again.logprobs, NEW * sizeof *base.logprobs);
	assert_true(ask_cached(e, ids, one, 1) >= 32);
	run_same(&res[0], &again, "from the cache");
	assert_int_equal(ask_cached(e, ids, other, 1), 0);
	assert_int_equal(ask_cached(e, ids, less, 1), 0);
	assert_int_equal(ask_cached(e, ids, both, 2), 0);
	assert_int_equal(ask_cached(e, ids, turned, 2), 0);
	assert_true(ask_cached(e, ids, both, 2) >= 32);
	assert_true(ask_cached(e, ids, none, 1) >= 32); /* factor 0: the model's own */
	run_same(&res[0], &base, "factor 0");
	infer_lora_close(&a); /* another adapter where this one was: not the same */
	c = adapter(3);
	one->lora = c;
	assert_int_equal(ask_cached(e, ids, one, 1), 0);
	run_same(&res[0], &again, "the same file");
	infer_engine_close(&e);
	infer_lora_close(&b);
	infer_lora_close(&c);
}

/* Factor 0, or no adapter in an engine with them: the digest of the model. */
static void test_digest(void **state)
{
	infer_lora *a = adapter(3);
	struct infer_lora_use zero = { a, 0 };
	uint64_t digest[3];
	int32_t ids[PROMPT];

	(void)state;
	run_ids(ids, PROMPT, 78, 3, 900);
	for (int i = 0; i < 3; i++) {
		infer_engine *e = engine(
			(struct infer_engine_opts){ .threads = 1 + i, .lora_rank = i ? 4 : 0 });
		struct infer_engine_stats st;

		ask(e, 0, ids, &zero, i != 1);
		drive(e);
		infer_engine_stats(e, &st);
		digest[i] = st.digest;
		infer_engine_close(&e);
	}
	assert_int_equal(digest[0], digest[1]);
	assert_int_equal(digest[0], digest[2]);
	infer_lora_close(&a);
}

/* The caller drops an adapter while requests use it: they end well, and it is gone with the last, whatever its
 * end. */
static void test_references(void **state)
{
	const int32_t ids[4] = { 5, 6, 7, 8 };
	uint64_t before = mem_live(), id;
	infer_engine *e =
		engine((struct infer_engine_opts){ .threads = 1, .max_queue = 2, .lora_rank = 9 });
	uint64_t with;
	struct infer_request r;

	(void)state;
	for (int end = 0; end < 4; end++) {
		infer_lora *a = adapter(3);
		struct infer_lora_use use = { a, 1 };
		r = request(ids, 4, 8, 0);
		r.loras = &use;
		r.n_loras = 1;
		id = submit(e, &r);
		if (end == 1) { /* the queue is full */
			struct infer_request more = request(ids, 4, 8, 1);
			more.loras = &use;
			more.n_loras = 1;
			submit(e, &more);
			refuse(e, &more, INFER_EAGAIN, "waiting");
		}
		if (end == 3)
			assert_int_equal(infer_engine_step(e, NULL), INFER_OK);
		infer_lora_close(&a);
		assert_null(a);
		if (end >= 2)
			assert_int_equal(infer_engine_cancel(e, id), INFER_OK);
		drive(e);
		assert_int_equal(res[0].code, end >= 2 ? INFER_ECANCEL : INFER_OK);
		if (!end)
			with = mem_live();
		assert_int_equal(mem_live(), with);
	}
	{ /* an engine that closes drops its requests, queued and active */
		infer_lora *a = adapter(3);
		struct infer_lora_use use = { a, 1 };

		for (int i = 0; i < 2; i++) {
			r = request(ids, 4, 8, i);
			r.loras = &use;
			r.n_loras = 1;
			submit(e, &r);
		}
		assert_int_equal(infer_engine_step(e, NULL), INFER_OK);
		infer_lora_close(&a);
	}
	infer_engine_close(&e);
	assert_int_equal(mem_live(), before);
}

static void test_refusals(void **state)
{
	infer_engine *e = engine((struct infer_engine_opts){ .threads = 1, .lora_rank = 3 }),
		     *plain = engine((struct infer_engine_opts){ .threads = 1 });
	const int32_t ids[4] = { 5, 6, 7, 8 };
	infer_lora *a = adapter(3), *b = adapter(2), *n1 = norm_adapter(0.5f),
		   *n2 = norm_adapter(0.6f), *far;
	struct infer_lora_use uses[INFER_LORA_USES + 1];
	struct infer_request r = request(ids, 4, 2, 0);
	infer_model *other;
	infer_error err;

	(void)state;
	assert_int_equal(infer_model_open(&other, run_model("plain", options), NULL, &err), 0);
	far = open_adapter(other, (const char *const[]){ "blk.0.attn_q.weight" }, 1, 1, 2);
	for (int i = 0; i <= INFER_LORA_USES; i++)
		uses[i] = (struct infer_lora_use){ a, 1 };
	r.loras = uses;
	r.n_loras = INFER_LORA_USES + 1;
	refuse(e, &r, INFER_EINVAL, "at most 8");
	r.n_loras = -1;
	refuse(e, &r, INFER_EINVAL, "at most 8");
	r.n_loras = 2;
	refuse(e, &r, INFER_EINVAL, "twice");
	uses[1] = (struct infer_lora_use){ b, NAN };
	refuse(e, &r, INFER_EINVAL, "finite");
	uses[1] = (struct infer_lora_use){ NULL, 1 };
	refuse(e, &r, INFER_EINVAL, "adapter 2");
	uses[1] = (struct infer_lora_use){ far, 1 };
	refuse(e, &r, INFER_EINVAL, "another model");
	uses[1] = (struct infer_lora_use){ b, 1 };
	refuse(e, &r, INFER_EUNSUP, "rank 4");
	uses[0] = (struct infer_lora_use){ n1, 1 };
	uses[1] = (struct infer_lora_use){ n2, 1 };
	refuse(e, &r, INFER_EUNSUP, "blk.0.attn_norm.weight");
	refuse(plain, &r, INFER_EUNSUP, "without adapters");
	uses[1].factor = 0;
	submit(e, &r);
	drive(e);
	infer_engine_close(&e);
	infer_engine_close(&plain);
	assert_int_equal(
		infer_engine_open(&e, model, &(struct infer_engine_opts){ .lora_rank = -1 }, &err),
		INFER_EINVAL);
	assert_non_null(strstr(err.message, "lora_rank"));
	assert_int_equal(
		infer_engine_open(&e, model,
	                          &(struct infer_engine_opts){ .lora_rank = 4, .device = "cuda" },
	                          &err),
		infer_engine_open(&plain, model, &(struct infer_engine_opts){ .device = "cuda" },
	                          NULL) == INFER_EDEVICE
			? INFER_EDEVICE
			: INFER_EUNSUP);
	infer_engine_close(&plain);
	infer_lora_close(&far);
	infer_lora_close(&a);
	infer_lora_close(&b);
	infer_lora_close(&n1);
	infer_lora_close(&n2);
	infer_model_close(&other);
}

/* An engine with a rank counts its memory, and one without takes none. */
static void test_need(void **state)
{
	struct infer_engine_opts o = { .threads = 1, .kv_bytes = 16 << 20 };
	struct infer_engine_need none, some;
	struct infer_engine_stats st;
	infer_engine *e;

	(void)state;
	assert_int_equal(infer_engine_need(model, &o, &none, NULL), INFER_OK);
	o.lora_rank = 64;
	assert_int_equal(infer_engine_need(model, &o, &some, NULL), INFER_OK);
	assert_true(some.workspace_bytes > none.workspace_bytes);
	e = engine(o);
	infer_engine_stats(e, &st);
	assert_int_equal(st.workspace_bytes, some.workspace_bytes);
	infer_engine_close(&e);
}

static infer_lora *nth_adapter;
static infer_engine *nth_engine;

/* A submit that fails leaves no reference. */
static int case_submit(void)
{
	struct infer_lora_use use = { nth_adapter, 1 };
	const int32_t ids[4] = { 5, 6, 7, 8 };
	struct infer_request r = request(ids, 4, 2, 0);
	infer_error err;
	uint64_t id;
	int rc;

	r.loras = &use;
	r.n_loras = 1;
	nth_ok(infer_engine_submit(nth_engine, &r, &id, &err));
	infer_engine_cancel(nth_engine, id);
	mem_fail_at(0);
	drive(nth_engine);
out:
	return rc;
}

static void test_no_memory(void **state)
{
	static struct nth nth = { case_submit };
	void *at = &nth;

	(void)state;
	nth_engine = engine((struct infer_engine_opts){ .threads = 1, .lora_rank = 4 });
	nth_adapter = adapter(3);
	case_submit(); /* buffers of events are made once */
	nth_run(&at);
	infer_lora_close(&nth_adapter);
	infer_engine_close(&nth_engine);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_beside),     cmocka_unit_test(test_prefix),
		cmocka_unit_test(test_digest),     cmocka_unit_test(test_bf16),
		cmocka_unit_test(test_references), cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_need),       cmocka_unit_test(test_no_memory),
	};
	int failed;

	(void)argc;
	if (make_folder(NULL))
		return 1;
	failed = small_group(argv[0], tests, sizeof tests / sizeof tests[0]);
	drop_folder(NULL);
	return failed;
}
