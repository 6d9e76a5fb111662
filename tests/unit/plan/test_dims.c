/* tests/unit/plan/test_dims.c - shapes from config.json and from size classes: the same as those of the model files that
 * belong to the golden configs; what is malformed or not described is refused by name. */
#include <infer/dims.h>
#include "base/buf.h"
#include "../nth.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static void read_file(struct buf *b, const char *path)
{
	FILE *f = fopen(path, "rb");
	char piece[4096];
	size_t n;

	if (!f)
		fail_msg("%s: cannot be opened", path);
	while ((n = fread(piece, 1, sizeof piece, f)) > 0)
		buf_put(b, piece, n);
	fclose(f);
	assert_false(b->bad);
}

/* Return the parameters of all matrices that rows are multiplied with. */
static double matrix_params(const struct infer_shape *s)
{
	double sum = 0;

	for (int i = 0; i < s->n_work; i++) {
		const struct infer_work *w = &s->work[i];
		if (w->kind == INFER_WORK_MATRIX || w->kind == INFER_WORK_EXPERTS)
			sum += (double)w->n * (double)w->k * w->times *
			       (w->kind == INFER_WORK_EXPERTS ? w->experts : 1);
	}
	return sum;
}

static void compare_golden(const char *name)
{
	struct infer_shape a, b;
	struct infer_dims d;
	infer_model *model;
	infer_error err = { 0 };
	struct buf text;
	char path[128];

	buf_init(&text, MEM_BASE);
	snprintf(path, sizeof path, "tests/golden/hf/config/%s.json", name);
	read_file(&text, path);
	if (infer_dims_config(&d, text.at, text.len, name, &err) || infer_dims_shape(&a, &d, &err))
		fail_msg("%s: %s", name, err.message);
	buf_fini(&text);
	snprintf(path, sizeof path, "tests/golden/logits/%s.gguf", name);
	if (infer_model_open(&model, path, NULL, &err) || infer_shape_of(&b, model, &err))
		fail_msg("%s: %s", name, err.message);
	infer_model_close(&model);
	if (a.active_params != b.active_params || matrix_params(&a) != matrix_params(&b))
		fail_msg("%s: %.0f active parameters of %.0f, the model %.0f of %.0f", name,
		         a.active_params, matrix_params(&a), b.active_params, matrix_params(&b));
	for (int64_t n = 5; n < 200; n += 60) {
		double x = infer_shape_kv(&a, n, INFER_F16, INFER_F16),
		       y = infer_shape_kv(&b, n, INFER_F16, INFER_F16);
		if (x != y)
			fail_msg("%s: %.0f bytes of cache for %d tokens, the model %.0f", name, x,
			         (int)n, y);
	}
	assert_int_equal(a.layers, b.layers);
	assert_int_equal(a.vocab, b.vocab);
	assert_int_equal(a.embd, b.embd);
	assert_int_equal(a.ctx_train, b.ctx_train);
	assert_int_equal(a.experts, b.experts);
	assert_true(a.table_elements == b.table_elements);
}

static void test_golden(void **state)
{
	static const char *const names[] = {
		"llama-gqa",          "llama-mqa",     "llama3-hub",
		"mistral-window",     "mixtral",       "qwen2",
		"qwen2-tied",         "qwen3",         "qwen3moe",
		"qwen2moe-hub",       "gemma2",        "gemma3",
		"gemma3-hub",         "phi3",          "granite",
		"granitemoe-hub",     "olmo2-hub",     "olmo3-hub",
		"smollm3-hub",        "glm4-hub",      "glm4moe-hub",
		"gpt-oss-hub",        "minimaxm2-hub", "deepseek2-hub",
		"deepseek2-lite-hub", "deepseek3-hub",
	};

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		compare_golden(names[i]);
}

/* A class, and the parameters of the model that it means. */
static void test_classes(void **state)
{
	static const struct {
		const char *size, *like;
		double params, active;
	} rows[] = {
		{ "8B", "Llama-3.1-8B", 8.03e9, 8.03e9 },
		{ "8b", "Llama-3.1-8B", 8.03e9, 8.03e9 },
		{ "0.6B", "Qwen3-0.6B", 0.6e9, 0.6e9 },
		{ "70B", "Llama-3.1-70B", 70.6e9, 70.6e9 },
		{ "30B-A3B", "Qwen3-30B-A3B", 30.5e9, 3.3e9 },
		{ "671B-A37B", "DeepSeek-V3", 671e9, 37e9 },
		{ "120B-A5B", "gpt-oss-120b", 116.8e9, 5.7e9 },
		{ "27B", "Mistral-Small-24B-2501", 27e9, 27e9 }, /* with more layers */
		{ "9B", "Llama-3.1-8B", 9e9, 9e9 },
		{ "llama-3.1-8b", "Llama-3.1-8B", 8.03e9, 8.03e9 },
		{ "Qwen3-30B-A3B", "Qwen3-30B-A3B", 30.5e9, 3.3e9 },
	};
	struct infer_dims d;
	infer_error err;

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct infer_shape s;

		assert_true(infer_dims_is_class(rows[i].size));
		assert_int_equal(infer_dims_class(&d, rows[i].size, NULL), INFER_OK);
		assert_string_equal(d.name, rows[i].like);
		assert_int_equal(infer_dims_shape(&s, &d, NULL), INFER_OK);
		/* active parameters as most publish them: with the table that is looked up */
		if (fabs(s.params / rows[i].params - 1) > 0.04 ||
		    fabs((s.active_params + s.table_elements) / rows[i].active - 1) > 0.06)
			fail_msg("%s: %.4g parameters, %.4g active", rows[i].size, s.params,
			         s.active_params);
	}
	static const char *const others[] = { "",           "8",       "B",     "8BB",
		                              "8.B",        "-8B",     "8B-3B", "30B-A",
		                              "model.gguf", "8B.gguf", "llama", "8B:Q4_K_M" };

	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		assert_false(infer_dims_is_class(others[i]));
	assert_int_equal(infer_dims_class(&d, "x", &err), INFER_EINVAL);
	static const char *const unusual[] = { "0B", "9000B", "8B-A7.9B", "0.001B",
		                               "99999999999999999999B" };

	for (size_t i = 0; i < sizeof unusual / sizeof *unusual; i++)
		if (infer_dims_class(&d, unusual[i], &err) != INFER_EINVAL)
			fail_msg("%s is %s", unusual[i], d.name);
}

/* A usual model, and the parameters of its checkpoint as huggingface.co counts them; of gemma 3 from 4b on without
 * the images, of DeepSeek without the layer that predicts two tokens. */
static const struct {
	const char *name;
	double params;
} usual[] = {
	{ "Qwen3-0.6B", 0.596e9 },
	{ "Qwen3-1.7B", 1.72e9 },
	{ "Qwen3-4B", 4.02e9 },
	{ "QWEN3-8b", 8.19e9 },
	{ "Qwen3-14B", 14.77e9 },
	{ "Qwen3-32B", 32.76e9 },
	{ "Qwen3-30B-A3B", 30.53e9 },
	{ "Qwen3-235B-A22B", 235.09e9 },
	{ "Qwen2.5-0.5B", 0.494e9 },
	{ "Qwen2.5-1.5B", 1.544e9 },
	{ "Qwen2.5-3B-Instruct", 3.086e9 },
	{ "Qwen2.5-7B", 7.616e9 },
	{ "Qwen2.5-14B", 14.77e9 },
	{ "Qwen2.5-32B", 32.76e9 },
	{ "Qwen2.5-72B", 72.71e9 },
	{ "Mistral-7B", 7.248e9 },
	{ "mistral-nemo", 12.25e9 },
	{ "Mistral-Small-24B", 23.57e9 },
	{ "Mixtral-8x7B", 46.7e9 },
	{ "Mixtral-8x22B", 140.6e9 },
	{ "Phi-4", 14.66e9 },
	{ "phi-4-mini", 3.836e9 },
	{ "gemma-3-1b-it", 0.99989e9 },
	{ "gemma-3-4b", 3.88e9 },
	{ "gemma-3-12b", 11.766e9 },
	{ "gemma-3-27b", 27.009e9 },
	{ "Llama-3.2-1B", 1.236e9 },
	{ "Llama-3.2-3B", 3.213e9 },
	{ "Llama-3-8B", 8.03e9 },
	{ "Llama-3.3-70B", 70.55e9 },
	{ "Llama-3.1-405B", 405.85e9 },
	{ "SmolLM2-1.7B", 1.711e9 },
	{ "DeepSeek-R1", 671.03e9 },
	{ "DeepSeek-R1-Distill-Llama-8B", 8.03e9 },
	{ "DeepSeek-R1-Distill-Qwen-1.5B", 1.777e9 },
	{ "DeepSeek-R1-Distill-Qwen-7B", 7.616e9 },
	{ "DeepSeek-R1-Distill-Qwen-14B", 14.77e9 },
	{ "DeepSeek-R1-Distill-Qwen-32B", 32.76e9 },
	{ "gpt-oss-20b", 20.91e9 },
	{ "gpt-oss-120b", 116.83e9 },
};

static void test_usual(void **state)
{
	struct infer_dims d;
	struct infer_shape s;

	(void)state;
	for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
		if (infer_dims_class(&d, usual[i].name, NULL) || infer_dims_shape(&s, &d, NULL))
			fail_msg("%s is not known", usual[i].name);
		if (fabs(s.params / usual[i].params - 1) > 0.003)
			fail_msg("%s: %.5g parameters", usual[i].name, s.params);
	}
	/* the files of gpt-oss-20b on huggingface.co have 13.76 GB, those of 120b 65.25 */
	assert_int_equal(infer_dims_class(&d, "gpt-oss-20b", NULL), INFER_OK);
	assert_int_equal(infer_dims_shape(&s, &d, NULL), INFER_OK);
	assert_true(fabs(s.weight_bytes / 13.76e9 - 1) < 0.01);
	assert_int_equal(infer_dims_class(&d, "gpt-oss-120b", NULL), INFER_OK);
	assert_int_equal(infer_dims_shape(&s, &d, NULL), INFER_OK);
	assert_true(fabs(s.weight_bytes / 65.25e9 - 1) < 0.01);
	assert_false(infer_dims_is_class("-Instruct"));
	assert_null(infer_dims_usual(-1));
}

/* The manual has each name, and each is known. */
static void test_names(void **state)
{
	struct infer_dims d;
	struct buf text;
	int i;

	(void)state;
	buf_init(&text, MEM_BASE);
	read_file(&text, "man/infer-inspect.1");
	for (i = 0; infer_dims_usual(i); i++) {
		assert_int_equal(infer_dims_class(&d, infer_dims_usual(i), NULL), INFER_OK);
		if (!strstr(text.at, infer_dims_usual(i)))
			fail_msg("the manual does not have %s", infer_dims_usual(i));
	}
	assert_true(i > 40);
	buf_fini(&text);
}

/* A config.json with quantization_config of gpt-oss has experts in MXFP4. */
static void test_config_mxfp4(void **state)
{
	static const char text[] =
		"{\"model_type\":\"gpt_oss\",\"hidden_size\":64,\"num_hidden_layers\":2,"
		"\"num_attention_heads\":4,\"intermediate_size\":128,\"vocab_size\":100,"
		"\"num_local_experts\":4,\"num_experts_per_tok\":2,"
		"\"quantization_config\":{\"quant_method\":\"mxfp4\"}}";
	struct infer_dims d;
	struct infer_shape s;

	(void)state;
	assert_int_equal(infer_dims_config(&d, text, sizeof text - 1, "c", NULL), INFER_OK);
	assert_int_equal(d.type, INFER_BF16);
	assert_int_equal(d.expert_type, INFER_MXFP4);
	assert_int_equal(infer_dims_shape(&s, &d, NULL), INFER_OK);
	for (int i = 0; i < s.n_work; i++)
		if (s.work[i].kind == INFER_WORK_EXPERTS)
			assert_int_equal(s.work[i].type, INFER_MXFP4);
}

#define REST \
	"\"hidden_size\":64,\"num_hidden_layers\":2,\"num_attention_heads\":4,\"intermediate_" \
	"size\":128,\"vocab_size\":100"

static int case_refused(void)
{
	static const struct {
		const char *text, *says;
		int code;
	} rows[] = {
		{ "", "c: line 1", INFER_EFORMAT },
		{ "[]", "\"model_type\" must be a string", INFER_EFORMAT },
		{ "{\"model_type\":7}", "\"model_type\" must be a string", INFER_EFORMAT },
		{ "{\"model_type\":\"mamba2\"," REST "}", "type \"mamba2\"", INFER_EUNSUP },
		{ "{\"model_type\":\"llama\"}", "\"num_hidden_layers\" is missing", INFER_EFORMAT },
		{ "{\"model_type\":\"llama\"," REST ",\"num_key_value_heads\":0}",
		  "num_key_value_heads", INFER_EFORMAT },
		{ "{\"model_type\":\"llama\"," REST ",\"head_dim\":1e9}", "head_dim",
		  INFER_EFORMAT },
		{ "{\"model_type\":\"llama\"," REST ",\"head_dim\":\"x\"}", "head_dim",
		  INFER_EFORMAT },
		{ "{\"model_type\":\"llama\",\"hidden_size\":3,\"num_hidden_layers\":2,\"num_"
		  "attention_heads\":4}",
		  "\"head_dim\" is missing", INFER_EFORMAT },
		{ "{\"model_type\":\"qwen3_moe\"," REST ",\"num_experts\":8}",
		  "\"num_experts_per_tok\" is missing", INFER_EFORMAT },
		{ "{\"model_type\":\"qwen3_moe\"," REST
		  ",\"num_experts\":8,\"num_experts_per_tok\":9}",
		  "num_experts_per_tok", INFER_EFORMAT },
		{ "{\"model_type\":\"qwen3_moe\"," REST
		  ",\"num_experts\":8,\"num_experts_per_tok\":2,\"mlp_only_layers\":[1]}",
		  "layers without experts", INFER_EUNSUP },
	};
	struct infer_dims d;
	infer_error err;
	int rc = INFER_OK;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		nth_fails(infer_dims_config(&d, rows[i].text, strlen(rows[i].text), "c", &err),
		          rows[i].code);
		if (!strstr(err.message, rows[i].says))
			fail_msg("%s: %s", rows[i].text, err.message);
	}
	nth_ok(infer_dims_config(
		&d, "{\"model_type\":\"llama\"," REST ",\"torch_dtype\":\"float16\"}",
		strlen("{\"model_type\":\"llama\"," REST ",\"torch_dtype\":\"float16\"}"), "c",
		NULL));
	assert_int_equal(d.type, INFER_F16);
	assert_int_equal(d.kv_heads, 4);
	assert_int_equal(d.head, 16);
out:
	return rc;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),       cmocka_unit_test(test_classes),
		cmocka_unit_test(test_usual),        cmocka_unit_test(test_names),
		cmocka_unit_test(test_config_mxfp4), nth_case(case_refused),
	};
	return nth_group(tests);
}
