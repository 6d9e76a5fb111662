/* tests/unit/engine/test_encoders.c - models that embed and rank texts, compared with what
 * transformers makes of the checkpoints in float64 (scripts/golden-encoders.py); the same bits whatever
 * shares the step, and with other threads and kernels; and what such models refuse. */

/* where the models run; NULL: as an engine chooses */
#ifndef ENCODER_DEVICE
#define ENCODER_DEVICE NULL
#endif

#include "../nth.h"
#include "../golden_edit.h"

#include <math.h>

#include <infer/engine.h>
#include <infer/job.h>

#define GOLDEN_ENCODERS "tests/golden/encoders/"
enum { KINDS = 3, WIDTH = 64, OTHERS = 5 };
static const double tolerance = 1e-5, far = 100; /* times max(1, max |want|) */

struct vectors {
	float v[KINDS][WIDTH];
};

/* The kinds of embedding that a case has: three of its states, or its score. */
static int kinds_of(const struct golden *g) { return g->n_vocab ? KINDS : 1; }
static int width_of(const struct golden *g) { return g->n_vocab ? g->n_vocab : 1; }
static int embed_of(const struct golden *g, int i)
{
	return g->n_vocab ? INFER_EMBED_MEAN + i : INFER_EMBED_RANK;
}

static struct vectors expected_vectors(const struct golden *g)
{
	size_t n = g->n_vocab ? (size_t)(g->n * g->n_vocab) : 1;
	float *states = calloc(n, sizeof *states);
	struct vectors want = { 0 };
	char path[512];
	FILE *f;

	snprintf(path, sizeof path, GOLDEN_ENCODERS "%s.f32", g->name);
	f = fopen(path, "rb");
	assert_non_null(f);
	assert_int_equal(fread(states, sizeof *states, n, f), n);
	fclose(f);
	for (int i = 0; i < width_of(g); i++) {
		double sum = 0;
		for (int r = 0; r < g->n && g->n_vocab; r++)
			sum += (double)states[r * g->n_vocab + i] / g->n;
		want.v[0][i] = g->n_vocab ? (float)sum : states[0];
		if (!g->n_vocab)
			continue;
		want.v[1][i] = states[(g->n - 1) * g->n_vocab + i];
		want.v[2][i] = states[i];
	}
	free(states);
	return want;
}

static void drive(infer_engine *e)
{
	infer_error err = { 0 };
	struct infer_event ev;

	while (infer_engine_busy(e)) {
		if (infer_engine_step(e, &err))
			fail_msg("%s", err.message);
		while (infer_engine_next(e, &ev))
			if (ev.kind == INFER_EVENT_DONE && ev.code)
				fail_msg("%s", ev.message);
	}
}

/* How the embeddings of a case are computed. */
struct way {
	const char *isa;
	int threads, seqs, others, flags;
};

static void run(const struct golden *g, infer_model *m, const struct way *way, struct vectors *got)
{
	struct infer_engine_opts o = { .device = ENCODER_DEVICE,
		                       .threads = way->threads,
		                       .isa = way->isa,
		                       .max_seqs = way->seqs,
		                       .kv_set = 1,
		                       .k_type = INFER_F32,
		                       .v_type = INFER_F32,
		                       .prefill_chunk = 16,
		                       .flags = (uint32_t)way->flags };
	float other[OTHERS][WIDTH];
	infer_error err = { 0 };
	infer_engine *e;

	if (infer_engine_open(&e, m, &o, &err))
		fail_msg("%s", err.message);
	for (int i = 0; i < kinds_of(g) + way->others; i++) {
		int of = i - way->others;
		struct infer_request r = { .prompt = g->ids,
			                   .n_prompt = (size_t)g->n,
			                   .second = g->ctx,
			                   .embed = embed_of(g, of < 0 ? 0 : of),
			                   .embedding = of < 0 ? other[i] : got->v[of],
			                   .flags = INFER_REQ_NO_TEXT };
		if (of < 0) { /* texts of 1, 8, ... tokens that begin as the others do */
			r.n_prompt = (size_t)(1 + 7 * i);
			r.second = 0;
		}
		if (infer_engine_submit(e, &r, NULL, &err))
			fail_msg("%s", err.message);
	}
	drive(e);
	infer_engine_close(&e);
}

static infer_model *open_edited(const struct golden *g, const struct edits *more)
{
	char path[64];
	infer_error err = { 0 };
	infer_model *m;
	int rc;

	golden_write_edited(GOLDEN_ENCODERS, g->file, &g->edits, more, path);
	rc = infer_model_open(&m, path, NULL, &err);
	unlink(path);
	if (rc)
		fail_msg("%s: %s", g->name, err.message);
	return m;
}

/* The largest difference, of what is tolerated; the cosine of each kind goes into *least. */
static double misses(const struct golden *g, const struct vectors *got, const struct vectors *want,
                     double *least)
{
	double most = 0;

	*least = 1;
	for (int k = 0; k < kinds_of(g); k++) {
		double dot = 0, a = 0, b = 0, scale = 1, off = 0;
		for (int i = 0; i < width_of(g); i++) {
			double x = (double)got->v[k][i], y = (double)want->v[k][i];
			dot += x * y, a += x * x, b += y * y;
			scale = fmax(scale, fabs(y));
			off = fmax(off, fabs(x - y));
		}
		most = fmax(most, off / scale / tolerance);
		*least = fmin(*least, dot / sqrt(a * b));
	}
	return most;
}

static void test_case(void **state)
{
	static const struct way ways[] = { { NULL, 1, 1, 0, 0 },
		                           { "ref", 2, 1, 0, 0 },
		                           { NULL, 3, 8, OTHERS, 0 },
		                           { NULL, 2, 2, OTHERS, INFER_ENGINE_NO_PREFIX_CACHE } };
	const struct golden *g = *state;
	struct vectors want = expected_vectors(g), first = { 0 };
	infer_model *m = open_edited(g, NULL);
	double cosine, off;

	for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
		struct vectors got = { 0 };
		run(g, m, &ways[w], &got);
		if (w)
			assert_memory_equal(&got, &first, sizeof got);
		first = got;
	}
	infer_model_close(&m);
	off = misses(g, &first, &want, &cosine);
	print_message("%s: %.3g of what is tolerated, cosine 1 - %.2g\n", g->name, off, 1 - cosine);
	assert_true(off <= 1);
	for (int i = 0; i < g->n_mutants; i++) {
		struct vectors got = { 0 };
		m = open_edited(g, &g->mutants[i].edits);
		run(g, m, &ways[0], &got);
		infer_model_close(&m);
		off = misses(g, &got, &want, &cosine);
		print_message("  %s: %.3g\n", g->mutants[i].name, off);
		if (!(off >= far))
			fail_msg("mutant %s is off by %g", g->mutants[i].name, off);
	}
}

static const struct golden *named(const char *name)
{
	for (int i = 0; i < n_cases; i++)
		if (!strcmp(cases[i].name, name))
			return &cases[i];
	fail_msg("no case %s", name);
	return NULL;
}

/* Files in which one value is changed are not opened, and the message names it. */
static void test_hostile(void **state)
{
	static struct {
		const char *name;
		char edit[72];
		const char *says;
		int code;
	} files[] = {
		{ "bert", "key bert.context_length 65", "position_embd.weight", INFER_EFORMAT },
		{ "bert", "key bert.context_length 63", "position_embd.weight", INFER_EFORMAT },
		{ "bert", "key bert.feed_forward_length 39", "ffn_up", INFER_EFORMAT },
		{ "bert", "key bert.attention.causal true", "attention.causal", INFER_EUNSUP },
		{ "nomic", "key nomic-bert.rope.freq_base 0", "rope.freq_base", INFER_EFORMAT },
		{ "nomic", "key nomic-bert.feed_forward_length 80", "ffn_", INFER_EFORMAT },
		{ "modern", "key modern-bert.feed_forward_length 80", "ffn_", INFER_EFORMAT },
		{ "modern", "key modern-bert.hidden_activation tanh", "hidden_activation: tanh",
		  INFER_EUNSUP },
		{ "modern-rank", "key modern-bert.classifier.pooling_type 1",
		  "classifier.pooling_type", INFER_EUNSUP },
		{ "gemma", "key gemma-embedding.attention.key_length 4", "attn_", INFER_EFORMAT },
		{ "qwen-rank", "key qwen3.classifier.output_labels one", "1 labels for the 2 rows",
		  INFER_EFORMAT },
		{ "qwen-rank", "key qwen3.classifier.output_labels bytes",
		  "must be an array of strings", INFER_EFORMAT },
		{ "xlm-rank", "key bert.classifier.output_labels bytes",
		  "must be an array of strings", INFER_EFORMAT },
	};

	(void)state;
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		const struct edits more = { .n = 1, .line = { files[i].edit } };
		const struct golden *g = named(files[i].name);
		infer_error err = { 0 };
		infer_model *m = NULL;
		char path[64];
		golden_write_edited(GOLDEN_ENCODERS, g->file, &g->edits, &more, path);
		int rc = infer_model_open(&m, path, NULL, &err);
		unlink(path);
		infer_model_close(&m);
		if (rc != files[i].code || !strstr(err.message, files[i].says))
			fail_msg("%s: %d, %s", files[i].edit, rc, rc ? err.message : "taken");
	}
}

/* What a file says of how its states become a vector. */
static void test_pooling(void **state)
{
	static struct {
		const char *name;
		char edit[40];
		int code, embed;
	} files[] = {
		{ "bert", "key bert.pooling_type 0", INFER_OK, INFER_EMBED_MEAN },
		{ "bert", "key bert.pooling_type 1", INFER_OK, INFER_EMBED_MEAN },
		{ "bert", "key bert.pooling_type 2", INFER_OK, INFER_EMBED_CLS },
		{ "bert", "key bert.pooling_type 3", INFER_OK, INFER_EMBED_LAST },
		{ "bert", "key bert.pooling_type 5", INFER_EUNSUP, 0 },
		{ "bert", "key bert.pooling_type 4294967295", INFER_EUNSUP, 0 },
		{ "qwen-rank", "key qwen3.pooling_type 4", INFER_OK, INFER_EMBED_RANK },
	};

	(void)state;
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		const struct edits more = { .n = 1, .line = { files[i].edit } };
		infer_model *m = open_edited(named(files[i].name), &more);
		infer_error err = { 0 };
		int embed = INFER_EMBED_NONE;
		int rc = infer_embed_of(&embed, m, &err);
		infer_model_close(&m);
		if (rc != files[i].code ||
		    (rc ? !strstr(err.message, "pooling_type is") : embed != files[i].embed))
			fail_msg("%s: %d, %d, %s", files[i].edit, rc, embed, err.message);
	}
}

static void refused(const char *name, struct infer_request r, int code, const char *why)
{
	const struct golden *g = named(name);
	infer_model *m = open_edited(g, NULL);
	float v[WIDTH];
	int32_t ids[300] = { 0 };
	infer_error err = { 0 };
	infer_engine *e;

	r.prompt = ids;
	r.flags = INFER_REQ_NO_TEXT;
	r.embedding = v;
	r.n_prompt = r.n_prompt ? r.n_prompt : 4;
	if (infer_engine_open(&e, m, NULL, &err))
		fail_msg("%s", err.message);
	assert_int_equal(infer_engine_submit(e, &r, NULL, &err), code);
	if (!strstr(err.message, why))
		fail_msg("%s: %s", name, err.message);
	infer_engine_close(&e);
	infer_model_close(&m);
}

static void test_refused(void **state)
{
	(void)state;
	refused("bert", (struct infer_request){ .max_tokens = 1 }, INFER_EUNSUP, "is an encoder");
	refused("gemma", (struct infer_request){ .flags = INFER_REQ_SCORE }, INFER_EUNSUP,
	        "architecture gemma-embedding");
	refused("qwen-rank", (struct infer_request){ .max_tokens = -1 }, INFER_EUNSUP,
	        "ranks texts");
	refused("bert", (struct infer_request){ .embed = INFER_EMBED_RANK }, INFER_EUNSUP,
	        "no head that ranks");
	refused("bert", (struct infer_request){ .embed = INFER_EMBED_CLS, .n_prompt = 65 },
	        INFER_ENOMEM, "65 tokens");
	refused("bert", (struct infer_request){ .embed = INFER_EMBED_CLS, .second = 4 },
	        INFER_EINVAL, "second is 4");
	refused("qwen-rank", (struct infer_request){ .embed = INFER_EMBED_RANK, .second = 1 },
	        INFER_EINVAL, "only with an encoder");
}

int main(void)
{
	static struct CMUnitTest tests[MAX_CASES + 3];

	golden_read_from(GOLDEN_ENCODERS "cases.txt");
	for (int i = 0; i < n_cases; i++)
		tests[i] = (struct CMUnitTest){ cases[i].name, test_case, NULL, NULL, &cases[i] };
	tests[n_cases] = (struct CMUnitTest)cmocka_unit_test(test_refused);
	tests[n_cases + 1] = (struct CMUnitTest)cmocka_unit_test(test_hostile);
	tests[n_cases + 2] = (struct CMUnitTest)cmocka_unit_test(test_pooling);
	return _cmocka_run_group_tests("encoders", tests, (size_t)n_cases + 3, NULL, NULL);
}
