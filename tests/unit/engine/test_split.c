/* tests/unit/engine/test_split.c - the layers of a model dealt out to two devices or three, cut in
 * every place: the bytes are those of one device.  Each device is closed to the others
 * (../backend/apart.h), so what crosses goes through memory of the host. */
#include "apart_run.h"

static struct backend_kind apart, closed; /* closed: another kind */
static struct stages_device devices[3];
static const struct how more[] = {
	{ "tied", "--tied --layers 3 --embd 96 --heads 3 --kv-heads 1 --vocab 1003 --type q5_1",
	  INFER_F16, INFER_F16 },
	{ "demo", NULL, INFER_F16, INFER_F16 },
};
enum { MORE = sizeof more / sizeof *more };

static const struct how *how_at(size_t i) { return i < HOWS ? &hows[i] : &more[i - HOWS]; }

static infer_model *open_model(const struct how *h)
{
	infer_model *m;

	assert_int_equal(infer_model_open(&m, model_of(h), NULL, NULL), INFER_OK);
	return m;
}

static void deal(int a, int b)
{
	devices[0] = (struct stages_device){ &apart, 0, a };
	devices[1] = (struct stages_device){ &apart, 1, b };
	devices[2] = (struct stages_device){ &apart, 2, 0 };
}

static void same_by_hand(const infer_model *m, const struct how *h, const struct hand *want, int n)
{
	struct hand got = { 0 };

	by_hand(&got, m, h, devices, n);
	assert_int_equal(got.n_logits, want->n_logits);
	if (memcmp(got.logits, want->logits, got.n_logits * sizeof(float)))
		fail_msg("%s: other logits with %d and %d layers of %d devices", h->name,
		         devices[0].layers, devices[1].layers, n);
	free(got.logits);
}

/* Chunks, single rows, a fork inside a page, a way back, a share: every cut. */
static void test_cuts(void **state)
{
	const struct stages_device cpu = { .kind = backend_find("cpu") };

	(void)state;
	for (size_t i = 0; i < HOWS + MORE; i++) {
		const struct how *h = how_at(i);
		infer_model *m = open_model(h);
		struct hand want = { 0 };

		by_hand(&want, m, h, &cpu, 1);
		for (int a = 0; a <= m->h.n_layers; a++) {
			deal(a, 0);
			same_by_hand(m, h, &want, 2);
			for (int b = 1; a + b <= m->h.n_layers; b++) {
				/* of three devices a third of the cuts, another of each model */
				if ((a + 2 * b + (int)i) % 3 && m->h.n_layers > 2)
					continue;
				deal(a, b);
				same_by_hand(m, h, &want, 3);
			}
		}
		free(want.logits);
		infer_model_close(&m);
	}
}

/* Batches, prefix hits, scores, wrong guesses, preemption. */
static void test_engine(void **state)
{
	struct infer_engine_stats st;

	(void)state;
	for (size_t i = 0; i < HOWS + MORE; i++) {
		const struct how *h = how_at(i);
		infer_model *m = open_model(h);
		int layers = m->h.n_layers;

		run_cpu(m, h, on_cpu, &st);
		for (int n = 2; n < 4; n++)
			for (int a = (int)(i + (size_t)n) % 2; a <= layers - (n - 2); a += 2) {
				deal(a, n - 2);
				run_on(m, h, devices, n, on_apart, &st);
				for (int r = 0; r < REQUESTS; r++)
					run_same(&on_cpu[r], &on_apart[r], h->name);
				assert_true(st.cached_tokens > SHARED && st.evicted_pages &&
				            st.preemptions);
			}
		infer_model_close(&m);
	}
}

static void says(const infer_model *m, const struct stages_device *d, int n, const char *want)
{
	struct infer_engine_opts o = { .threads = 1, .ctx = CTX };
	struct infer_engine_info info;
	infer_engine *e;

	open_on(&e, m, &o, d, n);
	infer_engine_info(e, &info);
	assert_string_equal(info.placement, want);
	infer_engine_close(&e);
}

static void gather(void *user, int level, const char *line)
{
	char *all = user;

	(void)level;
	snprintf(all + strlen(all), 2048 - strlen(all), "%s\n", line);
}

/* The account of each device, in the log. */
static void test_account(void **state)
{
	infer_model *m = open_model(&hows[4]);
	char all[2048] = "", want[256];
	struct infer_engine_opts o = { .threads = 1, .ctx = CTX, .log = gather, .log_user = all };
	infer_engine *e;

	(void)state;
	deal(2, 0);
	open_on(&e, m, &o, devices, 2);
	for (int i = 0; i < 2; i++) {
		const struct place_part *p = &e->place.parts[i];

		snprintf(want, sizeof want,
		         "apart%d: %d layers from %d, %.1f MiB of weights, %.1f of cache, %.1f of "
		         "workspace\n",
		         i, i ? 4 : 2, i ? 2 : 0, (double)p->weights / (1 << 20),
		         (double)p->kv / (1 << 20), (double)p->workspace / (1 << 20));
		assert_true(p->weights && p->kv && p->workspace);
		assert_non_null(strstr(all, want));
	}
	infer_engine_close(&e);
	infer_model_close(&m);
}

struct seen {
	uint64_t calls, last, all;
};
static void see(void *user, uint64_t done, uint64_t all)
{
	struct seen *s = user;

	assert_true(done >= s->last && done <= all);
	*s = (struct seen){ s->calls + 1, done, all };
}

/* What is told of a prompt goes from the first device to the last, and never back. */
static void test_watch(void **state)
{
	infer_model *m = open_model(&hows[4]);
	struct seen one = { 0 }, three = { 0 };
	struct infer_engine_opts o = { .threads = 1, .ctx = CTX, .watch = { see, &one } };
	struct infer_engine_stats st;
	infer_engine *e;

	(void)state;
	deal(1, 3);
	open_on(&e, m, &o, &(struct stages_device){ .kind = &apart }, 1);
	submit(e, 0, &on_apart[0]);
	assert_int_equal(run_drive(e, NULL), INFER_OK);
	infer_engine_close(&e);
	o.watch.user = &three;
	open_on(&e, m, &o, devices, 3);
	submit(e, 0, &on_apart[0]);
	assert_int_equal(run_drive(e, NULL), INFER_OK);
	infer_engine_stats(e, &st);
	infer_engine_close(&e);
	assert_true(one.calls > 1 && three.calls >= one.calls && st.prefill_rows);
	assert_true(one.last == one.all && three.last == three.all && one.all == three.all);
	infer_model_close(&m);
}

static void test_names(void **state)
{
	const struct backend_kind *cpu = backend_find("cpu");
	infer_model *m = open_model(&hows[4]);
	struct stages_device many[KV_DEVICES + 1] = { { NULL, 0, 0 } };
	struct infer_engine_opts o = { .threads = 1, .ctx = CTX };
	infer_engine *e;
	infer_error err;

	(void)state;
	says(m, (struct stages_device[]){ { cpu, 0, 0 } }, 1, "cpu:0-5");
	says(m, (struct stages_device[]){ { cpu, 0, 2 }, { &apart, 0, 0 } }, 2,
	     "cpu:0-1,apart:2-5");
	says(m, (struct stages_device[]){ { &apart, 0, 5 }, { cpu, 0, 0 } }, 2,
	     "apart:0-4,cpu:5-5");
	says(m, (struct stages_device[]){ { &apart, 1, 0 } }, 1, "apart1:0-5");
	says(m, (struct stages_device[]){ { cpu, 0, 0 }, { &apart, 0, 6 }, { cpu, 0, 0 } }, 3,
	     "cpu0:embedding,apart:0-5,cpu0:output");
	deal(1, 3);
	says(m, devices, 3, "apart0:0-0,apart1:1-3,apart2:4-5");
	deal(1, 0);
	assert_int_equal(engine_open(&e, m, &o, devices, 3, &err), INFER_EINVAL);
	assert_string_equal(err.message, "apart1: must have at least one layer");
	deal(1, 6);
	assert_int_equal(engine_open(&e, m, &o, devices, 3, &err), INFER_EINVAL);
	assert_string_equal(err.message, "apart1: 6 layers, but only 5 of 6 are left");
	assert_int_equal(engine_open(&e, m, &o, many, KV_DEVICES + 1, &err), INFER_EINVAL);
	assert_non_null(strstr(err.message, "17 devices"));
	assert_null(e);
	infer_model_close(&m);
}

static uint64_t closed_left;
static void closed_memory(const struct backend *b, uint64_t *left, uint64_t *total)
{
	(void)b;
	*left = *total = closed_left;
}

/* A device with less memory than the others decides, and is named where it does not suffice. */
static void test_capacity(void **state)
{
	const struct how *h = &hows[4];
	infer_model *m = open_model(h);
	struct infer_engine_opts o = opts_of(h);
	struct infer_engine_stats st;
	infer_engine *e;
	infer_error err;

	(void)state;
	run_cpu(m, h, on_cpu, &st);
	closed.memory = closed_memory;
	for (int i = 0; i < 2; i++) { /* the first, the second */
		const struct stages_device pair[] = { { i ? &apart : &closed, 0, 3 },
			                              { i ? &closed : &apart, 0, 0 } };
		const struct place_part *part;

		closed_left = UINT64_C(1) << 40;
		o.kv_bytes = 0;
		open_on(&e, m, &o, pair, 2);
		part = &e->place.parts[i];
		uint64_t one = part->kv / SEQS, rest = part->weights + part->workspace;
		assert_int_equal(part->kv, one * SEQS);
		assert_true(part->weights && e->place.parts[!i].weights);
		infer_engine_close(&e);

		closed_left = rest + one * 3 / 2;
		open_on(&e, m, &o, pair, 2);
		assert_true(e->place.parts[i].kv < 2 * one && e->place.parts[i].kv >= one);
		assert_true(e->place.parts[!i].kv > e->place.parts[i].kv);
		serve(e, on_apart, &st);
		for (int r = 0; r < REQUESTS; r++)
			run_same(&on_cpu[r], &on_apart[r], "a small device");
		assert_true(st.preemptions > 0);
		infer_engine_close(&e);

		closed_left = rest + one / 2;
		assert_int_equal(engine_open(&e, m, &o, pair, 2, &err), INFER_ENOMEM);
		assert_non_null(strstr(err.message, "closed: a context of 256 needs"));
		assert_non_null(strstr(err.message, " fits"));
		o.ctx = 0;
		open_on(&e, m, &o, pair, 2);
		assert_true(e->ctx < CTX && e->ctx > 0);
		infer_engine_close(&e);
		o.ctx = CTX;
	}
	infer_model_close(&m);
}

/* A budget for all is dealt out by what a position takes. */
static void test_budget(void **state)
{
	infer_model *m = open_model(&hows[4]);
	struct infer_engine_opts o = opts_of(&hows[4]);
	struct infer_engine_stats st;
	infer_engine *e;
	infer_error err;

	(void)state;
	deal(1, 3);
	open_on(&e, m, &o, devices, 3);
	infer_engine_stats(e, &st);
	const struct place_part *p = e->place.parts;
	assert_in_range(p[0].kv + p[1].kv + p[2].kv, o.kv_bytes - 3, o.kv_bytes);
	assert_true(p[1].kv > p[0].kv && p[1].kv > p[2].kv);
	assert_true(st.kv_pages <= o.kv_bytes / st.kv_page_bytes);
	assert_true(st.workspace_bytes > p[0].workspace + p[1].workspace + p[2].workspace);
	infer_engine_close(&e);
	o.kv_bytes = st.kv_page_bytes;
	assert_int_equal(engine_open(&e, m, &o, devices, 3, &err), INFER_ENOMEM);
	assert_int_equal(strncmp(err.message, "a context of 256 needs", 22), 0);
	infer_model_close(&m);
}

static infer_model *small;
static int case_memory(void)
{
	const struct backend_kind *cpu = backend_find("cpu");
	const struct stages_device pair[] = { { cpu, 0, 1 }, { cpu, 0, 0 } };
	struct infer_engine_opts o = { .threads = 1, .ctx = 64, .prefill_chunk = 32 };
	struct infer_request r = { .prompt = prompts[0],
		                   .n_prompt = 40,
		                   .max_tokens = 3,
		                   .user = &on_apart[0],
		                   .flags = INFER_REQ_IGNORE_EOS };
	struct infer_engine_stats st;
	infer_engine *e = NULL;
	infer_error err;
	uint64_t id;
	int rc;

	on_apart[0] = (struct result){ 0 };
	nth_ok(engine_open(&e, small, &o, pair, 2, &err));
	nth_ok(infer_engine_submit(e, &r, &id, &err));
	nth_ok(run_drive(e, &err));
	if (on_apart[0].code == INFER_OK) {
		infer_engine_stats(e, &st);
		assert_int_equal(st.decode_allocs, 0);
		assert_int_equal(on_apart[0].n, 3);
	}
out:
	infer_engine_close(&e);
	return rc;
}

static void test_memory(void **state)
{
	static const struct nth t = { case_memory };
	void *at = (void *)(uintptr_t)&t;

	(void)state;
	small = open_model(&hows[3]);
	nth_run(&at);
	infer_model_close(&small);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cuts),   cmocka_unit_test(test_engine),
		cmocka_unit_test(test_names),  cmocka_unit_test(test_account),
		cmocka_unit_test(test_watch),  cmocka_unit_test(test_capacity),
		cmocka_unit_test(test_budget), cmocka_unit_test(test_memory),
	};

	(void)argc;
	apart = closed = apart_kind();
	closed.name = "closed";
	apart_init(argv[0]);
	return nth_group(tests);
}
