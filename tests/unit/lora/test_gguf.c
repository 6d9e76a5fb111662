/* tests/unit/lora/test_gguf.c - adapters in GGUF over the tiny models of tests/golden/logits: each matrix of each
 * of them is changed alone, and the changes of the weights are those of the file. */
#include "write.h"

#include <math.h>

#include <infer/lora.h>
#include "base/err.h"

static const char *const models[] = {
	"llama-gqa",   "qwen2",         "phi3-hub",      "gemma3",      "mixtral",
	"qwen3moe",    "deepseek2-hub", "deepseek2-old", "gpt-oss-hub", "granitehybrid-hub",
	"lfm2moe-hub", "qwen3next-hub", "qwen35moe-hub", "gemma3n-hub", "gemma4-moe-hub",
	"llama4-hub"
};

static const struct made_keys keys = { "adapter", NULL, "lora", NULL, 6 };

/* Element (row, col) of what a delta adds, without the factor. */
static double delta_at(const struct backend_delta *d, int table, int64_t row, int64_t col)
{
	double sum = 0;

	for (int32_t r = 0; r < d->rank; r++) {
		const char *a = (const char *)d->a + (size_t)(table ? row : r) * d->a_row,
			   *b = (const char *)d->b + (size_t)(table ? col : row) * d->b_row;
		float x, y;
		size_t as = d->a_type == INFER_F32 ? 4 : 2, bs = d->b_type == INFER_F32 ? 4 : 2;
		infer_type_decode(d->a_type, &x, a + (size_t)(table ? r : col) * as, 1, NULL);
		infer_type_decode(d->b_type, &y, b + (size_t)r * bs, 1, NULL);
		sum += (double)x * (double)y;
	}
	return sum;
}

/* Compare the change of weight w with the pair.  The row of the tensor is found by the weight's address. */
static void check_weight(const infer_model *m, const struct backend_adapter *ad, int w,
                         const struct infer_tensor *t, const struct made_tensor pair[2], int table)
{
	const struct weight *at = &m->weights[w];
	const struct backend_change *c = table ? &ad->table[w] : &ad->product[w];

	assert_non_null(c->deltas);
	assert_null(c->whole);
	for (int i = 0; i < at->n; i++) {
		size_t from = (size_t)((const char *)at->at[i] - (const char *)t->data);
		int is_k_b = from >= t->bytes; /* transposed: a copy */
		int64_t row0 = is_k_b ? 0 : (int64_t)(from / at->row_bytes) % t->ne[1],
			mat = is_k_b || t->ne[2] == 1 ? 0 : i;
		assert_int_equal(c->deltas[i].rank, pair[1].ne[0]);
		assert_true(fabs((double)c->deltas[i].scale - 6.0 / (double)pair[1].ne[0]) < 1e-6);
		for (int64_t r = 0; r < at->ne[1]; r += 3)
			for (int64_t col = 0; col < at->ne[0]; col += 5) {
				int64_t step = t->ne[1] / at->n;
				double want =
					is_k_b ? made_product(pair, 0, 0, i * step + col, r)
					       : made_product(pair, table, mat, row0 + r, col);
				double have = delta_at(&c->deltas[i], table, r, col);
				if (fabs(have - want) > 1e-6)
					fail_msg("%.*s: weight %d matrix %d row %d column %d: %g, "
					         "not %g",
					         (int)t->name.len, t->name.at, w, i, (int)r,
					         (int)col, have, want);
			}
	}
}

/* Compare infer_lora_merge with the pair, in two calls. */
static void check_merged(const infer_lora *l, const struct infer_tensor *t,
                         const struct made_tensor pair[2], int table)
{
	int64_t n = t->ne[1], half = n / 2;
	float *w = calloc((size_t)(n * t->ne[0]), sizeof *w);
	double s = 6.0 / (double)pair[1].ne[0];

	for (int64_t mat = 0; mat < t->ne[2]; mat++) {
		for (int64_t i = 0; i < n * t->ne[0]; i++)
			w[i] = 1;
		assert_int_equal(infer_lora_merge(l, 0.5F, t, (int32_t)mat, 0, half, w, NULL), 0);
		assert_int_equal(infer_lora_merge(l, 0.5F, t, (int32_t)mat, half, n - half,
		                                  w + half * t->ne[0], NULL),
		                 0);
		for (int64_t i = 0; i < n * t->ne[0]; i += 3) {
			double want = 1 + 0.5 * s *
			                          made_product(pair, table, mat, i / t->ne[0],
			                                       i % t->ne[0]);
			if (fabs((double)w[i] - want) > 1e-5)
				fail_msg("%.*s: merged %g, not %g", (int)t->name.len, t->name.at,
				         (double)w[i], want);
		}
	}
	free(w);
}

static int open_model(infer_model **m, const char *name)
{
	char path[128];
	infer_error e;

	snprintf(path, sizeof path, "tests/golden/logits/%s.gguf", name);
	int rc = infer_model_open(m, path, NULL, &e);
	if (rc)
		fail_msg("%s", e.message);
	return rc;
}

/* Change tensor t alone.  Returns 1 if the model takes it. */
static int try_tensor(const infer_model *m, const struct infer_tensor *t, int i)
{
	static const int types[] = { INFER_F32, INFER_F16, INFER_BF16 };
	int table = t->name.len == 17 && !memcmp(t->name.at, "token_embd.weight", 17);
	struct made_tensor pair[2];
	struct made_keys k = keys;
	infer_lora *l;
	infer_error e;
	int used = 0;

	k.arch = m->arch->gguf;
	table |= t->name.len == 27 && !memcmp(t->name.at, "per_layer_token_embd.weight", 27);
	made_pair(pair, t, 1 + i % 5, types[i % 3], table, i % 2, (uint32_t)i * 7 + 3);
	write_adapter(&k, pair, 2);
	int rc = infer_lora_open(&l, m, adapter_path, NULL, NULL, &e);
	if (rc == INFER_EUNSUP && strstr(e.message, "tensor "))
		return 0;
	if (rc)
		fail_msg("%s", e.message);
	for (int w = 0; w < m->n_weights; w++)
		if (m->tensors[w] == t) {
			check_weight(m, lora_adapter(l), w, t, pair, table);
			used++;
		}
	assert_int_equal(lora_adapter(l)->max_rank, used ? pair[1].ne[0] : 1);
	check_merged(l, t, pair, table);
	infer_lora_close(&l);
	return 1;
}

/* True for tensors that no product reads. */
static int is_no_matrix(const struct infer_tensor *t)
{
	static const char *const names[] = { "conv", ".bias", "ssm_a.", "ssm_d.", "ssm_norm" };
	char name[128];

	snprintf(name, sizeof name, "%.*s.", (int)t->name.len, t->name.at);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strstr(name, names[i]) && !strstr(name, "conv.in_proj") &&
		    !strstr(name, "conv.out_proj"))
			return 1;
	return 0;
}

static void test_matrices(void **state)
{
	int taken = 0;

	(void)state;
	for (size_t k = 0; k < sizeof models / sizeof *models; k++) {
		infer_model *m;
		const struct infer_tensor *t;

		open_model(&m, models[k]);
		for (int i = 0; (t = infer_file_tensor_at(infer_model_file(m), (uint64_t)i)); i++) {
			if (t->n_dims < 2)
				continue;
			int took = try_tensor(m, t, i);
			if (took == is_no_matrix(t))
				fail_msg("%s: %.*s: %s", models[k], (int)t->name.len, t->name.at,
				         took ? "taken" : "refused");
			taken += took;
		}
		infer_model_close(&m);
	}
	assert_true(taken >= 350);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_matrices) };

	return cmocka_run_group_tests(tests, make_folder, drop_folder);
}
