/* tests/unit/engine/apart_run.h - models and requests that are run on one device or several, among
 * them some that nobody else can reach (../backend/apart.h) */
#ifndef TESTS_ENGINE_APART_RUN_H
#define TESTS_ENGINE_APART_RUN_H
#include "run.h"
#include "engine/engine.h"
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
	uint32_t flags; /* of engines */
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

enum { HOWS = sizeof hows / sizeof *hows };
static struct result on_cpu[REQUESTS], on_apart[REQUESTS];
static int32_t prompts[REQUESTS][PROMPT];

static void apart_init(const char *self)
{
	for (int i = 0; i < REQUESTS; i++) {
		run_ids(prompts[i], PROMPT, (uint64_t)i + 20, 260, 740);
		memcpy(prompts[i], prompts[0], SHARED * sizeof **prompts);
	}
	memcpy(prompts[3], prompts[2], sizeof *prompts);
	run_init(self);
}

__attribute__((unused)) static const char *model_of(const struct how *h)
{
	return h->options ? run_model(h->name, h->options) : h->name;
}

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

static void open_on(infer_engine **e, const infer_model *m, const struct infer_engine_opts *o,
                    const struct stages_device *devices, int n)
{
	infer_error err;

	if (engine_open(e, m, o, devices, n, &err))
		fail_msg("%s", err.message);
}

/* All requests, and one of them again over what the tree has kept. */
static void serve(infer_engine *e, struct result *to, struct infer_engine_stats *st)
{
	infer_error err;

	e->draft.guess = guess;
	for (int i = 0; i < REQUESTS; i++)
		submit(e, i, &to[i]);
	assert_int_equal(run_drive(e, &err), INFER_OK);
	submit(e, 0, &to[0]);
	assert_int_equal(run_drive(e, &err), INFER_OK);
	infer_engine_stats(e, st);
}

static struct infer_engine_opts opts_of(const struct how *h)
{
	return (struct infer_engine_opts){ .threads = 2,
		                           .ctx = CTX,
		                           .kv_set = 1,
		                           .k_type = h->k_type,
		                           .v_type = h->v_type,
		                           .prefill_chunk = 64,
		                           .max_seqs = SEQS,
		                           .step_ms = 1000,
		                           .flags = h->flags,
		                           .kv_bytes = 16 << 20 };
}

/* Whether nobody reads the file any more.  The built-in model has no mapping; the host reads its
 * experts. */
static int all_apart(const struct how *h, const struct stages_device *devices, int n)
{
	int apart = h->options != NULL && !(h->flags & INFER_ENGINE_CPU_EXPERTS);

	for (int i = 0; i < n; i++)
		apart &= devices[i].kind != backend_find("cpu");
	return apart;
}

/* With a cache so small that sequences give way to others and come back. */
static void run_on(const infer_model *m, const struct how *h, const struct stages_device *devices,
                   int n, struct result *to, struct infer_engine_stats *st)
{
	struct infer_engine_opts o = opts_of(h);
	int apart = all_apart(h, devices, n);
	infer_engine *e;

	open_on(&e, m, &o, devices, n);
	infer_engine_stats(e, st);
	infer_engine_close(&e);
	for (o.kv_bytes = st->kv_page_bytes; engine_open(&e, m, &o, devices, n, NULL);)
		o.kv_bytes += st->kv_page_bytes;
	infer_engine_close(&e);
	o.kv_bytes += 3 * st->kv_page_bytes;
	open_on(&e, m, &o, devices, n);
	if (apart)
		let_file(m, PROT_NONE);
	serve(e, to, st);
	infer_engine_close(&e);
	if (apart)
		let_file(m, PROT_READ);
}

__attribute__((unused)) static void run_cpu(const infer_model *m, const struct how *h,
                                            struct result *to, struct infer_engine_stats *st)
{
	run_on(m, h, &(struct stages_device){ .kind = backend_find("cpu") }, 1, to, st);
}

#include "apart_hand.h"
#endif
