/* tests/unit/quant/test_mix.c - the types of tensors, against those that llama.cpp gives them
 * (tests/golden/quant/types.txt, made by scripts/golden-quant.py). */
#include "../nth.h"
#include "file/gguf_write.h"
#include "quant/mix.h"
#include "quant/plan.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define GOLDEN "tests/golden/quant/types.txt"
enum { ROWS = 16, TENSORS = 2048, LINE = 8192 };

struct row {
	char name[48];
	int columns, matrices;
};
struct model {
	char name[32], arch[32];
	int layers, heads, kv, experts, columns, tied, n_rows, n;
	struct row rows[ROWS];
	/* in the order of names without the layer, and of layers, as in the golden file; then as the
	 * rules see them */
	char names[TENSORS][64], stems[TENSORS][64];
	int golden[TENSORS], seen[TENSORS], layer[TENSORS];
	infer_file *file;
};
static struct model m;

static int zeros(void *user, int64_t row, int64_t n, void *dst, infer_error *err)
{
	(void)row;
	(void)err;
	memset(dst, 0, (size_t)(n * *(int64_t *)user) * 4);
	return INFER_OK;
}

static void add(struct gguf_write *w, const char *stem, int layer, int columns, int matrices)
{
	static int64_t widths[TENSORS];
	int64_t ne[3] = { columns, matrices ? 2 : 1, matrices > 1 ? matrices : 1 };
	char *name = m.names[m.n];

	if (layer < 0)
		snprintf(name, 64, "%s", stem);
	else
		snprintf(name, 64, "blk.%d.%s", layer, stem);
	snprintf(m.stems[m.n], 64, "%s%s", layer < 0 ? "" : "blk.", stem);
	m.layer[m.n] = layer;
	widths[m.n] = columns;
	assert_int_equal(gguf_write_tensor(w, name, INFER_F32, 3, ne, zeros, &widths[m.n], NULL),
	                 INFER_OK);
	m.golden[m.n] = m.seen[m.n] = m.n;
	m.n++;
}

static int by_stem(const void *a, const void *b)
{
	int i = *(const int *)a, j = *(const int *)b, order = strcmp(m.stems[i], m.stems[j]);

	return order ? order : m.layer[i] - m.layer[j];
}

static int by_layer(const void *a, const void *b)
{
	int i = *(const int *)a, j = *(const int *)b;

	return m.layer[i] != m.layer[j] ? m.layer[i] - m.layer[j] : strcmp(m.names[i], m.names[j]);
}

static void u32(struct gguf_write *w, const char *key, int v)
{
	char name[96];

	snprintf(name, sizeof name, "%s.%s", m.arch, key);
	gguf_write_u32(w, name, (uint32_t)v);
}

static void build(void)
{
	char path[] = "/tmp/infer-test-mix-XXXXXX", stem[64];
	struct gguf_write *w;

	m.n = 0;
	close(mkstemp(path));
	assert_int_equal(gguf_write_new(&w, path, NULL), INFER_OK);
	gguf_write_str(w, "general.architecture", m.arch, strlen(m.arch));
	u32(w, "block_count", m.layers);
	u32(w, "attention.head_count", m.heads);
	u32(w, "attention.head_count_kv", m.kv);
	if (m.experts)
		u32(w, "expert_count", m.experts);
	for (int i = m.layers - 1; i >= 0; i--) /* the order of the file counts for nothing */
		for (int r = 0; r < m.n_rows; r++) {
			snprintf(stem, sizeof stem, "%s.weight", m.rows[r].name);
			add(w, stem, i, m.rows[r].columns, m.rows[r].matrices);
		}
	add(w, "token_embd.weight", -1, m.columns, 1);
	add(w, "output_norm.weight", -1, m.columns, 0);
	if (!m.tied)
		add(w, "output.weight", -1, m.columns, 1);
	assert_int_equal(gguf_write_end(w, NULL), INFER_OK);
	gguf_write_free(w);
	infer_file_close(&m.file);
	assert_int_equal(infer_file_open(&m.file, path, NULL), INFER_OK);
	unlink(path);
	qsort(m.golden, (size_t)m.n, sizeof *m.golden, by_stem);
	qsort(m.seen, (size_t)m.n, sizeof *m.seen, by_layer);
}

static void expect(const char *name, int imatrix, char *types)
{
	static int got[TENSORS];
	struct mix mix;
	int i = 0;

	assert_non_null(mix_find(name));
	assert_int_equal(mix_init(&mix, mix_find(name), imatrix, m.file, NULL), INFER_OK);
	for (int s = 0; s < m.n; s++) {
		const struct infer_tensor *t = infer_file_tensor(m.file, m.names[m.seen[s]]);
		int type = t->type;

		if (mix_takes(&mix, t)) {
			assert_int_equal(mix_choose(&type, &mix, t, NULL), INFER_OK);
			type = mix_fit(type, t->ne[0]);
		}
		got[m.seen[s]] = type;
	}
	for (char *word = strtok(types, " \n"); word; word = strtok(NULL, " \n")) {
		char *star = strchr(word, '*');
		int times = star ? atoi(star + 1) : 1;

		if (star)
			*star = 0;
		for (; times--; i++) {
			const char *is = infer_type_info(got[m.golden[i]])->name;

			if (strcmp(is, word))
				fail_msg("%s, %s, imatrix %d: %s is %s, not %s", m.name, name,
				         imatrix, m.names[m.golden[i]], is, word);
		}
	}
	assert_int_equal(i, m.n);
}

static void test_golden(void **state)
{
	static char line[LINE], types[LINE];
	FILE *f = fopen(GOLDEN, "r");
	int imatrix, at, cases = 0, built = 0;
	char name[32];
	struct row r;

	(void)state;
	assert_non_null(f);
	while (fgets(line, sizeof line, f)) {
		if (*line == '#')
			continue;
		if (sscanf(line, "model %31s %31s %d %d %d %d", m.name, m.arch, &m.layers, &m.heads,
		           &m.kv, &m.experts) == 6) {
			m.n_rows = built = 0;
		} else if (sscanf(line, "row %47s %d %d", r.name, &r.columns, &r.matrices) == 3) {
			m.rows[m.n_rows++] = r;
		} else if (sscanf(line, "columns %d tied %d", &m.columns, &m.tied) == 2) {
			build();
			built = 1;
		} else {
			assert_true(built);
			assert_int_equal(sscanf(line, "%31s %d %n", name, &imatrix, &at), 2);
			/* without a line of its own it is the same with importances */
			strcpy(types, line + at);
			expect(name, imatrix, types);
			cases++;
		}
	}
	fclose(f);
	infer_file_close(&m.file);
	assert_true(cases > 400);
}

/* What has no rules: every matrix gets the type, and the shape decides. */
static void test_alone(void **state)
{
	static const struct {
		const char *name;
		int columns, type;
	} cases[] = {
		{ "Q4_K", 256, INFER_Q4_K },  { "q4_k", 96, INFER_Q5_0 },
		{ "Q4_K", 90, INFER_F16 },    { "Q5_K", 64, INFER_Q5_1 },
		{ "Q3_K", 64, INFER_Q4_0 },   { "MXFP4", 64, INFER_MXFP4 },
		{ "NVFP4", 64, INFER_NVFP4 }, { "NVFP4", 32, INFER_MXFP4 },
		{ "MXFP4", 31, INFER_F16 },
	};

	(void)state;
	snprintf(m.arch, sizeof m.arch, "llama");
	m.layers = 4;
	m.heads = 8;
	m.kv = 1;
	m.experts = m.tied = m.n_rows = 0;
	m.rows[m.n_rows++] = (struct row){ "attn_v", 0, 1 };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct mix mix;

		m.columns = m.rows[0].columns = cases[i].columns;
		build();
		assert_int_equal(mix_init(&mix, mix_find(cases[i].name), 0, m.file, NULL), 0);
		for (int s = 0; s < m.n; s++) {
			const struct infer_tensor *t =
				infer_file_tensor(m.file, m.names[m.seen[s]]);
			int type;

			if (!mix_takes(&mix, t))
				continue;
			assert_int_equal(mix_choose(&type, &mix, t, NULL), INFER_OK);
			assert_int_equal(mix_fit(type, t->ne[0]), cases[i].type);
		}
	}
	infer_file_close(&m.file);
}

static void test_layer(void **state)
{
	static const struct {
		const char *name;
		int layer;
	} cases[] = { { "blk.12.attn_v.weight", 12 },
		      { "blk.0.x", 0 },
		      { "blk..x", -1 },
		      { "output.weight", -1 },
		      { "blk.", -1 },
		      { "", -1 },
		      { "v.blk.3.x", -1 },
		      { "blk.99999999999999999999.x", 99999999 } };

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct infer_str s = { cases[i].name, strlen(cases[i].name) };

		assert_int_equal(mix_layer(s), cases[i].layer);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_golden),
		                            cmocka_unit_test(test_alone),
		                            cmocka_unit_test(test_layer) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
