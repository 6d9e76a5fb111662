/* tests/unit/lora/test_effect.c - the factors of pairs, whole tensors, and models whose output is their embedding
 * table. */
#include "peft_dir.h"

#include <math.h>

#include <infer/lora.h>
#include "base/err.h"

static infer_model *plain, *tied, *old;

static int open_models(void **state)
{
	static const char *const names[] = { "llama-gqa", "qwen2-tied", "deepseek2-old" };
	infer_model **const to[] = { &plain, &tied, &old };
	char path[128];
	infer_error e;

	if (make_folder(state) || make_peft_dir(state))
		return -1;
	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof path, "tests/golden/logits/%s.gguf", names[i]);
		if (infer_model_open(to[i], path, NULL, &e))
			return -1;
	}
	return 0;
}

static int close_models(void **state)
{
	infer_model_close(&plain);
	infer_model_close(&tied);
	infer_model_close(&old);
	return drop_folder(state) || drop_peft_dir(state) ? -1 : 0;
}

static infer_lora *open_lora(const infer_model *m, const char *path)
{
	infer_lora *l;
	infer_error e;

	if (infer_lora_open(&l, m, path, NULL, NULL, &e))
		fail_msg("%s", e.message);
	return l;
}

static const struct made_keys keys = { "adapter", "llama", "lora", NULL, 8 };
#define Q "base_model.model.model.layers.0.self_attn.q_proj"
#define HEAD "base_model.model.lm_head"
#define EMBED "base_model.model.model.embed_tokens"

static double factor_of(const char *json)
{
	static const struct peft_made t[2] = { { Q ".lora_A.weight", NULL, { 4, 32 }, 1, 0 },
		                               { Q ".lora_B.weight", NULL, { 32, 4 }, 2, 0 } };
	struct infer_lora_entry e;

	write_peft_tensors(t, 2);
	write_peft_config(json);
	infer_lora *l = open_lora(plain, peft_dir);
	infer_lora_entry(l, 0, &e);
	assert_string_equal(e.tensor, "blk.0.attn_q.weight");
	infer_lora_close(&l);
	return e.scale;
}

/* As peft: a pattern is a regular expression for the name, or for what follows a dot; the first that matches counts. */
static void test_factors(void **state)
{
	static const struct {
		const char *json;
		double factor;
	} cases[] = {
		{ "\"r\":4,\"lora_alpha\":16", 4 },
		{ "\"r\":4", 2 },
		{ "\"r\":4,\"lora_alpha\":16,\"use_rslora\":true", 8 },
		{ "\"r\":8,\"lora_alpha\":16,\"rank_pattern\":{\"q_proj\":4}", 4 },
		{ "\"r\":4,\"lora_alpha\":16,\"alpha_pattern\":{\"q_proj\":2}", 0.5 },
		{ "\"r\":4,\"lora_alpha\":16,\"alpha_pattern\":{\"proj\":2}", 4 },
		{ "\"r\":4,\"lora_alpha\":16,\"alpha_pattern\":{\".*proj\":2}", 0.5 },
		{ "\"r\":4,\"lora_alpha\":16,\"alpha_pattern\":{\"[kv]_proj\":2,\"layers.0.self_"
		  "attn.q_proj\":6,"
		  "\"q_proj\":7}",
		  1.5 },
		{ "\"r\":4,\"lora_alpha\":16,\"alpha_pattern\":{\"^model\\\\.layers\\\\.[0-3]\\\\.."
		  "*q_proj\":2}",
		  0.5 },
		{ "\"r\":4,\"lora_alpha\":16,\"alpha_pattern\":{\"^layers.*q_proj\":2}", 4 },
		{ "\"r\":4,\"lora_alpha\":16,\"alpha_pattern\":{\"layers.1.self_attn.q_proj\":2}",
		  4 },
		{ "\"r\":4,\"lora_alpha\":-16.5,\"init_lora_weights\":\"gaussian\",\"use_dora\":"
		  "false,"
		  "\"fan_in_fan_out\":true,\"something_new\":null",
		  -4.125 },
	};
	char json[400];

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		snprintf(json, sizeof json, "{\"peft_type\":\"LORA\",%s}", cases[i].json);
		double have = factor_of(json);
		if (fabs(have - cases[i].factor) > 1e-12)
			fail_msg("%s: %g, not %g", cases[i].json, have, cases[i].factor);
	}
}

static void test_alpha_0(void **state)
{
	const struct infer_tensor *q = infer_file_tensor(plain->file, "blk.0.attn_q.weight");
	struct made_keys k = keys;
	struct made_tensor t[2];
	struct infer_lora_entry e;
	struct infer_lora_info info;

	(void)state;
	made_pair(t, q, 4, INFER_F32, 0, 0, 5);
	for (int i = 0; i < 2; i++) {
		k.alpha = i ? NAN : 0; /* none */
		write_adapter(&k, t, 2);
		infer_lora *l = open_lora(plain, adapter_path);
		infer_lora_entry(l, 0, &e);
		assert_true(e.scale == 1);
		infer_lora_info(l, &info);
		assert_int_equal(info.n_params, 4 * (q->ne[0] + q->ne[1]));
		assert_int_equal(info.bytes, 4 * info.n_params);
		infer_lora_close(&l);
	}
}

static void test_serial(void **state)
{
	struct infer_lora_info a, b;

	(void)state;
	infer_lora *x = open_lora(plain, adapter_path), *y = open_lora(plain, adapter_path);
	infer_lora_info(x, &a);
	infer_lora_info(y, &b);
	assert_int_not_equal(a.serial, b.serial);
	assert_string_equal(a.sha256, b.sha256);
	infer_lora_close(&x);
	infer_lora_close(&y);
}

/* A norm of the adapter replaces the model's, whatever the factor, unless that is 0. */
static void test_norm(void **state)
{
	const struct infer_tensor *n = infer_file_tensor(plain->file, "blk.1.ffn_norm.weight");
	struct made_tensor t = { "blk.1.ffn_norm.weight", INFER_BF16, { 32, 1, 1, 1 }, 9, 0 };
	float w[32];

	(void)state;
	write_adapter(&keys, &t, 1);
	infer_lora *l = open_lora(plain, adapter_path);
	int32_t at = plain->layer[1][W_FFN_NORM];
	const struct weight *whole = lora_adapter(l)->product[at].whole;
	assert_non_null(whole);
	assert_int_equal(whole->type, INFER_F32);
	for (int i = 0; i < 32; i++)
		assert_true(((const float *)whole->at[0])[i] == made_value(9, i));
	memset(w, 0, sizeof w);
	assert_int_equal(infer_lora_merge(l, 0, n, 0, 0, 1, w, NULL), 0);
	assert_true(w[3] == 0);
	assert_int_equal(infer_lora_merge(l, 0.25F, n, 0, 0, 1, w, NULL), 0);
	for (int i = 0; i < 32; i++)
		assert_true(w[i] == made_value(9, i));
	assert_int_equal(infer_lora_merge(l, 1, n, 0, 1, 1, w, NULL), INFER_EINVAL);
	assert_int_equal(infer_lora_merge(l, 1, n, 1, 0, 1, w, NULL), INFER_EINVAL);
	infer_lora_close(&l);
}

/* Which of the table and the output of the tied model an adapter changes. */
static void check_tied(const char *what, const char *path, int table, int output, int whole)
{
	infer_lora *l = open_lora(tied, path);
	int32_t w = tied->global[W_TOKEN_EMBD];
	const struct backend_change *t = &lora_adapter(l)->table[w],
				    *p = &lora_adapter(l)->product[w];

	if ((whole ? t->whole != NULL : t->deltas != NULL) != table ||
	    (whole ? p->whole != NULL : p->deltas != NULL) != output)
		fail_msg("%s: wrong uses of the embedding table are changed", what);
	infer_lora_close(&l);
}

static void test_tied(void **state)
{
	const int64_t *ne = infer_file_tensor(tied->file, "token_embd.weight")->ne;
	const struct infer_tensor *embd = infer_file_tensor(tied->file, "token_embd.weight");
	struct infer_tensor output = *embd;
	struct made_tensor t[2];
	struct made_keys k = keys;
	float *w = calloc((size_t)(ne[0] * ne[1]), sizeof *w);

	(void)state;
	k.arch = "qwen2";
	output.name = (struct infer_str){ "output.weight", 13 };
	made_pair(t, &output, 3, INFER_F32, 0, 0, 5);
	write_adapter(&k, t, 2);
	check_tied("output", adapter_path, 0, 1, 0);
	infer_lora *l = open_lora(tied, adapter_path);
	assert_int_equal(infer_lora_merge(l, 1, embd, 0, 0, ne[1], w, NULL), 0);
	for (int64_t i = 0; i < ne[0] * ne[1]; i++)
		assert_true(w[i] == 0);
	assert_int_equal(infer_lora_merge(l, 1, &output, 0, 0, ne[1], w, NULL), 0);
	assert_true(fabs((double)w[ne[0] + 1] - 8.0 / 3 * made_product(t, 0, 0, 1, 1)) < 1e-5);
	infer_lora_close(&l);
	made_pair(t, embd, 3, INFER_F32, 1, 0, 5);
	write_adapter(&k, t, 2);
	check_tied("table", adapter_path, 1, 0, 0);
	free(w);
}

static void test_tied_peft(void **state)
{
	const int64_t *ne = infer_file_tensor(tied->file, "token_embd.weight")->ne;
	const struct peft_made
		head = { HEAD ".weight", NULL, { ne[1], ne[0] }, 7, 0 },
		embed = { EMBED ".weight", NULL, { ne[1], ne[0] }, 7, 0 },
		base = { EMBED ".base_layer.weight", NULL, { ne[1], ne[0] }, 7, 0 },
		pair[2] = { { EMBED ".lora_embedding_A", NULL, { 8, ne[1] }, 1, 0 },
		            { EMBED ".lora_embedding_B", NULL, { ne[0], 8 }, 2, 0 } },
		heads[2] = { { HEAD ".lora_A.weight", NULL, { 8, ne[0] }, 1, 0 },
		             { HEAD ".lora_B.weight", NULL, { ne[1], 8 }, 2, 0 } };
	infer_lora *l;
	infer_error e;

	(void)state;
	write_peft_config(
		"{\"peft_type\":\"LORA\",\"modules_to_save\":[\"lm_head\",\"embed_tokens\"]}");
	write_peft_tensors(&head, 1);
	check_tied("saved head", peft_dir, 0, 1, 1);
	write_peft_tensors(&embed, 1);
	check_tied("saved table", peft_dir, 1, 0, 1);
	write_peft_tensors(pair, 2);
	check_tied("pair of the table", peft_dir, 1, 0, 0);
	write_peft_tensors(heads, 2);
	check_tied("pair of the head", peft_dir, 0, 1, 0);
	write_peft_config("{\"peft_type\":\"LORA\"}"); /* resized or trained in the base: both */
	write_peft_tensors(&embed, 1);
	check_tied("table of the base", peft_dir, 1, 1, 1);
	write_peft_tensors(&base, 1);
	check_tied("base of a pair", peft_dir, 1, 1, 1);
	write_peft_config("{\"peft_type\":\"LORA\",\"ensure_weight_tying\":true}");
	write_peft_tensors(pair, 2);
	assert_int_equal(infer_lora_open(&l, tied, peft_dir, NULL, NULL, &e), INFER_EUNSUP);
	assert_non_null(strstr(e.message, "ensure_weight_tying"));
}

/* A file of before the converter split kv_b has the checkpoint's order. */
static void test_latent(void **state)
{
	const struct infer_tensor *t = infer_file_tensor(old->file, "blk.0.attn_kv_b.weight");
	const char *m = "base_model.model.model.layers.0.self_attn.kv_b_proj";
	struct peft_made p[2] = { { "", NULL, { 8, t->ne[0] }, 1, 0 },
		                  { "", NULL, { t->ne[1], 8 }, 2, 0 } };
	float *w = calloc((size_t)(t->ne[0] * t->ne[1]), sizeof *w);

	(void)state;
	snprintf(p[0].name, sizeof p[0].name, "%s.lora_A.weight", m);
	snprintf(p[1].name, sizeof p[1].name, "%s.lora_B.weight", m);
	write_peft_config("{\"peft_type\":\"LORA\"}");
	write_peft_tensors(p, 2);
	infer_lora *l = open_lora(old, peft_dir);
	assert_int_equal(infer_lora_merge(l, 1, t, 0, 0, t->ne[1], w, NULL), 0);
	for (int64_t i = 0; i < t->ne[0] * t->ne[1]; i += 7) {
		double want = 0;
		for (int64_t r = 0; r < 8; r++)
			want += (double)made_value(2, i / t->ne[0] * 8 + r) *
			        (double)made_value(1, r * t->ne[0] + i % t->ne[0]);
		assert_true(fabs((double)w[i] - want) < 1e-5);
	}
	assert_non_null(lora_adapter(l)->product[old->layer[0][W_K_B]].deltas);
	assert_non_null(lora_adapter(l)->product[old->layer[0][W_V_B]].deltas);
	infer_lora_close(&l);
	free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_factors), cmocka_unit_test(test_alpha_0),
		cmocka_unit_test(test_serial),  cmocka_unit_test(test_norm),
		cmocka_unit_test(test_tied),    cmocka_unit_test(test_tied_peft),
		cmocka_unit_test(test_latent),
	};

	return cmocka_run_group_tests(tests, open_models, close_models);
}
