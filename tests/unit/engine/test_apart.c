/* tests/unit/engine/test_apart.c - only a backend touches weights, pages of the cache and the
 * workspace: over a backend whose memory is closed to all others (../backend/apart.h), and with
 * the weights of the file closed too, everything gives the same bytes as on the CPU. */
#include "run.h"
#include "engine/engine.h"
#include "../open.h"
#include "../backend/apart.h"

enum { PROMPT = 150, SHARED = 100, NEW = 40, SEQS = 4, REQUESTS = 7, CTX = 256 };

/* What the file's mapping holds of tensors, whole pages. */
static void let_file(const infer_model *m, int prot)
{
	const infer_file *f = infer_model_file(m);
	uintptr_t from = UINTPTR_MAX, to = 0, page = APART_PAGE;
	const struct infer_tensor *t;

	for (uint64_t i = 0; (t = infer_file_tensor_at(f, i)); i++) {
		uintptr_t at = (uintptr_t)t->data;

		from = at < from ? at : from;
		to = at + t->bytes > to ? at + t->bytes : to;
	}
	from = (from + page - 1) / page * page;
	to = to / page * page;
	assert_true(to > from);
	assert_int_equal(mprotect((void *)from, to - from, prot), 0);
}

struct how {
	const char *name, *options;
	int k_type, v_type;
};
static const struct how hows[] = {
	{ "odd", "--embd 320 --heads 5 --kv-heads 1 --ff 672 --vocab 1003 --ctx 1024 --type q8_0",
	  INFER_F16, INFER_F16 },
	{ "odd", "", INFER_Q8_0, INFER_Q4_0 },
	{ "f32",
	  "--embd 96 --heads 6 --kv-heads 3 --ff 100 --vocab 1003 --ctx 1024 --type f32 "
	  "--arch qwen3",
	  INFER_F32, INFER_F32 },
	{ "moe",
	  "--arch qwen3moe --embd 96 --heads 3 --kv-heads 1 --vocab 1003 --ctx 1024 --type q4_0 "
	  "--experts 6 --experts-used 3",
	  INFER_Q4_0, INFER_Q8_0 },
	{ "win",
	  "--arch gemma3 --embd 96 --heads 3 --kv-heads 1 --layers 6 --window 70 --vocab 1003 "
	  "--ctx 1024 --type f16",
	  INFER_F16, INFER_Q8_0 },
};

static struct result on_cpu[REQUESTS], on_apart[REQUESTS];
static int32_t prompts[REQUESTS][PROMPT];

/* Prompts that begin alike, one that is asked again, one that is scored, more than there are seats. */
static void submit(infer_engine *e, int i, struct result *to)
{
	struct infer_request r = {
		.prompt = prompts[i],
		.n_prompt = (size_t)(PROMPT - 7 * i),
		.max_tokens = NEW,
		.user = to,
		.top = 3,
		.flags = INFER_REQ_IGNORE_EOS | (i == 2 ? INFER_REQ_SCORE : 0),
		.sample = { .temp = i % 2 ? 0 : 0.9f, .repeat = 1.1f, .seed = (uint64_t)i / 2 },
	};
	infer_error err;
	uint64_t id;

	*to = (struct result){ 0 };
	if (infer_engine_submit(e, &r, &id, &err))
		fail_msg("%s", err.message);
}

/* Some guesses are right and some are not, so that rows are taken back. */
static int32_t guess(void *user, const uint64_t *ids, int32_t n, uint64_t *next, int32_t cap)
{
	(void)user;
	for (int32_t k = 0; k < cap && k < 2; k++)
		next[k] = ids[(n * 7 + k) % n];
	return cap < 2 ? cap : 2;
}

static void run(const infer_model *m, const struct how *h, const struct backend_kind *kind,
                struct result *to, struct infer_engine_stats *st)
{
	struct infer_engine_opts o = { .threads = 2,
		                       .ctx = CTX,
		                       .kv_set = 1,
		                       .k_type = h->k_type,
		                       .v_type = h->v_type,
		                       .prefill_chunk = 64,
		                       .max_seqs = SEQS,
		                       .step_ms = 1000,
		                       .kv_bytes = 16 << 20 };
	infer_engine *e;
	infer_error err;

	if (engine_open(&e, m, &o, kind, &err))
		fail_msg("%s", err.message);
	infer_engine_stats(e, st);
	infer_engine_close(&e);
	for (o.kv_bytes = st->kv_page_bytes; engine_open(&e, m, &o, kind, &err);)
		o.kv_bytes += st->kv_page_bytes;
	infer_engine_close(&e);
	o.kv_bytes += 3 * st->kv_page_bytes; /* sequences give way to others and come back */
	if (engine_open(&e, m, &o, kind, &err))
		fail_msg("%s", err.message);
	if (kind != backend_find("cpu"))
		let_file(m, PROT_NONE);
	e->draft.guess = guess;
	for (int i = 0; i < REQUESTS; i++)
		submit(e, i, &to[i]);
	assert_int_equal(run_drive(e, &err), INFER_OK);
	submit(e, 0, &to[0]); /* over what the tree has kept */
	assert_int_equal(run_drive(e, &err), INFER_OK);
	infer_engine_stats(e, st);
	infer_engine_close(&e);
	if (kind != backend_find("cpu"))
		let_file(m, PROT_READ);
}

static void test_engine(void **state)
{
	const struct backend_kind apart = apart_kind();
	struct infer_engine_stats st;
	infer_model *m;

	(void)state;
	for (int i = 0; i < REQUESTS; i++) {
		run_ids(prompts[i], PROMPT, (uint64_t)i + 20, 260, 740);
		memcpy(prompts[i], prompts[0], SHARED * sizeof **prompts);
	}
	memcpy(prompts[3], prompts[2], sizeof *prompts);
	for (size_t h = 0; h < sizeof hows / sizeof *hows; h++) {
		const char *path = run_model(hows[h].name, hows[h].options);

		assert_int_equal(infer_model_open(&m, path, NULL, NULL), INFER_OK);
		run(m, &hows[h], backend_find("cpu"), on_cpu, &st);
		run(m, &hows[h], &apart, on_apart, &st);
		for (int i = 0; i < REQUESTS; i++)
			run_same(&on_cpu[i], &on_apart[i], hows[h].name);
		assert_true(st.cached_tokens > SHARED && st.evicted_pages && st.preemptions);
		infer_model_close(&m);
	}
}

/* One sequence by hand, without an engine: a beginning, a fork that both go on from, a way back. */
struct hand {
	struct open o;
	struct place_plan place;
	struct kv *kv;
	float *logits; /* of all rows that ran */
	size_t n_logits, n_vocab;
};

static void compute(struct hand *d, struct kv_seq *s, uint64_t *ids, int32_t from, int32_t to,
                    uint64_t salt)
{
	int32_t tokens[64], out[64], n = to - from;
	struct backend_run run = { .n = n, .pos = from, .pages = kv_seq_pages(s) };
	struct backend_step step = { .n = n,
		                     .n_out = n,
		                     .n_runs = 1,
		                     .ids = tokens,
		                     .runs = &run,
		                     .out = out,
		                     .kv = kv_view(d->kv) };
	struct backend_result res;
	infer_error err;

	assert_int_equal(kv_seq_len(s), from);
	run_ids(tokens, n, salt, 260, 740);
	for (int32_t i = 0; i < n; i++) {
		out[i] = i;
		ids[from + i] = (uint64_t)tokens[i];
	}
	assert_int_equal(kv_seq_grow(d->kv, s, to), INFER_OK);
	if (backend_compute(d->o.kind, d->o.plan, &step, &res, &err))
		fail_msg("%s", err.message);
	memcpy(d->logits + d->n_logits, res.logits, (size_t)n * d->n_vocab * sizeof(float));
	d->n_logits += (size_t)n * d->n_vocab;
	kv_seq_commit(d->kv, s, ids, to);
}

static void by_hand(struct hand *d, const infer_model *m, const struct how *h,
                    const struct backend_kind *kind)
{
	struct backend_model parts = arch_parts(m);
	struct backend_size size = { 64, 64, CTX };
	struct place_ask ask = { CTX, h->k_type, h->v_type, 8 << 20, 3, 64, 64, UINT64_MAX, 1 };
	struct kv_opts o = { .n_layers = m->h.n_layers, .ctx = CTX, .max_seqs = 3 };
	uint64_t a_ids[CTX], b_ids[CTX];
	int32_t cached;

	d->n_vocab = (size_t)m->h.n_vocab;
	assert_non_null(d->logits = calloc(1024 * d->n_vocab, sizeof *d->logits));
	assert_int_equal(open_plan(&d->o, kind, &parts, &size, 2, NULL, NULL), INFER_OK);
	ask.devices[0] = (struct place_device){ { kind, d->o.b }, (uint64_t)1 << 32 };
	assert_int_equal(place_solve(&d->place, m, &ask, NULL), INFER_OK);
	o.groups = d->place.groups;
	o.n_groups = d->place.n_groups;
	o.bytes = d->place.kv_bytes;
	assert_int_equal(kv_open(&d->kv, &o, NULL), INFER_OK);
	if (kind != backend_find("cpu"))
		let_file(m, PROT_NONE);
	struct kv_seq *b, *a = kv_seq_open(d->kv, 1, a_ids, 0, &cached);
	compute(d, a, a_ids, 0, 64, 1);
	compute(d, a, a_ids, 64, 109, 2);
	memcpy(b_ids, a_ids, sizeof b_ids);
	b = kv_seq_fork(d->kv, a); /* inside a page: it is copied for the first that writes */
	compute(d, b, b_ids, 109, 140, 3);
	compute(d, a, a_ids, 109, 150, 4);
	compute(d, b, b_ids, 140, 141, 5);
	assert_int_equal(kv_seq_trim(d->kv, a, 147), INFER_OK);
	compute(d, a, a_ids, 147, 170, 6);
	assert_int_equal(kv_seq_share(d->kv, b, a, 165), INFER_OK);
	memcpy(b_ids, a_ids, sizeof b_ids);
	compute(d, b, b_ids, 165, 200, 7);
	kv_seq_close(d->kv, a);
	kv_seq_close(d->kv, b);
	kv_close(&d->kv);
	place_fini(&d->place);
	open_close(&d->o);
	if (kind != backend_find("cpu"))
		let_file(m, PROT_READ);
}

static void test_forks(void **state)
{
	const struct backend_kind apart = apart_kind();
	infer_model *m;

	(void)state;
	for (size_t h = 0; h < sizeof hows / sizeof *hows; h++) {
		struct hand cpu = { 0 }, other = { 0 };

		assert_int_equal(
			infer_model_open(&m, run_model(hows[h].name, hows[h].options), NULL, NULL),
			INFER_OK);
		by_hand(&cpu, m, &hows[h], backend_find("cpu"));
		by_hand(&other, m, &hows[h], &apart);
		assert_int_equal(cpu.n_logits, other.n_logits);
		assert_memory_equal(cpu.logits, other.logits, cpu.n_logits * sizeof(float));
		free(cpu.logits);
		free(other.logits);
		infer_model_close(&m);
	}
}

static uint64_t small_left;
static void apart_small(const struct backend *b, uint64_t *left, uint64_t *total)
{
	(void)b;
	*left = *total = small_left;
}

/* What the device says is what counts: weights that do not fit beside the cache are refused. */
static void test_capacity(void **state)
{
	struct backend_kind apart = apart_kind();
	struct infer_engine_opts o = { .threads = 1, .ctx = CTX };
	infer_engine *e;
	infer_model *m;
	infer_error err;

	(void)state;
	assert_int_equal(infer_model_open(&m, run_model("odd", hows[0].options), NULL, NULL),
	                 INFER_OK);
	assert_int_equal(engine_open(&e, m, &o, &apart, &err), INFER_OK);
	const struct place_part part = e->place.parts[0];
	assert_true(part.weights > m->weight_bytes / 2 && part.weights > part.kv);
	small_left = part.workspace + 2 * part.kv;
	infer_engine_close(&e);
	apart.memory = apart_small;
	assert_int_equal(engine_open(&e, m, &o, &apart, &err), INFER_ENOMEM);
	assert_null(e);
	assert_non_null(strstr(err.message, "a context of 256 needs"));
	infer_model_close(&m);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_engine),
		                            cmocka_unit_test(test_forks),
		                            cmocka_unit_test(test_capacity) };

	(void)argc;
	run_init(argv[0]);
	return nth_group(tests);
}
