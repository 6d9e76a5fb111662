/* tests/unit/quant/test_eval.c - evaluations compared with numpy (scripts/golden-eval.py), the same
 * bits for any threads and steps, and what is refused. */
#include "../nth.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <infer/eval.h>
#include <infer/type.h>
#include "base/buf.h"

#define GOLDEN "tests/golden/eval/"
#define LOGITS "tests/golden/logits/"
#define TOLERANCE 2e-6
enum { MOST_IDS = 256, NAME = 64 };

struct model {
	infer_model *m;
	infer_engine *e;
	struct infer_eval_side side;
};
/* of a step: threads, most prompt rows; ctx */
struct way {
	int32_t threads, chunk, ctx;
};
static const struct way usual = { 2, 0, 64 };

static int model_open(struct model *m, const char *path, const struct way *w, infer_error *err)
{
	struct infer_engine_opts o = { .threads = w->threads,
		                       .ctx = w->ctx,
		                       .prefill_chunk = w->chunk,
		                       .kv_set = 1,
		                       .k_type = INFER_F32,
		                       .v_type = INFER_F32 };
	int rc = infer_model_open(&m->m, path, NULL, err);

	if (!rc)
		rc = infer_engine_open(&m->e, m->m, &o, err);
	m->side = (struct infer_eval_side){ m->m, m->e };
	return rc;
}

static void model_close(struct model *m)
{
	infer_engine_close(&m->e);
	infer_model_close(&m->m);
}

static struct model opened(const char *folder, const char *name, const struct way *w)
{
	struct model m = { 0 };
	infer_error err;
	char path[256];

	snprintf(path, sizeof path, "%s%s", folder, name);
	if (model_open(&m, path, w, &err))
		fail_msg("%s", err.message);
	return m;
}

/* ---- golden values ---- */

static const struct field {
	const char *name;
	size_t at;
	int n;
} fields[] = {
#define MEAN(f) \
	{ \
#f, offsetof(struct infer_eval_text, f), 2 \
	}
#define RANGE(f) \
	{ \
#f, offsetof(struct infer_eval_text, f), 3 \
	}
	MEAN(nll),
	MEAN(perplexity),
	MEAN(ref_nll),
	MEAN(ref_perplexity),
	MEAN(ratio),
	MEAN(kl),
	RANGE(kl_mean),
	RANGE(kl_median),
	RANGE(kl_p90),
	RANGE(kl_p99),
	{ "kl_max", offsetof(struct infer_eval_text, kl_max), 1 },
	MEAN(dp),
	MEAN(dp_rms),
	RANGE(dp_p1),
	RANGE(dp_median),
	RANGE(dp_p99),
	RANGE(top1),
	RANGE(top5),
	MEAN(beside_nll),
	MEAN(beside_perplexity),
	RANGE(beside_kl),
	RANGE(beside_top1),
	RANGE(nll_difference),
	RANGE(kl_difference),
};

struct golden {
	char name[NAME], model[NAME], ref[NAME], beside[NAME];
	int window, n;
	int32_t ids[MOST_IDS];
};
static double worst; /* relative to max(1, |value|) */

static void check_value(const struct golden *g, const struct infer_eval_text *got, const char *line)
{
	char name[NAME];
	int used = 0;

	assert_int_equal(sscanf(line, "%63s%n", name, &used), 1);
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		const struct field *f = &fields[i];
		double want, is, off;

		if (strcmp(f->name, name))
			continue;
		for (int k = 0, more; k < f->n; k++, used += more) {
			assert_int_equal(sscanf(line + used, "%lf%n", &want, &more), 1);
			memcpy(&is, (const char *)got + f->at + (size_t)k * sizeof is, sizeof is);
			off = fabs(is - want) / fmax(1, fabs(want));
			worst = fmax(worst, off);
			if (!(off <= TOLERANCE))
				fail_msg("%s: %s: %.17g for %.17g", g->name, name, is, want);
		}
		return;
	}
	fail_msg("cases.txt: %s", line);
}

static int golden_case(struct golden *g, const char *line)
{
	int used = 0;

	*g = (struct golden){ 0 };
	if (sscanf(line, "%63s %63s %63s %63s %d %d%n", g->name, g->model, g->ref, g->beside,
	           &g->window, &g->n, &used) != 6)
		return 0;
	assert_true(g->n <= MOST_IDS);
	for (int i = 0, k = 0; i < g->n; i++, used += k)
		assert_int_equal(sscanf(line + used, "%d%n", &g->ids[i], &k), 1);
	return 1;
}

static const char *folder_of(const char *name)
{
	return strncmp(name, "llama", 5) ? GOLDEN : LOGITS;
}

static void evaluate(struct infer_eval_text *got, const struct golden *g, const struct way *w)
{
	int has_ref = strcmp(g->ref, "-") != 0;
	int has_beside = strcmp(g->beside, "-") != 0;
	struct model m = opened(folder_of(g->model), g->model, w), r = { 0 }, b = { 0 };
	const struct infer_eval_opts o = { .ids = g->ids,
		                           .n_ids = (size_t)g->n,
		                           .window = g->window,
		                           .beside = has_beside ? &b.side : NULL };
	infer_error err;

	if (has_ref)
		r = opened(folder_of(g->ref), g->ref, &usual);
	if (has_beside)
		b = opened(folder_of(g->beside), g->beside, &usual);
	if (infer_eval_text(got, &m.side, has_ref ? &r.side : NULL, &o, &err))
		fail_msg("%s", err.message);
	assert_int_equal(got->has_ref, has_ref);
	assert_int_equal(got->has_beside, has_beside);
	assert_int_equal(got->tokens, g->n);
	assert_int_equal(got->windows, g->n / g->window);
	assert_int_equal(got->scored, got->windows * (uint64_t)((g->window - 1) / 2));
	assert_false(infer_engine_busy(m.e));
	model_close(&m);
	model_close(&r);
	model_close(&b);
}

static void check_questions(const char *line)
{
	char name[NAME], file[NAME], path[256];
	unsigned n, right, right_norm;
	struct infer_eval_choices got;
	struct model m;
	struct buf text;
	infer_error err;
	FILE *f;
	int c;

	assert_int_equal(sscanf(line, "%63s %63s %u %u %u", name, file, &n, &right, &right_norm),
	                 5);
	snprintf(path, sizeof path, GOLDEN "%s.jsonl", name);
	f = fopen(path, "r");
	assert_non_null(f);
	buf_init(&text, MEM_BASE);
	while ((c = getc(f)) != EOF)
		buf_putc(&text, c);
	fclose(f);
	m = opened(GOLDEN, file, &usual);
	if (infer_eval_choices(&got, &m.side, text.at, text.len, "questions", NULL, &err))
		fail_msg("%s", err.message);
	assert_int_equal(got.questions, n);
	assert_int_equal(got.right, right);
	assert_int_equal(got.right_norm, right_norm);
	assert_true(got.accuracy.value == (double)right / n);
	assert_true(got.accuracy.lo < got.accuracy.value && got.accuracy.value < got.accuracy.hi);
	model_close(&m);
	buf_fini(&text);
}

static void test_golden(void **state)
{
	static char line[4096];
	static struct golden g;
	struct infer_eval_text got = { 0 };
	FILE *f = fopen(GOLDEN "cases.txt", "r");
	int cases = 0, values = 0, questions = 0;

	(void)state;
	assert_non_null(f);
	while (fgets(line, sizeof line, f)) {
		line[strcspn(line, "\n")] = 0;
		if (!strncmp(line, "case ", 5)) {
			assert_true(golden_case(&g, line + 5));
			evaluate(&got, &g, &usual);
			cases++;
		} else if (!strncmp(line, "value ", 6)) {
			check_value(&g, &got, line + 6);
			values++;
		} else if (!strncmp(line, "questions ", 10)) {
			check_questions(line + 10);
			questions++;
		} else {
			assert_true(*line == '#');
		}
	}
	fclose(f);
	assert_true(cases == 5 && values == 80 && questions == 1);
	print_message("# furthest from numpy: %.2g\n", worst);
}

/* ---- the same bits ---- */

static void draw(struct golden *g, const char *model, const char *ref, const char *beside)
{
	*g = (struct golden){ .window = 50, .n = 155 };
	snprintf(g->name, NAME, "drawn");
	snprintf(g->model, NAME, "%s", model);
	snprintf(g->ref, NAME, "%s", ref);
	snprintf(g->beside, NAME, "%s", beside);
	for (int i = 0; i < g->n; i++)
		g->ids[i] = (i * i + 3 * i) % 79;
}

static void test_ways(void **state)
{
	/* steps of few rows on one side: the two sides are not in step */
	static const struct way ways[] = { { 1, 0, 64 }, { 3, 0, 64 }, { 2, 7, 64 }, { 1, 1, 50 } };
	struct infer_eval_text first, got;
	struct golden g;

	(void)state;
	draw(&g, "q4_0.gguf", "llama-gqa.gguf", "q8_0.gguf");
	evaluate(&first, &g, &usual);
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		evaluate(&got, &g, &ways[i]);
		assert_memory_equal(&first, &got, sizeof got);
	}
}

/* A model beside itself. */
static void test_self(void **state)
{
	struct infer_eval_text got;
	struct golden g;

	(void)state;
	draw(&g, "q4_0.gguf", "q4_0.gguf", "q4_0.gguf");
	evaluate(&got, &g, &usual);
	assert_true(got.kl_difference.value == 0 && got.kl_difference.hi == 0);
	assert_true(got.nll_difference.lo == 0 && got.beside_kl.value == 0);
	assert_true(got.beside_nll.value == got.nll.value && got.beside_top1.value == 1);
	assert_true(got.kl_max == 0 && got.dp_rms.value == 0 && got.dp_rms.se == 0);
	assert_true(got.ratio.value == 1 && got.ratio.se == 0);
	assert_true(got.top1.value == 1 && got.top5.value == 1 && got.top1.hi == 1);
	assert_true(got.nll.value == got.ref_nll.value);
}

/* ---- refusals ---- */

static void refused(int code, const char *says, struct model *m, struct model *r,
                    const struct infer_eval_opts *o)
{
	struct infer_eval_text got;
	infer_error err = { 0 };
	int rc = infer_eval_text(&got, &m->side, r ? &r->side : NULL, o, &err);

	if (rc != code || !strstr(err.message, says))
		fail_msg("%d: \"%s\", where \"%s\" is wanted", rc, err.message, says);
	assert_int_equal(got.scored, 0);
	assert_false(infer_engine_busy(m->e));
}

/* A copy of q8_0.gguf with some bytes changed; *m is opened from it. */
static void edited(struct model *m, void (*edit)(char *at, size_t n))
{
	static char bytes[1 << 16];
	FILE *f = fopen(GOLDEN "q8_0.gguf", "rb");
	char path[] = "/tmp/test_eval-XXXXXX.gguf";
	infer_error err;
	size_t n;
	int fd;

	assert_non_null(f);
	n = fread(bytes, 1, sizeof bytes, f);
	fclose(f);
	edit(bytes, n);
	fd = mkstemps(path, 5);
	assert_true(fd >= 0 && write(fd, bytes, n) == (ssize_t)n && !close(fd));
	if (model_open(m, path, &usual, &err))
		fail_msg("%s", err.message);
	unlink(path);
}

/* The pieces P and Q, which follow each other, exchanged. */
static void other_pieces(char *at, size_t n)
{
	static const char pieces[] = "P\1\0\0\0\0\0\0\0Q";
	char *p = memmem(at, n, pieces, sizeof pieces - 1);

	assert_non_null(p);
	p[0] = 'Q';
	p[sizeof pieces - 2] = 'P';
}

/* The last tensor of the file is output_norm.weight. */
static void not_a_number(char *at, size_t n) { memcpy(at + n - 4, &(float){ NAN }, 4); }

static void test_refused(void **state)
{
	struct model m = opened(GOLDEN, "q4_0.gguf", &usual),
		     other = opened(LOGITS, "qwen2-tied.gguf", &usual), pieces = { 0 }, nan = { 0 };
	struct infer_eval_opts o = { .window = 50 };
	struct infer_eval_text got;
	struct golden g;

	(void)state;
	edited(&pieces, other_pieces);
	edited(&nan, not_a_number);
	draw(&g, "", "", "");
	o.ids = g.ids;
	o.n_ids = 99;
	refused(INFER_EINVAL,
	        "the text has 99 tokens; it needs two windows of 50, 100 tokens: "
	        "use more text, or smaller windows by -c",
	        &m, NULL, &o);
	o.n_ids = 0;
	refused(INFER_EINVAL, "the text has 0 tokens", &m, NULL, &o);
	o.n_ids = 155;
	o.window = 65;
	refused(INFER_ENOMEM, "a window of 65 tokens does not fit the context of 64", &m, NULL, &o);
	o.window = 0;
	refused(INFER_ENOMEM, "a window of 512 tokens", &m, NULL, &o);
	o.window = 3;
	refused(INFER_EINVAL, "at least 4", &m, NULL, &o);
	o.window = 50;
	refused(INFER_EINVAL, "the vocabularies differ: 80 tokens, and 72", &m, &other, &o);
	refused(INFER_EINVAL, "the vocabularies differ: token 47 is 'P', and 'Q' in the reference",
	        &m, &pieces, &o);
	refused(INFER_ENAN, "the logit of token 0 at position 26 is nan", &nan, NULL, &o);
	refused(INFER_ENAN, "the logit of token 0 at position 26 is nan", &m, &nan, &o);
	refused(INFER_ENAN, "the logit of token 0 at position 26 is nan", &nan, &m, &o);
	o.beside = &m.side;
	refused(INFER_EINVAL, "needs a reference that both", &pieces, NULL, &o);
	o.beside = &other.side;
	refused(INFER_EINVAL, "80 tokens, and 72 in the second model", &m, &nan, &o);
	o.beside = NULL;
	o.n_ids = 100; /* it is whole again */
	assert_int_equal(infer_eval_text(&got, &m.side, NULL, &o, NULL), INFER_OK);
	model_close(&m);
	model_close(&other);
	model_close(&pieces);
	model_close(&nan);
}

static void no_answer(struct model *m, const char *text, int code, const char *says)
{
	struct infer_eval_choices got;
	infer_error err = { 0 };
	int rc = infer_eval_choices(&got, &m->side, text, strlen(text), "q", NULL, &err);

	if (rc != code || !strstr(err.message, says))
		fail_msg("%s: %d: \"%s\", where \"%s\" is wanted", text, rc, err.message, says);
	assert_int_equal(got.questions, 0);
	assert_false(infer_engine_busy(m->e));
}

static void test_bad_questions(void **state)
{
#define Q(s) "{\"prompt\":\"PQ\",\"choices\":" s "}"
	static const char good[] = Q("[\"R\",\"S\"],\"answer\":1");
	struct model m = opened(GOLDEN, "q4_0.gguf", &usual);
	struct infer_eval_choices got;
	char line[512];

	(void)state;
	assert_int_equal(infer_eval_choices(&got, &m.side, good, strlen(good), "q", NULL, NULL),
	                 INFER_OK);
	no_answer(&m, "", INFER_EFORMAT, "q: contains no question");
	no_answer(&m, "\n \r\n", INFER_EFORMAT, "q: contains no question");
	snprintf(line, sizeof line, "%s\n\n{", good);
	no_answer(&m, line, INFER_EFORMAT, "q: line 3: ");
	no_answer(&m, "{\"choices\":[\"R\"],\"answer\":0}", INFER_EFORMAT,
	          "line 1: prompt must be a string");
	no_answer(&m, Q("\"a\",\"answer\":0"), INFER_EFORMAT, "choices must be a list");
	no_answer(&m, Q("[],\"answer\":0"), INFER_EFORMAT, "choices must be a list");
	no_answer(&m, Q("[\"\"],\"answer\":0"), INFER_EFORMAT, "a choice must be a string");
	no_answer(&m, Q("[1],\"answer\":0"), INFER_EFORMAT, "a choice must be a string");
	no_answer(&m, Q("[\"R\"],\"answer\":1"), INFER_EFORMAT, "answer must be the index");
	no_answer(&m, Q("[\"R\"],\"answer\":-1"), INFER_EFORMAT, "answer must be the index");
	no_answer(&m, Q("[\"R\"],\"answer\":\"a\""), INFER_EFORMAT, "answer must be the index");
	no_answer(&m, Q("[\"R\"]"), INFER_EFORMAT, "answer must be the index");
	/* no BOS: nothing stands before the first token of the choice */
	no_answer(&m, "{\"prompt\":\"\",\"choices\":[\"R\"],\"answer\":0}", INFER_EFORMAT,
	          "no first token in common");
	snprintf(line, sizeof line, "{\"prompt\":\"%0100d\",\"choices\":[\"R\"],\"answer\":0}", 7);
	no_answer(&m, line, INFER_ENOMEM, "q: line 1: a prompt of 101 tokens needs");
	model_close(&m);
}

/* ---- without memory ---- */

static const struct way alone = { 1, 0, 16 };

static int case_text(void)
{
	struct model m = { 0 }, r = { 0 };
	struct infer_eval_text got;
	struct golden g;
	int rc;

	draw(&g, "", "", "");
	nth_ok(model_open(&m, GOLDEN "q4_0.gguf", &alone, NULL));
	nth_ok(model_open(&r, GOLDEN "q8_0.gguf", &alone, NULL));
	nth_ok(infer_eval_text(&got, &m.side, &r.side,
	                       &(struct infer_eval_opts){ g.ids, 35, 16, { 0 }, NULL }, NULL));
	assert_int_equal(got.scored, 14);
out:
	model_close(&m);
	model_close(&r);
	return rc;
}

static int case_questions(void)
{
	static const char text[] = Q("[\"R\",\"S\"],\"answer\":1");
	struct model m = { 0 };
	struct infer_eval_choices got;
	int rc;

	nth_ok(model_open(&m, GOLDEN "q4_0.gguf", &alone, NULL));
	nth_ok(infer_eval_choices(&got, &m.side, text, strlen(text), "q", NULL, NULL));
	assert_int_equal(got.questions, 1);
out:
	model_close(&m);
	return rc;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),
		cmocka_unit_test(test_ways),
		cmocka_unit_test(test_self),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_bad_questions),
		nth_case(case_text),
		nth_case(case_questions),
	};

	return nth_group(tests);
}
