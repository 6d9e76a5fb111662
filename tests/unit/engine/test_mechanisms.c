/* tests/unit/engine/test_mechanisms.c - promise 1 for what families have beside plain attention:
 * states, latents, sinks, chunks, K and V that layers share, experts of several kinds.
 *
 * Each file of tests/golden/logits has one mechanism or more.  Six requests that begin alike, each
 * alone in small chunks; then all at once, over a prefix that is kept, after giving way to others,
 * with guesses that are partly wrong, and with the layers dealt out to two devices. */
#include "run.h"
#include "engine/engine.h"
#include "../backend/apart.h"

enum { REQUESTS = 6, SHARED = 70, PROMPT = 84, NEW = 40, CTX = 128 };

static const char *const files[] = {
	"qwen35-hub",         /* delta net, attention with a gate */
	"qwen3next-hub",      /* the same with experts and one that every row takes */
	"granitehybrid-hub",  /* Mamba 2 in groups */
	"lfm2moe-hub",        /* short convolutions, experts by sigmoid and a bias */
	"deepseek3-hub",      /* latents, groups of experts */
	"mistral4-grows-hub", /* latents, queries that grow with the position */
	"gpt-oss-hub",        /* sinks, windows, experts with biases */
	"llama4-chunks-hub",  /* chunks, experts with weighted inputs */
	"gemma4-hub",         /* K serves as V, heads of two sizes */
	"gemma4-small-hub",   /* layers that read the K and V of others */
	"gemma4-moe-hub",     /* experts beside the dense part */
	"gemma3n-hub",        /* streams of rows */
};
enum { FILES = sizeof files / sizeof *files };

struct how {
	const char *name;
	int32_t threads, chunk, seqs;
	int alone, tight, guesses, devices;
	uint32_t flags;
};
static const struct how plain = { "alone", 1, 7, 1, 1, .flags = INFER_ENGINE_NO_PREFIX_CACHE };
static const struct how hows[] = {
	{ "alone in chunks of 1", 1, 1, 1, 1, .flags = INFER_ENGINE_NO_PREFIX_CACHE },
	{ "alone in one chunk, three threads", 3, 512, 1, 1,
	  .flags = INFER_ENGINE_NO_PREFIX_CACHE },
	{ "over a prefix", 2, 64, 1 },
	{ "together", 2, 33, REQUESTS },
	{ "preempted", 2, 64, 4, .tight = 1 },
	{ "guesses", 2, 64, 2, .guesses = 1 },
	{ "two devices", 2, 64, 4, .tight = 1, .devices = 1 },
};

static struct backend_kind apart;
static struct result want[REQUESTS], got[REQUESTS];
static int32_t prompts[REQUESTS][PROMPT];

/* Some are right, as the text repeats itself, and some are not. */
static int32_t guess(void *user, const uint64_t *ids, int32_t n, uint64_t *next, int32_t cap)
{
	(void)user;
	for (int32_t k = 0; k < cap && k < 2; k++)
		next[k] = ids[(n * 7 + k) % n];
	return cap < 2 ? cap : 2;
}

static void submit(infer_engine *e, int i, struct result *to)
{
	struct infer_request r = {
		.prompt = prompts[i],
		.n_prompt = (size_t)(PROMPT - 2 * i),
		.max_tokens = NEW,
		.user = to,
		.top = 2,
		.flags = INFER_REQ_IGNORE_EOS,
		.sample = { .temp = i % 2 ? 0 : 0.9f, .seed = (uint64_t)i },
	};
	infer_error err;
	uint64_t id;

	*to = (struct result){ 0 };
	if (infer_engine_submit(e, &r, &id, &err))
		fail_msg("%s", err.message);
}

static void open_one(infer_engine **e, const infer_model *m, const struct how *h,
                     struct infer_engine_opts *o)
{
	struct stages_device all[2] = { { &apart, 0, 1 }, { &apart, 1, 0 } };
	struct stages_device cpu = { .kind = backend_find("cpu") };
	struct infer_engine_stats st;
	infer_error err = { 0 };
	const struct stages_device *d = h->devices ? all : &cpu;
	int n = h->devices ? 2 : 1;

	assert_int_equal(engine_open(e, m, o, d, n, &err), INFER_OK);
	if (!h->tight)
		return;
	infer_engine_stats(*e, &st);
	infer_engine_close(e);
	/* room for one context and a little */
	for (o->kv_bytes = st.kv_page_bytes; engine_open(e, m, o, d, n, NULL);)
		o->kv_bytes += st.kv_page_bytes;
	infer_engine_close(e);
	o->kv_bytes += 2 * st.kv_page_bytes;
	assert_int_equal(engine_open(e, m, o, d, n, &err), INFER_OK);
}

static uint64_t run(const infer_model *m, const struct how *h, struct result *to,
                    struct infer_engine_stats *st)
{
	struct infer_engine_opts o = { .threads = h->threads,
		                       .ctx = CTX,
		                       .prefill_chunk = h->chunk,
		                       .max_seqs = h->seqs,
		                       .step_ms = 1000,
		                       .flags = h->flags };
	infer_engine *e;
	infer_error err = { 0 };

	open_one(&e, m, h, &o);
	if (h->guesses)
		e->draft.guess = guess;
	for (int i = 0; i < REQUESTS; i++) {
		submit(e, i, &to[i]);
		if (h->alone && run_drive(e, &err))
			fail_msg("%s", err.message);
	}
	if (!h->alone && run_drive(e, &err))
		fail_msg("%s", err.message);
	infer_engine_stats(e, st);
	infer_engine_close(&e);
	return st->digest;
}

static void check_happened(const struct how *h, const char *file,
                           const struct infer_engine_stats *st)
{
	if (h->flags & INFER_ENGINE_NO_PREFIX_CACHE)
		assert_int_equal(st->cached_tokens, 0);
	else if (!st->cached_tokens)
		fail_msg("%s, %s: nothing came from the cache", file, h->name);
	if (h->tight && !st->preemptions)
		fail_msg("%s, %s: nobody gave way", file, h->name);
	assert_int_equal(st->decode_allocs, 0);
}

static void test_file(void **state)
{
	const char *file = *state;
	char path[128], what[128];
	struct infer_engine_stats st;
	infer_model *m;
	uint64_t digest;

	snprintf(path, sizeof path, "tests/golden/logits/%s.gguf", file);
	assert_int_equal(infer_model_open(&m, path, NULL, NULL), INFER_OK);
	digest = run(m, &plain, want, &st);
	for (size_t i = 0; i < sizeof hows / sizeof *hows; i++) {
		uint64_t other = run(m, &hows[i], got, &st);

		snprintf(what, sizeof what, "%s, %s", file, hows[i].name);
		for (int r = 0; r < REQUESTS; r++) {
			assert_true(got[r].done && got[r].n == NEW);
			run_same(&want[r], &got[r], what);
		}
		check_happened(&hows[i], file, &st);
		if (hows[i].alone)
			assert_int_equal(other, digest);
	}
	infer_model_close(&m);
}

int main(int argc, char **argv)
{
	struct CMUnitTest tests[FILES];

	(void)argc;
	run_init(argv[0]);
	apart = apart_kind();
	for (int i = 0; i < REQUESTS; i++) {
		run_ids(prompts[i], PROMPT, (uint64_t)i + 20, 1, 60);
		memcpy(prompts[i], prompts[0], SHARED * sizeof **prompts);
	}
	for (size_t i = 0; i < FILES; i++)
		tests[i] = (struct CMUnitTest){ files[i], test_file, NULL, NULL, (void *)files[i] };
	return nth_group(tests);
}
