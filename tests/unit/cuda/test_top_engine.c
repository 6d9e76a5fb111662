/* tests/unit/cuda/test_top_engine.c - tokens that are drawn from the best of the device: the same
 * ids, log-probabilities and alternatives as from all logits, and few bytes fetched; an error that says
 * which logit is not finite.  Only the emulation counts bytes. */
#include <limits.h>

#include "../../emu/emu_control.h"
#include "../engine/run.h"
#include "engine/engine.h"

#pragma weak emu_counter
enum { VOCAB = 1003, CTX = 256, PROMPT = 20, NEW = 24, MOST = 12 };

static int32_t prompts[MOST][PROMPT];
static struct result best[MOST], full[MOST];

static infer_engine *open_engine(const infer_model *m, int32_t seqs)
{
	const struct stages_device device = { .kind = backend_find("cuda") };
	const struct infer_engine_opts o = { .threads = 2,
		                             .ctx = CTX,
		                             .max_seqs = seqs,
		                             .step_ms = 1000,
		                             .flags = INFER_ENGINE_NO_PREFIX_CACHE };
	infer_engine *e;
	infer_error err;

	if (engine_open(&e, m, &o, &device, 1, &err))
		fail_msg("%s", err.message);
	return e;
}

/* Samplers: which of them need no more than the best tokens. */
static const struct {
	struct infer_sample_opts o;
	int32_t top;
	uint32_t flags;
	int best;
} samplers[] = {
	{ { .temp = 0 }, 0, 0, 1 },
	{ { .temp = 0 }, 5, 0, 1 },
	{ { .temp = 0.9f, .top_k = 40, .top_p = 0.95f, .min_p = 0.01f, .seed = 1 }, 3, 0, 1 },
	{ { .temp = 1.3f, .top_k = 64, .seed = 2 }, 20, 0, 1 },
	{ { .temp = 1, .top_k = 3, .min_keep = 9, .typical = 0.9f, .seed = 3 }, 0, 0, 1 },
	{ { .temp = 0.7f, .dynatemp_range = 0.5f, .top_k = 10, .seed = 4 }, 6, INFER_REQ_AFTER, 1 },
	{ { .temp = 1, .top_k = 20, .xtc_probability = 0.5f, .xtc_threshold = 0.05f, .seed = 5 },
	  2,
	  INFER_REQ_AFTER,
	  1 },
	{ { .temp = 1, .top_k = 65, .seed = 6 }, 0, 0, 0 },
	{ { .temp = 1, .top_p = 0.9f, .seed = 7 }, 2, 0, 0 },
	{ { .temp = 0, .repeat = 1.2f }, 2, 0, 0 },
	{ { .temp = 1, .mirostat = 2, .mirostat_tau = 3, .top_k = 5, .seed = 8 }, 0, 0, 0 },
	{ { .temp = 1, .top_k = 4, .top_n_sigma = 1, .seed = 9 }, 0, 0, 0 },
};
_Static_assert(sizeof samplers / sizeof *samplers == MOST, "a prompt for each");

static void submit(infer_engine *e, int i, struct result *to)
{
	const struct infer_request r = { .prompt = prompts[i],
		                         .n_prompt = PROMPT - (size_t)i,
		                         .max_tokens = NEW,
		                         .user = to,
		                         .top = samplers[i].top,
		                         .flags = INFER_REQ_IGNORE_EOS | samplers[i].flags,
		                         .sample = samplers[i].o };
	infer_error err;
	uint64_t id;

	*to = (struct result){ 0 };
	if (infer_engine_submit(e, &r, &id, &err))
		fail_msg("sampler %d: %s", i, err.message);
}

static void drive(infer_engine *e)
{
	infer_error err;

	if (run_drive(e, &err))
		fail_msg("%s", err.message);
}

static void same(const struct result *a, const struct result *b, int i)
{
	char what[32];

	snprintf(what, sizeof what, "sampler %d", i);
	if (a->code || b->code)
		fail_msg("%s: %s%s", what, a->message, b->message);
	assert_int_equal(a->n, NEW);
	run_same(a, b, what);
	assert_int_equal(a->n_top, b->n_top);
	assert_memory_equal(a->top, b->top, (size_t)a->n_top * sizeof *a->top);
	if (a->n_top != samplers[i].top && !(samplers[i].flags & INFER_REQ_AFTER))
		fail_msg("%s: %d alternatives of %d", what, (int)a->n_top, (int)samplers[i].top);
}

/* Run one request alone; the bytes that come from the device for it are at least `least` and at most
 * `most`. */
static void fetch(infer_engine *e, int i, struct result *to, long long least, long long most)
{
	long long before = emu_counter ? emu_counter(EMU_FETCHED) : 0, n;

	submit(e, i, to);
	drive(e);
	if (!emu_counter)
		return;
	n = emu_counter(EMU_FETCHED) - before;
	if (n < least || n > most)
		fail_msg("sampler %d: %lld bytes were fetched", i, n);
}

static void test_same(void **state)
{
	infer_model *m;
	infer_engine *e;

	(void)state;
	assert_int_equal(
		infer_model_open(&m,
	                         run_model("top", "--embd 64 --heads 2 --kv-heads 1 --ff 96 "
	                                          "--vocab 1003 --ctx 1024 --type q8_0"),
	                         NULL, NULL),
		INFER_OK);
	e = open_engine(m, 5);
	assert_true(e->top >= 64);
	for (int i = 0; i < MOST; i++) {
		const long long few = NEW * (64 * 8 + 4), all = NEW * VOCAB * 4;

		fetch(e, i, &best[i], samplers[i].best ? 0 : all,
		      samplers[i].best ? few : LLONG_MAX);
	}
	e->top = 0; /* all logits are fetched */
	for (int i = 0; i < MOST; i++) {
		fetch(e, i, &full[i], NEW * VOCAB * 4, LLONG_MAX);
		same(&best[i], &full[i], i);
	}
	infer_engine_close(&e);
	e = open_engine(m, 5);
	for (int i = 0; i < MOST; i++)
		submit(e, i, &full[i]);
	drive(e);
	for (int i = 0; i < MOST; i++)
		same(&best[i], &full[i], i);
	infer_engine_close(&e);
	infer_model_close(&m);
}

/* An output weight of token 7 that is NaN, infinite, or so large that its logit is infinite: one error, with
 * all logits fetched and without. */
static void test_not_finite(void **state)
{
	static const float bad[] = { NAN, INFINITY, 3e38f, -3e38f };
	int errors = 0;

	(void)state;
	for (size_t b = 0; b < sizeof bad / sizeof *bad; b++) {
		const struct run_change huge[] = { { "output.weight", 7 * 64L, bad[b] },
			                           { "output_norm.weight", 0, 1e3f } };
		const char *path = run_model("f32", "--embd 64 --heads 2 --kv-heads 1 --ff 96 "
		                                    "--vocab 1003 --ctx 1024 --type f32");
		infer_model *m;
		infer_engine *e;

		assert_int_equal(infer_model_open(&m, run_changed(path, huge, 2), NULL, NULL),
		                 INFER_OK);
		e = open_engine(m, 1);
		submit(e, 2, &best[2]);
		drive(e);
		e->top = 0;
		submit(e, 2, &full[2]);
		drive(e);
		assert_int_equal(best[2].code, full[2].code);
		assert_string_equal(best[2].message, full[2].message);
		run_same(&best[2], &full[2], "a logit that is not finite");
		if (best[2].code) {
			assert_int_equal(best[2].code, INFER_ENAN);
			assert_non_null(strstr(best[2].message, "token 7 at position 18 is"));
			errors++;
		}
		infer_engine_close(&e);
		infer_model_close(&m);
	}
	assert_true(errors >= 2);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same),
		cmocka_unit_test(test_not_finite),
	};

	(void)argc;
	run_init(argv[0]);
	for (int i = 0; i < MOST; i++)
		run_ids(prompts[i], PROMPT, (uint64_t)i + 50, 260, 740);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
