/* tests/unit/engine/test_same.c - promise 1: a request gives the same bytes whatever else happens
 *
 * One long request alone, then again under other thread counts and chunks, among others, on a warm
 * prefix, after being preempted; that these things did happen is read from the counters. */
#include "run.h"

/* Under sanitizers everything is smaller, and all of it happens still.  LONG: of the one model whose
 * prompt takes more than a chunk of the default length. */
enum {
	LONG = NTH_SANITIZED ? 150 : 700,
	PROMPT = NTH_SANITIZED ? 150 : 260,
	NEW = NTH_SANITIZED ? 20 : 36,
	BESIDE = NTH_SANITIZED ? 40 : 120,
	LATER_NEW = NTH_SANITIZED ? 80 : 120,
};
/* more than 32 rows decode at once before the first of the others ends */
enum { OTHER_NEW = NEW * 2 / 3 };

struct how {
	const char *name;
	int32_t threads, chunk, seqs, others, other_new;
	int tight; /* cache for one context, and for the others to begin */
	uint32_t flags;
	int warm; /* 1: the same prompt ran before; 2: its first half did */
};

static const struct how hows[] = {
	{ "chunks of 1", 1, 1, 1 },
	{ "chunks of 64", 1, 64, 1 },
	{ "chunks of 33, two threads", 2, 33, 1 },
	{ "chunks of 24, three threads", 3, 24, 1 },
	{ "two threads", 2, 512, 1 },
	{ "three threads, one chunk", 3, 1024, 1 },
	{ "without the tree", 2, 512, 1, 0, 0, 0, INFER_ENGINE_NO_PREFIX_CACHE },
	{ "a warm prefix", 1, 512, 1, 0, 0, 0, 0, 1 },
	{ "half a warm prefix, chunks of 64", 2, 64, 1, 0, 0, 0, 0, 2 },
	{ "among 7", 2, 512, 8, 7, OTHER_NEW },
	{ "among 31", 3, 512, 32, 31, OTHER_NEW },
	{ "among 31 in 4 seats, chunks of 64", 2, 64, 4, 31, 5 },
	{ "preempted", 2, 64, 4, 3, LATER_NEW, 1 },
	{ "preempted, without the tree", 2, 33, 4, 3, LATER_NEW, 1, INFER_ENGINE_NO_PREFIX_CACHE },
	{ "preempted and warm", 3, 64, 4, 3, LATER_NEW, 1, 0, 2 },
};

struct want {
	const char *name, *options;
	int kv_type;
	uint32_t req_flags;
	int32_t max_new;
	int act_type, longer;
};

static struct result first, again, other[32];
static int32_t n_prompt, prompt[LONG], others[32][BESIDE];

static void the_request(struct infer_request *r, const struct want *w, struct result *to)
{
	*to = (struct result){ 0 };
	*r = (struct infer_request){
		.prompt = prompt,
		.n_prompt = (size_t)n_prompt,
		.max_tokens = w->max_new,
		.user = to,
		.flags = INFER_REQ_IGNORE_EOS | w->req_flags,
		.sample = { .temp = 0.8f,
		            .top_k = 40,
		            .top_p = 0.95f,
		            .repeat = 1.1f,
		            .dry_multiplier = 0.8f,
		            .seed = 42 },
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
			.n_prompt = 30 + (size_t)i * 37 % (BESIDE - 30),
			.max_tokens = h->other_new,
			.user = &other[i],
			.flags = INFER_REQ_IGNORE_EOS,
			.sample = { .temp = 1, .seed = (uint64_t)i },
		};

		if (h->tight)
			r.n_prompt = 20;
		other[i] = (struct result){ 0 };
		submit(e, &r);
	}
}

static int full_steps; /* steps in which all of `rows` decoded, and nothing else happened */

static void drive(infer_engine *e, int32_t rows)
{
	struct infer_engine_stats before, after;
	struct infer_event ev;
	int ended = 0;

	full_steps = 0;
	infer_engine_stats(e, &before);
	while (infer_engine_busy(e)) {
		assert_int_equal(infer_engine_step(e, NULL), INFER_OK);
		infer_engine_stats(e, &after);
		full_steps += after.rows - before.rows == (uint64_t)rows &&
		              after.decode_rows - before.decode_rows == (uint64_t)rows;
		before = after;
		while (infer_engine_next(e, &ev))
			run_take(&ev, &ended);
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
		.step_ms =
			1 << 20, /* on a slow machine too, a step takes all rows that there are */
		.ctx = n_prompt + NEW + 96,
		.k_type = w->kv_type,
		.v_type = w->kv_type,
		.kv_set = 1,
		.act_type = w->act_type,
	};
	infer_engine *e;
	struct infer_request r;
	infer_error err;

	o.kv_bytes = 64 << 20;
	assert_int_equal(infer_engine_open(&e, m, &o, &err), INFER_OK);
	infer_engine_stats(e, st);
	if (h->tight) {
		infer_engine_close(&e);
		for (o.kv_bytes = st->kv_page_bytes; infer_engine_open(&e, m, &o, &err);)
			o.kv_bytes += st->kv_page_bytes;
		infer_engine_close(&e);
		/* a window takes more while a prompt is computed than later, as the others begin */
		o.kv_bytes += (strstr(w->options, "window") ? 2 : 0) * st->kv_page_bytes;
		assert_int_equal(infer_engine_open(&e, m, &o, &err), INFER_OK);
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
	if (h->tight)
		submit_others(e, h, h->others / 2,
		              h->others); /* older than the request: it has to give way */
	submit(e, &r);
	if (!h->tight)
		submit_others(e, h, h->others / 2, h->others);
	drive(e, h->others + 1);
	infer_engine_stats(e, st);
	assert_true(to->done);
	for (int i = 0; i < h->others; i++)
		assert_true(other[i].done && other[i].n == h->other_new);
	infer_engine_close(&e);
}

/* That what the name says did take place. */
static void check_happened(const struct how *h, const struct want *w,
                           const struct infer_engine_stats *st)
{
	int32_t chunk = h->chunk, scores = w->req_flags & INFER_REQ_SCORE,
		known = h->warm == 1 ? n_prompt : n_prompt / 2;

	if (!h->others && !h->warm)
		assert_true(again.usage.chunks >= (n_prompt + chunk - 1) / chunk);
	if (h->warm && !scores && !h->tight)
		assert_int_equal(again.usage.cached_tokens, known - (h->warm == 1));
	if (h->flags & INFER_ENGINE_NO_PREFIX_CACHE)
		assert_int_equal(st->cached_tokens, 0);
	if (h->tight)
		assert_true(again.usage.preemptions > 0);
	if (h->others && h->seqs > h->others)
		assert_true(full_steps > 0 || h->tight);
	assert_int_equal(st->decode_allocs, 0);
}

static void same(const struct want *w)
{
	const struct how plain = { "alone", 1, 512, 1 };
	struct infer_engine_stats st;
	infer_model *m;
	infer_error err;
	uint64_t digest;
	static size_t models;

	n_prompt = w->longer ? LONG : PROMPT;
	run_ids(prompt, (size_t)n_prompt, 1, 260, 740);
	for (int i = 0; i < 32; i++)
		run_ids(others[i], BESIDE, (uint64_t)i + 2, 260, 740);
	memcpy(others[3], prompt, sizeof others[3]); /* one that shares a beginning */
	if (infer_model_open(&m, run_model(w->name, w->options), &(struct infer_model_opts){ 0 },
	                     &err))
		fail_msg("%s", err.message);
	run(m, w, &plain, &first, &st);
	digest = st.digest;
	assert_int_equal(first.n, w->max_new);
	assert_int_equal(first.finish, INFER_FINISH_LENGTH);
	run(m, w, &plain, &again, &st);
	assert_int_equal(st.digest, digest);
	/* every model meets each other way, and two models in a row all of them */
	for (size_t i = models++ % 2; i < sizeof hows / sizeof *hows; i += 2) {
		run(m, w, &hows[i], &again, &st);
		run_same(&first, &again, hows[i].name);
		check_happened(&hows[i], w, &st);
		if (!hows[i].others && !hows[i].warm)
			assert_int_equal(st.digest, digest);
	}
	infer_model_close(&m);
}

static void test_odd_widths(void **state)
{
	(void)state;
	same(&(struct want){
		"odd",
		"--embd 320 --heads 5 --kv-heads 1 --ff 672 --vocab 1003 --ctx 1024 --type q8_0",
		INFER_F16, 0, NEW, .longer = 1 });
}

static void test_f32_cache(void **state)
{
	(void)state;
	same(&(struct want){ "f32",
	                     "--embd 96 --heads 6 --kv-heads 3 --ff 100 --vocab 1003 --ctx 1024 "
	                     "--type f32 --arch qwen3",
	                     INFER_F32, 0, NEW });
}

static void test_scores(void **state)
{
	(void)state;
	same(&(struct want){
		"odd",
		"--embd 320 --heads 5 --kv-heads 1 --ff 672 --vocab 1003 --ctx 1024 --type q8_0",
		INFER_F16, INFER_REQ_SCORE, NEW });
}

static void test_experts(void **state)
{
	(void)state;
	same(&(struct want){ "moe",
	                     "--arch qwen3moe --embd 96 --heads 3 --kv-heads 1 --vocab 1003 --ctx "
	                     "1024 --type q4_0 --experts 6 --experts-used 3",
	                     INFER_F16, 0, NEW });
}

static void test_windows(void **state)
{
	(void)state;
	same(&(struct want){
		"win",
		"--arch gemma3 --embd 96 --heads 3 --kv-heads 1 --layers 6 --window 70 "
		"--vocab 1003 --ctx 1024 --type f16",
		INFER_F16, 0, NEW });
}

static void test_q8_0_cache(void **state)
{
	(void)state;
	same(&(struct want){
		"q8_0",
		"--embd 320 --heads 5 --kv-heads 1 --ff 672 --vocab 1003 --ctx 1024 --type q8_0",
		INFER_Q8_0, 0, NEW });
}

static void test_q4_0_cache(void **state)
{
	(void)state;
	same(&(struct want){ "q4_0",
	                     "--embd 96 --heads 3 --kv-heads 3 --ff 128 --vocab 1003 --ctx 1024 "
	                     "--type f32 --arch qwen3",
	                     INFER_Q4_0, 0, NEW });
}

static void test_q8_0_windows(void **state)
{
	(void)state;
	same(&(struct want){
		"win8",
		"--arch gemma3 --embd 96 --heads 3 --kv-heads 1 --layers 6 --window 70 "
		"--vocab 1003 --ctx 1024 --type f16",
		INFER_Q8_0, 0, NEW });
}

static void test_bf16_acts(void **state)
{
	(void)state;
	same(&(struct want){
		"bf16",
		"--embd 320 --heads 5 --kv-heads 1 --ff 672 --vocab 1003 --ctx 1024 --type bf16",
		INFER_F16, 0, NEW, INFER_BF16 });
}

/* rows that end within a block of 32 */
static void test_bf16_experts(void **state)
{
	(void)state;
	same(&(struct want){
		"moe16",
		"--arch qwen3moe --embd 100 --heads 5 --kv-heads 1 --ff 76 --vocab 1003 --ctx "
		"1024 --type f16 --experts 6 --experts-used 3",
		INFER_F16, 0, NEW, INFER_BF16 });
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_odd_widths), cmocka_unit_test(test_windows),
		cmocka_unit_test(test_scores),     cmocka_unit_test(test_f32_cache),
		cmocka_unit_test(test_experts),    cmocka_unit_test(test_q8_0_cache),
		cmocka_unit_test(test_q4_0_cache), cmocka_unit_test(test_q8_0_windows),
		cmocka_unit_test(test_bf16_acts),  cmocka_unit_test(test_bf16_experts),
	};
	int failed = 0;

	(void)argc;
	run_init(argv[0]);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	return failed;
}
