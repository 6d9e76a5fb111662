/* tests/unit/engine/test_same.c - promise 1: a request gives the same bytes whatever else happens
 *
 * One long request alone, then again under other thread counts and chunks, among others, on a warm
 * prefix, after being preempted; that these things did happen is read from the counters. */
#include "run.h"

enum { PROMPT = 700, NEW = 60 };

struct how {
	const char *name;
	int32_t threads, chunk, seqs, others, other_new;
	uint64_t pages;              /* of cache; 0: plenty */
	uint32_t flags;
	int warm;                    /* 1: the same prompt ran before; 2: its first half did */
};

static const struct how hows[] = {
	{ "chunks of 1", 1, 1, 1 },
	{ "chunks of 64", 1, 64, 1 },
	{ "chunks of 33, two threads", 2, 33, 1 },
	{ "two threads", 2, 512, 1 },
	{ "three threads, one chunk", 3, 1024, 1 },
	{ "without the tree", 2, 512, 1, 0, 0, 0, INFER_ENGINE_NO_PREFIX_CACHE },
	{ "a warm prefix", 1, 512, 1, 0, 0, 0, 0, 1 },
	{ "half a warm prefix, chunks of 64", 2, 64, 1, 0, 0, 0, 0, 2 },
	{ "among 7", 2, 512, 8, 7, 40 },
	{ "among 31, chunks of 64", 2, 64, 32, 31, 40 },
	{ "among 31 in 4 seats", 2, 128, 4, 31, 20 },
	{ "preempted", 2, 512, 4, 3, 200, 32 },
	{ "preempted, without the tree", 2, 64, 4, 3, 200, 32, INFER_ENGINE_NO_PREFIX_CACHE },
	{ "preempted and warm", 2, 64, 4, 3, 200, 32, 0, 2 },
};

struct want { const char *name, *options; int kv_type; uint32_t req_flags; int32_t max_new; };

static struct result first, again, other[32];
static int32_t prompt[PROMPT], others[32][300];

static void the_request(struct infer_request *r, const struct want *w, struct result *to)
{
	*to = (struct result){ 0 };
	*r = (struct infer_request){
	    .prompt = prompt,
	    .n_prompt = PROMPT,
	    .max_tokens = w->max_new,
	    .user = to,
	    .flags = INFER_REQ_IGNORE_EOS | w->req_flags,
	    .sample = {.temp = 0.8f,
	               .top_k = 40,
	               .top_p = 0.95f,
	               .repeat = 1.1f,
	               .dry_multiplier = 0.8f,
	               .seed = 42},
	};
}

static void submit(infer_engine *e, const struct infer_request *r)
{
	infer_error err;
	uint64_t id;

	if (infer_engine_submit(e, r, &id, &err))
		fail_msg("%s", err.message);
}

static void submit_others(infer_engine *e, const struct how *h, int from, int to)
{
	for (int i = from; i < to; i++) {
		struct infer_request r = {
		    .prompt = others[i],
		    .n_prompt = 30 + (size_t)i * 37 % 270,
		    .max_tokens = h->other_new,
		    .user = &other[i],
		    .flags = INFER_REQ_IGNORE_EOS,
		    .sample = {.temp = 1, .seed = (uint64_t)i},
		};

		if (h->pages)
			r.n_prompt = 64;
		other[i] = (struct result){ 0 };
		submit(e, &r);
	}
}

static void run(const infer_model *m, const struct want *w, const struct how *h, struct result *to,
                struct infer_engine_stats *st)
{
	struct infer_engine_opts o = {
	    .threads = h->threads,
	    .prefill_chunk = h->chunk,
	    .max_seqs = h->seqs,
	    .flags = h->flags,
	    .step_ms = 1000,
	    .k_type = w->kv_type,
	    .v_type = w->kv_type,
	    .kv_set = 1,
	};
	infer_engine *e;
	struct infer_request r;
	infer_error err;
	uint64_t page;

	o.kv_bytes = 64 << 20;
	assert_int_equal(infer_engine_open(&e, m, &o, &err), INFER_OK);
	infer_engine_stats(e, st);
	page = st->kv_page_bytes;
	if (h->pages) {
		infer_engine_close(&e);
		o.kv_bytes = h->pages * page;
		if (infer_engine_open(&e, m, &o, &err))
			fail_msg("%s", err.message);
	}
	if (h->warm) {
		the_request(&r, w, to);
		r.flags &= ~(uint32_t)INFER_REQ_SCORE;
		if (h->warm == 2)
			r.n_prompt /= 2;
		submit(e, &r);
		assert_int_equal(run_drive(e, &err), INFER_OK);
	}
	submit_others(e, h, 0, h->others / 2);
	the_request(&r, w, to);
	if (h->pages)
		submit_others(e, h, h->others / 2,
		              h->others); /* older than the request: it has to give way */
	submit(e, &r);
	if (!h->pages)
		submit_others(e, h, h->others / 2, h->others);
	assert_int_equal(run_drive(e, &err), INFER_OK);
	infer_engine_stats(e, st);
	assert_true(to->done);
	for (int i = 0; i < h->others; i++)
		assert_true(other[i].done && other[i].n == h->other_new);
	infer_engine_close(&e);
}

/* That what the name says did take place. */
static void check_happened(const struct how *h, const struct want *w,
                           const struct infer_engine_stats *st, int windows)
{
	int32_t chunk = h->chunk, scores = w->req_flags & INFER_REQ_SCORE;

	if (!h->others && !h->warm)
		assert_true(again.usage.chunks >= (PROMPT + chunk - 1) / chunk);
	if (h->warm && !scores)
		assert_true(again.usage.cached_tokens >= (h->warm == 1 ? 672 : 320) || windows);
	if (h->warm == 1 && !scores)
		assert_true(again.usage.cached_tokens > 0);
	if (h->flags & INFER_ENGINE_NO_PREFIX_CACHE)
		assert_int_equal(st->cached_tokens, 0);
	if (h->pages && !windows)
		assert_true(again.usage.preemptions > 0);
	if (h->others > 7 && h->seqs > 8)
		assert_true(st->rows_max >= 20);
	assert_int_equal(st->decode_allocs, 0);
}

static void same(const struct want *w)
{
	const struct how plain = { "alone", 1, 512, 1 };
	struct infer_engine_stats st;
	infer_model *m;
	infer_error err;
	uint64_t digest;

	run_ids(prompt, PROMPT, 1, 260, 740);
	for (int i = 0; i < 32; i++)
		run_ids(others[i], 300, (uint64_t)i + 2, 260, 740);
	memcpy(others[3], prompt, 300 * sizeof *prompt);      /* one that shares a beginning */
	if (infer_model_open(&m, run_model(w->name, w->options), &(struct infer_model_opts){0},
	                     &err))
		fail_msg("%s", err.message);
	run(m, w, &plain, &first, &st);
	digest = st.digest;
	assert_int_equal(first.n, w->max_new);
	assert_int_equal(first.finish, INFER_FINISH_LENGTH);
	run(m, w, &plain, &again, &st);
	assert_int_equal(st.digest, digest);
	for (size_t i = 0; i < sizeof hows / sizeof *hows; i++) {
		run(m, w, &hows[i], &again, &st);
		run_same(&first, &again, hows[i].name);
		check_happened(&hows[i], w, &st, strstr(w->options, "gemma3") != NULL);
		if (!hows[i].others && !hows[i].warm)
			assert_int_equal(st.digest, digest);
	}
	infer_model_close(&m);
}

static void test_odd_widths(void **state)
{
	(void)state;
	same(&(struct want){
	    "odd", "--embd 320 --heads 5 --kv-heads 1 --ff 672 --vocab 1003 --ctx 1024 --type q8_0",
	    INFER_F16, 0, NEW});
}

static void test_f32_cache(void **state)
{
	(void)state;
	same(&(struct want){"f32",
	                    "--embd 96 --heads 6 --kv-heads 3 --ff 100 --vocab 1003 --ctx 1024 "
	                    "--type f32 --arch qwen3",
	                    INFER_F32, 0, NEW});
}

static void test_scores(void **state)
{
	(void)state;
	same(&(struct want){
	    "odd", "--embd 320 --heads 5 --kv-heads 1 --ff 672 --vocab 1003 --ctx 1024 --type q8_0",
	    INFER_F16, INFER_REQ_SCORE, NEW});
}

static void test_experts(void **state)
{
	(void)state;
	same(&(struct want){"moe",
	                    "--arch qwen3moe --embd 96 --heads 3 --kv-heads 1 --vocab 1003 --ctx "
	                    "1024 --type q4_0 --experts 6 --experts-used 3",
	                    INFER_F16, 0, NEW});
}

static void test_windows(void **state)
{
	(void)state;
	same(&(struct want){"win",
	                    "--arch gemma3 --embd 96 --heads 3 --kv-heads 1 --layers 6 --window 70 "
	                    "--vocab 1003 --ctx 1024 --type f16",
	                    INFER_F16, 0, NEW});
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_odd_widths), cmocka_unit_test(test_windows),
	    cmocka_unit_test(test_scores),     cmocka_unit_test(test_f32_cache),
	    cmocka_unit_test(test_experts),
	};
	int failed = 0;

	(void)argc;
	run_init(argv[0]);
	json_set_alloc_funcs(nth_json_alloc, mem_free);
#ifdef __SANITIZE_THREAD__
	/* the threads do the same for every model: two of them show what there is to see */
	failed = _cmocka_run_group_tests("same", tests, 2, NULL, NULL);
#else
	failed = cmocka_run_group_tests(tests, NULL, NULL);
#endif
	return failed;
}
