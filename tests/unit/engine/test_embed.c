/* tests/unit/engine/test_embed.c - embeddings, compared with the states that transformers gives in
 * float64 (scripts/golden-embed.py), and the same bits whatever shares the step, however the prompt
 * is divided, and with other threads. */
#include "../nth.h"
#include "../golden_logits.h"

#include <math.h>

#include <infer/engine.h>
#include <infer/type.h>

#define GOLDEN_EMBED "tests/golden/embed/"
enum { WIDTH = 32, KINDS = INFER_EMBED_CLS, BESIDE = 3, SEQS = KINDS + BESIDE };
static const char *const names[] = { "llama-gqa", "qwen2-tied", "gemma2", "granite", "qwen3moe" };

struct vectors {
	float v[KINDS][WIDTH];
	int64_t cached;
};

static const struct golden *case_named(const char *name)
{
	for (int i = 0; i < n_cases; i++)
		if (!strcmp(cases[i].name, name))
			return &cases[i];
	fail_msg("no case %s", name);
	return NULL;
}

static void drive(infer_engine *e, struct vectors *got)
{
	infer_error err = { 0 };
	struct infer_event ev;

	got->cached = 0;
	while (infer_engine_busy(e)) {
		if (infer_engine_step(e, &err))
			fail_msg("%s", err.message);
		while (infer_engine_next(e, &ev)) {
			if (ev.kind != INFER_EVENT_DONE)
				continue;
			if (ev.code)
				fail_msg("%s", ev.message);
			got->cached += ev.usage.cached_tokens;
			if (ev.user)
				assert_int_equal(ev.finish, INFER_FINISH_STOP);
		}
	}
}

/* Each kind of embedding of all ids, and beside them requests that draw, score, or read only. */
static void embed(infer_engine *e, const struct golden *g, int beside, struct vectors *got)
{
	infer_error err = { 0 };

	memset(got, 0x55, sizeof *got);
	for (int i = 0; i < KINDS + beside; i++) {
		struct infer_request r = { .prompt = g->ids,
			                   .n_prompt = (size_t)g->n,
			                   .flags = INFER_REQ_NO_TEXT | INFER_REQ_IGNORE_EOS };

		if (i < KINDS) {
			r.embed = INFER_EMBED_MEAN + i;
			r.embedding = got->v[i];
			r.user = got->v[i];
		} else {
			r.n_prompt = (size_t)g->n / 2;
			r.max_tokens = i == KINDS ? 9 : 0;
			r.flags |= i == KINDS + 1 ? INFER_REQ_SCORE : 0u;
		}
		if (infer_engine_submit(e, &r, NULL, &err))
			fail_msg("%s", err.message);
	}
	drive(e, got);
}

static float *states(const char *name, int n, int *width)
{
	static float all[MAX_IDS * WIDTH];
	char path[512];
	size_t got;
	FILE *f;

	snprintf(path, sizeof path, GOLDEN_EMBED "%s.f32", name);
	f = fopen(path, "rb");
	if (!f)
		fail_msg("%s: make golden", path);
	got = fread(all, sizeof *all, MAX_IDS * WIDTH, f);
	fclose(f);
	*width = (int)got / n;
	assert_int_equal(*width * n, got);
	return all;
}

static void check(const struct golden *g, const struct vectors *got)
{
	int width;
	const float *h = states(g->name, g->n, &width);

	for (int k = 0; k < KINDS; k++) {
		int from = k == INFER_EMBED_LAST - 1 ? g->n - 1 : 0,
		    to = k == INFER_EMBED_CLS - 1 ? 1 : g->n;
		double dot = 0, a = 0, b = 0, far = 0, size = 0;

		for (int i = 0; i < width; i++) {
			double want = 0, is = (double)got->v[k][i];

			for (int r = from; r < to; r++)
				want += (double)h[r * width + i] / (to - from);
			dot += want * is;
			a += want * want;
			b += is * is;
			far = fmax(far, fabs(want - is));
			size = fmax(size, fabs(want));
		}
		if (!(dot / sqrt(a * b) >= 1 - 1e-9) || !(far <= 1e-4 * size))
			fail_msg("%s: pooling %d: a cosine of 1 - %.3g, %.3g away", g->name, k + 1,
			         1 - dot / sqrt(a * b), far / size);
	}
}

static void test_case(void **state)
{
	static const int chunks[] = { 512, 1, 5, 33, 512 };
	const struct golden *g = case_named(*state);
	struct infer_model_opts mo = { .ctx = g->ctx };
	struct vectors first, again;
	infer_model *m = NULL;
	infer_error err = { 0 };
	char path[512];

	snprintf(path, sizeof path, GOLDEN_LOGITS "%s", g->file);
	if (infer_model_open(&m, path, &mo, &err))
		fail_msg("%s", err.message);
	for (int i = 0; i < 5; i++) {
		struct infer_engine_opts o = { .threads = 1 + i % 2,
			                       .ctx = g->ctx,
			                       .kv_set = 1,
			                       .k_type = INFER_F32,
			                       .v_type = INFER_F32,
			                       .prefill_chunk = chunks[i],
			                       .max_seqs = SEQS,
			                       .flags = i == 4 ? INFER_ENGINE_NO_PREFIX_CACHE : 0 };
		infer_engine *e = NULL;

		if (infer_engine_open(&e, m, &o, &err))
			fail_msg("%s", err.message);
		for (int round = 0; round <= BESIDE; round++) {
			embed(e, g, round, &again);
			if (!i && !round) {
				check(g, &again);
				first = again;
			}
			if (memcmp(first.v, again.v, sizeof first.v))
				fail_msg("%s: chunks of %d, %d beside: other bits", g->name,
				         chunks[i], round);
			/* the last state alone needs no other: its tokens may come from the cache */
			if (round && i != 4 && !again.cached)
				fail_msg("%s: nothing came from the cache", g->name);
		}
		infer_engine_close(&e);
	}
	infer_model_close(&m);
}

static void test_refused(void **state)
{
	const struct golden *g = case_named("llama-gqa");
	float v[WIDTH];
	const struct {
		struct infer_request r;
		const char *says;
	} bad[] = {
		{ { .embed = INFER_EMBED_RANK + 1, .embedding = v }, "embed is 5" },
		{ { .embed = -1, .embedding = v }, "embed is -1" },
		{ { .embed = INFER_EMBED_MEAN }, "embedding is NULL" },
		{ { .embed = INFER_EMBED_MEAN, .embedding = v, .max_tokens = 1 }, "max_tokens" },
		{ { .embed = INFER_EMBED_MEAN, .embedding = v, .flags = INFER_REQ_SCORE },
		  "scores" },
	};
	struct infer_engine_opts o = { .threads = 1, .ctx = g->ctx };
	infer_model *m = NULL;
	infer_engine *e = NULL;
	infer_error err = { 0 };
	char path[512];

	(void)state;
	snprintf(path, sizeof path, GOLDEN_LOGITS "%s", g->file);
	if (infer_model_open(&m, path, NULL, &err) || infer_engine_open(&e, m, &o, &err))
		fail_msg("%s", err.message);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct infer_request r = bad[i].r;

		r.prompt = g->ids;
		r.n_prompt = 3;
		r.flags |= INFER_REQ_NO_TEXT;
		assert_int_equal(infer_engine_submit(e, &r, NULL, &err), INFER_EINVAL);
		assert_non_null(strstr(err.message, bad[i].says));
	}
	infer_engine_close(&e);
	infer_model_close(&m);
}

int main(void)
{
	enum { N = sizeof names / sizeof *names };
	static struct CMUnitTest tests[N + 1];

	golden_read();
	for (int i = 0; i < N; i++)
		tests[i] = (struct CMUnitTest){ names[i], test_case, NULL, NULL,
			                        (void *)(uintptr_t)names[i] };
	tests[N] = (struct CMUnitTest)cmocka_unit_test(test_refused);
	return _cmocka_run_group_tests("embed", tests, N + 1, NULL, NULL);
}
