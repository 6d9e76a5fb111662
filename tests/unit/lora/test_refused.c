/* tests/unit/lora/test_refused.c - adapters that are refused, by tensor and name: keys, members, shapes, ranks,
 * halves, values; and damaged files, which are refused or change nothing that was not checked. */
#include "peft_dir.h"

#include <math.h>

#include <infer/lora.h>
#include "base/err.h"

static infer_model *model; /* llama-gqa: 32 wide, Q 32, K and V 16 */
static int refused;        /* so far */

static int open_model(void **state)
{
	infer_error e;

	if (make_folder(state) || make_peft_dir(state))
		return -1;
	return infer_model_open(&model, "tests/golden/logits/llama-gqa.gguf", NULL, &e);
}

static int close_model(void **state)
{
	infer_model_close(&model);
	return drop_folder(state) || drop_peft_dir(state) ? -1 : 0;
}

/* Fail unless the adapter is refused with `code` (0: any), in one line that names the file and contains `says`. */
static void check_refused(const char *path, const char *what, int code, const char *says)
{
	uint64_t live = mem_live();
	infer_error e = { 0 };
	infer_lora *l = (infer_lora *)1;
	int rc = infer_lora_open(&l, model, path, NULL, NULL, &e);

	if (!rc)
		fail_msg("%s: opened", what);
	assert_null(l);
	refused++;
	if ((code && rc != code) || rc == INFER_ENOMEM)
		fail_msg("%s: %s: %s", what, infer_status_name(rc), e.message);
	if (!strstr(e.message, path) || strchr(e.message, '\n') || !strstr(e.message, says))
		fail_msg("%s: says %s, not %s", what, e.message, says);
	if (mem_live() != live)
		fail_msg("%s: %lld blocks left", what, (long long)(mem_live() - live));
}

/* --- GGUF */

static const struct made_keys good = { "adapter", "llama", "lora", NULL, 8 };
#define Q "blk.0.attn_q.weight"
#define PAIR(name, a0, a1, b0, b1) \
	{ \
		{ name ".lora_a", INFER_F32, { a0, a1, 1, 1 }, 1, 0 }, \
		{ \
			name ".lora_b", INFER_F32, { b0, b1, 1, 1 }, 2, 0 \
		} \
	}

static const struct {
	struct made_keys k;
	int code;
	const char *says;
} bad_keys[] = {
	{ { NULL, "llama", "lora", NULL, 8 }, INFER_EINVAL, "general.type" },
	{ { "model", "llama", "lora", NULL, 8 }, INFER_EINVAL, "not an adapter, but: model" },
	{ { "adapter", NULL, "lora", NULL, 8 }, INFER_EUNSUP, "general.architecture" },
	{ { "adapter", "qwen2", "lora", NULL, 8 },
	  INFER_EUNSUP,
	  "the adapter is for qwen2, the model is llama" },
	{ { NULL, "controlvector", NULL, NULL, 8 }, INFER_EINVAL, "control vector" },
	{ { "adapter", "llama", NULL, NULL, 8 }, INFER_EFORMAT, "adapter.type: missing" },
	{ { "adapter", "llama", "dora", NULL, 8 }, INFER_EUNSUP, "must be lora, not dora" },
	{ { "adapter", "llama", "lora", NULL, INFINITY }, INFER_ENAN, "adapter.lora.alpha" },
	{ { "adapter", "llama", "lora", "adapter.alora.invocation_tokens", 8 },
	  INFER_EUNSUP,
	  "aLoRA" },
	{ { "adapter", "llama", "lora", "adapter.lora.dropout", 8 },
	  INFER_EUNSUP,
	  "adapter.lora.dropout: not known" },
	{ { "adapter", "llama", "lora", "llama.block_count", 8 },
	  INFER_EUNSUP,
	  "llama.block_count: not known" },
};

static void test_gguf_keys(void **state)
{
	struct made_tensor t[2] = PAIR(Q, 32, 4, 4, 32);

	(void)state;
	for (size_t i = 0; i < sizeof bad_keys / sizeof *bad_keys; i++) {
		write_adapter(&bad_keys[i].k, t, 2);
		check_refused(adapter_path, bad_keys[i].says, bad_keys[i].code, bad_keys[i].says);
	}
	write_adapter(&good, t, 0);
	check_refused(adapter_path, "empty", INFER_EFORMAT, "no tensors");
}

static const struct {
	struct made_tensor t[2];
	int n, code;
	const char *says;
} bad_tensors[] = {
	{ PAIR(Q, 31, 4, 4, 32), 2, INFER_EFORMAT, "A must have 32 x 4 x 1" },
	{ PAIR(Q, 32, 4, 4, 31), 2, INFER_EFORMAT, "B must have 4 x 32 x 1" },
	{ PAIR(Q, 32, 3, 4, 32), 2, INFER_EFORMAT, Q ".lora_a: A must have" },
	{ PAIR(Q, 4, 32, 32, 4), 2, INFER_EFORMAT, Q ".lora_a" }, /* transposed */
	{ PAIR(Q, 32, 5000, 5000, 32), 2, INFER_EFORMAT, "rank must be 1 to 4096, not 5000" },
	{ PAIR(Q, 32, 4, 4, 32), 1, INFER_EFORMAT, Q ".lora_a: its half .lora_b is missing" },
	{ PAIR("blk.2.attn_q.weight", 32, 4, 4, 32), 2, INFER_EUNSUP, "no such tensor" },
	{ PAIR("blk.0.attn_qkv.weight", 32, 4, 4, 64), 2, INFER_EUNSUP, "no such tensor" },
	{ PAIR("blk.99999999999.attn_q.weight", 32, 4, 4, 32), 2, INFER_EUNSUP, "no such" },
	{ PAIR("x", 32, 4, 4, 32), 2, INFER_EUNSUP, "tensor x: the model has no such tensor" },
	{ PAIR("", 32, 4, 4, 32), 2, INFER_EUNSUP, "no such tensor" },
	{ PAIR("blk.0.attn_norm.weight", 32, 4, 4, 1), 2, INFER_EUNSUP, "only matrices" },
	{ PAIR("rope_freqs.weight", 4, 4, 4, 1), 2, INFER_EUNSUP, "rope_freqs" },
	{ PAIR("token_embd.weight", 32, 4, 4, 72), 2, INFER_EFORMAT, "token_embd.weight" },
	{ { { Q, INFER_F32, { 32, 31, 1, 1 }, 1, 0 } }, 1, INFER_EFORMAT, Q ": it must have" },
	{ { { Q, INFER_F32, { 32, 32, 2, 1 }, 1, 0 } }, 1, INFER_EFORMAT, Q ": it must have" },
	{ { { "blk.0.attn_norm.weight", INFER_F32, { 31, 1, 1, 1 }, 1, 0 } },
	  1,
	  INFER_EFORMAT,
	  "attn_norm.weight: it must have 32" },
	{ { { "blk.7.attn_norm.weight", INFER_F32, { 32, 1, 1, 1 }, 1, 0 } },
	  1,
	  INFER_EUNSUP,
	  "blk.7.attn_norm.weight: the model has no such tensor" },
	{ { { Q ".lora_b", INFER_F32, { 4, 32, 1, 1 }, 1, 0 } },
	  1,
	  INFER_EFORMAT,
	  Q ".lora_b: its half .lora_a is missing" },
	{ { { Q ".lora_a", INFER_F32, { 32, 4, 1, 1 }, 1, NAN },
	    { Q ".lora_b", INFER_F32, { 4, 32, 1, 1 }, 1, 0 } },
	  2,
	  INFER_ENAN,
	  Q ".lora_a" },
	{ { { Q ".lora_a", INFER_F32, { 32, 4, 1, 1 }, 1, 0 },
	    { Q ".lora_b", INFER_F16, { 4, 32, 1, 1 }, 1, INFINITY } },
	  2,
	  INFER_ENAN,
	  Q ".lora_b" },
	{ { { Q ".lora_a", INFER_BF16, { 32, 4, 1, 1 }, 1, -INFINITY },
	    { Q ".lora_b", INFER_F16, { 4, 32, 1, 1 }, 1, 0 } },
	  2,
	  INFER_ENAN,
	  Q ".lora_a" },
};

static void test_gguf_tensors(void **state)
{

	(void)state;
	for (size_t i = 0; i < sizeof bad_tensors / sizeof *bad_tensors; i++) {
		struct made_tensor t[2];
		memcpy(t, bad_tensors[i].t, sizeof t);
		write_adapter(&good, t, bad_tensors[i].n);
		check_refused(adapter_path, bad_tensors[i].says, bad_tensors[i].code,
		              bad_tensors[i].says);
	}
}

/* --- PEFT */

#define CONFIG "{\"peft_type\":\"LORA\",\"r\":4,\"lora_alpha\":8"
#define M "base_model.model.model.layers.0.self_attn.q_proj"

static const struct peft_made good_pair[2] = { { M ".lora_A.weight", NULL, { 4, 32 }, 1, 0 },
	                                       { M ".lora_B.weight", NULL, { 32, 4 }, 2, 0 } };

static const struct {
	const char *json;
	int code;
	const char *says;
} bad_configs[] = {
	{ "", INFER_EFORMAT, "adapter_config.json" },
	{ "[]", INFER_EFORMAT, "must be a JSON object" },
	{ "{", INFER_EFORMAT, "line 1" },
	{ "{\"peft_type\":\"LORA\",\"r\":4,\"r\":4}", INFER_EFORMAT, "duplicate key 'r'" },
	{ "{}", INFER_EFORMAT, "peft_type" },
	{ "{\"peft_type\":7}", INFER_EFORMAT, "peft_type" },
	{ "{\"peft_type\":\"PROMPT_TUNING\"}", INFER_EUNSUP, "not PROMPT_TUNING" },
	{ "{\"peft_type\":\"LOHA\"}", INFER_EUNSUP, "not LOHA" },
	{ CONFIG ",\"use_dora\":true}", INFER_EUNSUP, "use_dora: DoRA" },
	{ CONFIG ",\"alora_invocation_tokens\":[1]}", INFER_EUNSUP, "aLoRA" },
	{ CONFIG ",\"bias\":\"all\"}", INFER_EUNSUP, "bias must be none, not all" },
	{ CONFIG ",\"bias\":\"lora_only\"}", INFER_EUNSUP, "not lora_only" },
	{ CONFIG ",\"lora_bias\":true}", INFER_EUNSUP, "lora_bias" },
	{ CONFIG ",\"trainable_token_indices\":[3]}", INFER_EUNSUP, "trainable_token" },
	{ CONFIG ",\"use_qalora\":true}", INFER_EUNSUP, "QALoRA" },
	{ CONFIG ",\"megatron_config\":{\"a\":1}}", INFER_EUNSUP, "megatron_config" },
	{ CONFIG ",\"layer_replication\":[[0,1]]}", INFER_EUNSUP, "layer_replication" },
	{ CONFIG ",\"use_bdlora\":{\"a\":1}}", INFER_EUNSUP, "BD-LoRA" },
	{ CONFIG ",\"arrow_config\":{\"a\":1}}", INFER_EUNSUP, "Arrow" },
	{ CONFIG ",\"kasa_config\":{\"a\":1}}", INFER_EUNSUP, "KaSA" },
	{ CONFIG ",\"init_lora_weights\":\"pissa\"}", INFER_EUNSUP, "pissa" },
	{ CONFIG ",\"init_lora_weights\":\"pissa_niter_4\"}", INFER_EUNSUP, "pissa_niter_4" },
	{ CONFIG ",\"init_lora_weights\":\"olora\"}", INFER_EUNSUP, "olora" },
	{ CONFIG ",\"init_lora_weights\":\"corda\"}", INFER_EUNSUP, "corda" },
	{ CONFIG ",\"init_lora_weights\":\"loftq\"}", INFER_EUNSUP, "loftq" },
	{ CONFIG ",\"init_lora_weights\":\"lora_ga\"}", INFER_EUNSUP, "lora_ga" },
	{ CONFIG ",\"init_lora_weights\":3}", INFER_EFORMAT, "init_lora_weights" },
	{ CONFIG ",\"frobnicate\":true}", INFER_EUNSUP, "frobnicate is not known" },
	{ CONFIG ",\"use_rslora\":1}", INFER_EFORMAT, "use_rslora" },
	{ CONFIG ",\"modules_to_save\":\"lm_head\"}", INFER_EFORMAT, "modules_to_save" },
	{ CONFIG ",\"modules_to_save\":[1]}", INFER_EFORMAT, "modules_to_save" },
	{ CONFIG ",\"rank_pattern\":[]}", INFER_EFORMAT, "rank_pattern" },
	{ CONFIG ",\"rank_pattern\":{\"q_proj\":\"4\"}}", INFER_EFORMAT, "rank_pattern" },
	{ CONFIG ",\"alpha_pattern\":{\"q_(proj\":4}}", INFER_EFORMAT, "q_(proj" },
	{ CONFIG ",\"alpha_pattern\":{\"(q)\\\\1\":4}}", INFER_EUNSUP, "pattern" },
	{ CONFIG ",\"rank_pattern\":{\"q_proj\":8}}", INFER_EFORMAT, "rank is 4, by" },
	{ "{\"peft_type\":\"LORA\",\"r\":0}", INFER_EFORMAT, "r must be" },
	{ "{\"peft_type\":\"LORA\",\"r\":4097}", INFER_EFORMAT, "r must be" },
	{ "{\"peft_type\":\"LORA\",\"r\":4.5}", INFER_EFORMAT, "r must be" },
	{ "{\"peft_type\":\"LORA\",\"r\":-1}", INFER_EFORMAT, "r must be" },
	{ "{\"peft_type\":\"LORA\",\"r\":4,\"lora_alpha\":\"8\"}", INFER_EFORMAT, "lora_alpha" },
	{ "{\"peft_type\":\"LORA\",\"r\":4,\"lora_alpha\":1e300}", INFER_EFORMAT, "lora_alpha" },
	{ "{\"peft_type\":\"LORA\"}", INFER_EFORMAT, "its rank is 4, by adapter_config.json 8" },
};

static void test_peft_config(void **state)
{

	(void)state;
	write_peft_tensors(good_pair, 2);
	for (size_t i = 0; i < sizeof bad_configs / sizeof *bad_configs; i++) {
		write_peft_config(bad_configs[i].json);
		check_refused(peft_dir, bad_configs[i].json, bad_configs[i].code,
		              bad_configs[i].says);
	}
}

static const struct {
	struct peft_made t[2];
	int n, code;
	const char *says;
} bad_pairs[] = {
	{ { { M ".lora_A.weight", NULL, { 4, 31 }, 1, 0 },
	    { M ".lora_B.weight", NULL, { 32, 4 }, 1, 0 } },
	  2,
	  INFER_EFORMAT,
	  "q_proj.weight: its shape is [32, 31], by the model [32, 32]" },
	{ { { M ".lora_A.weight", NULL, { 4, 32 }, 1, 0 },
	    { M ".lora_B.weight", NULL, { 33, 4 }, 1, 0 } },
	  2,
	  INFER_EFORMAT,
	  "q_proj.weight: its shape is [33, 32]" },
	{ { { M ".lora_A.weight", NULL, { 4, 32 }, 1, 0 },
	    { M ".lora_B.weight", NULL, { 32, 5 }, 1, 0 } },
	  2,
	  INFER_EFORMAT,
	  "its rank is 4, that of its other half 5" },
	{ { { M ".lora_A.weight", NULL, { 5, 32 }, 1, 0 },
	    { M ".lora_B.weight", NULL, { 32, 5 }, 1, 0 } },
	  2,
	  INFER_EFORMAT,
	  "its rank is 5, by adapter_config.json 4" },
	{ { { M ".lora_A.weight", NULL, { 128 }, 1, 0 },
	    { M ".lora_B.weight", NULL, { 32, 4 }, 1, 0 } },
	  2,
	  INFER_EUNSUP,
	  "lora_A.weight: must be a matrix" },
	{ { { M ".lora_A.weight", NULL, { 4, 32, 1 }, 1, 0 },
	    { M ".lora_B.weight", NULL, { 32, 4 }, 1, 0 } },
	  2,
	  INFER_EUNSUP,
	  "must be a matrix" },
	{ { { M ".lora_A.weight", "F64", { 4, 32 }, 1, 0 },
	    { M ".lora_B.weight", NULL, { 32, 4 }, 1, 0 } },
	  2,
	  INFER_EUNSUP,
	  "dtype F64" },
	{ { { M ".lora_A.weight", "I16", { 4, 32 }, 1, 0 },
	    { M ".lora_B.weight", NULL, { 32, 4 }, 1, 0 } },
	  2,
	  INFER_EUNSUP,
	  "dtype I16" },
	{ { { M ".lora_A.weight", NULL, { 4, 32 }, 1, NAN },
	    { M ".lora_B.weight", NULL, { 32, 4 }, 1, 0 } },
	  2,
	  INFER_ENAN,
	  M ".lora_A.weight: the weight at byte" },
	{ { { M ".lora_A.weight", NULL, { 4, 32 }, 1, 0 },
	    { M ".lora_B.weight", "F16", { 32, 4 }, 1, INFINITY } },
	  2,
	  INFER_ENAN,
	  M ".lora_B.weight" },
	{ { { M ".lora_A.weight", "BF16", { 4, 32 }, 1, NAN },
	    { M ".lora_B.weight", NULL, { 32, 4 }, 1, 0 } },
	  2,
	  INFER_ENAN,
	  M ".lora_A.weight" },
	{ { { M ".lora_A.weight", NULL, { 4, 32 }, 1, 0 } },
	  1,
	  INFER_EFORMAT,
	  "half .lora_B.weight is missing" },
	{ { { M ".lora_B.weight", NULL, { 32, 4 }, 1, 0 } },
	  1,
	  INFER_EFORMAT,
	  "half .lora_A.weight is missing" },
	{ { { M ".lora_magnitude_vector", NULL, { 32 }, 1, 0 } }, 1, INFER_EUNSUP, "DoRA" },
	{ { { M ".lora_magnitude_vector.weight", NULL, { 32 }, 1, 0 } }, 1, INFER_EUNSUP, "DoRA" },
	{ { { M ".lora_B.bias", NULL, { 32 }, 1, 0 } }, 1, INFER_EUNSUP, "a bias" },
	{ { { M ".lora_A.default.weight", NULL, { 4, 32 }, 1, 0 } },
	  1,
	  INFER_EUNSUP,
	  "not known in an adapter" },
	{ { { M ".lora_diag", NULL, { 4 }, 1, 0 } }, 1, INFER_EUNSUP, "KaSA" },
	{ { { "base_model.model.model.embed_tokens.token_adapter.trainable_tokens_delta",
	      NULL,
	      { 4, 32 },
	      1,
	      0 } },
	  1,
	  INFER_EUNSUP,
	  "trained tokens" },
	{ { { "prompt_embeddings", NULL, { 4, 32 }, 1, 0 } },
	  1,
	  INFER_EUNSUP,
	  "prompt_embeddings" },
	{ { { "base_model.model.model.layers.9.self_attn.q_proj.lora_A.weight",
	      NULL,
	      { 4, 32 },
	      1,
	      0 },
	    { "base_model.model.model.layers.9.self_attn.q_proj.lora_B.weight",
	      NULL,
	      { 32, 4 },
	      1,
	      0 } },
	  2,
	  INFER_EUNSUP,
	  "layers.9.self_attn.q_proj" },
	{ { { "base_model.model.transformer.h.0.attn.c_attn.lora_A.weight", NULL, { 4, 32 }, 1, 0 },
	    { "base_model.model.transformer.h.0.attn.c_attn.lora_B.weight",
	      NULL,
	      { 32, 4 },
	      1,
	      0 } },
	  2,
	  INFER_EUNSUP,
	  "c_attn" },
	{ { { "base_model.model.model.layers.0.mlp.experts.0.up_proj.lora_A.weight",
	      NULL,
	      { 4, 32 },
	      1,
	      0 },
	    { "base_model.model.model.layers.0.mlp.experts.0.up_proj.lora_B.weight",
	      NULL,
	      { 32, 4 },
	      1,
	      0 } },
	  2,
	  INFER_EUNSUP,
	  "up_proj" },
	{ { { "base_model.model.model.embed_tokens.lora_embedding_A", NULL, { 4, 99 }, 1, 0 },
	    { "base_model.model.model.embed_tokens.lora_embedding_B", NULL, { 32, 4 }, 1, 0 } },
	  2,
	  INFER_EFORMAT,
	  "embed_tokens" },
	{ { { "base_model.model.model.norm.weight", NULL, { 31 }, 1, 0 } },
	  1,
	  INFER_EFORMAT,
	  "model.norm.weight" },
	{ { { "base_model.model.lm_head.weight", NULL, { 7, 32 }, 1, 0 } },
	  1,
	  INFER_EFORMAT,
	  "lm_head" },
	{ { { "base_model.model.model.layers.0.self_attn.rotary.weight", NULL, { 7, 32 }, 1, 0 } },
	  1,
	  INFER_EUNSUP,
	  "rotary" },
};

static void test_peft_tensors(void **state)
{

	(void)state;
	write_peft_config(CONFIG "}");
	for (size_t i = 0; i < sizeof bad_pairs / sizeof *bad_pairs; i++) {
		write_peft_tensors(bad_pairs[i].t, bad_pairs[i].n);
		check_refused(peft_dir, bad_pairs[i].says, bad_pairs[i].code, bad_pairs[i].says);
	}
}

static void test_peft_files(void **state)
{
	(void)state;
	drop_peft_file("adapter_config.json");
	check_refused(peft_dir, "no config", INFER_EINVAL, "it has no adapter_config.json");
	write_peft_config(CONFIG "}");
	drop_peft_file("adapter_model.safetensors");
	check_refused(peft_dir, "no tensors", INFER_EFORMAT, "it has no adapter_model.safetensors");
	write_peft_file("adapter_model.bin", "PK", 2);
	check_refused(peft_dir, "pickle", INFER_EUNSUP, "save it again as safetensors");
	drop_peft_file("adapter_model.bin");
	write_peft_file("adapter_model.safetensors", "", 0);
	check_refused(peft_dir, "empty", 0, "adapter_model.safetensors");
	write_peft_tensors(good_pair, 0);
	check_refused(peft_dir, "nothing", INFER_EFORMAT, "no tensors");
	check_refused("/tmp/infer-no-such-adapter", "missing", INFER_EIO, "");
	check_refused("tests/golden/logits/llama-gqa.gguf", "a model", INFER_EINVAL,
	              "not an adapter, but: model");
}

/* --- damage */

static unsigned char bytes[1 << 16];

static size_t read_bytes(const char *path)
{
	FILE *f = fopen(path, "rb");

	assert_non_null(f);
	size_t n = fread(bytes, 1, sizeof bytes, f);
	fclose(f);
	assert_true(n && n < sizeof bytes);
	return n;
}

static void write_bytes(const char *path, size_t n)
{
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, n, f), n);
	fclose(f);
}

/* Open a damaged adapter: refused in one line, or what was read is used to the last byte. */
static int open_damaged(const char *path)
{
	static float w[32 * 32];
	uint64_t live = mem_live();
	infer_error e = { 0 };
	infer_lora *l;
	int rc = infer_lora_open(&l, model, path, NULL, NULL, &e);

	if (rc)
		assert_true(*e.message && !strchr(e.message, '\n'));
	else
		assert_int_equal(
			infer_lora_merge(l, 1, infer_file_tensor(model->file, Q), 0, 0, 32, w, &e),
			0);
	infer_lora_close(&l);
	assert_int_equal(mem_live(), live);
	return rc != 0;
}

/* Flip bits of the header, and cut the file at places. */
static void damage(const char *file, const char *path, size_t header)
{
	size_t n = read_bytes(file);
	int bad = 0, all = 0;

	assert_true(header < n);
	for (size_t i = 0; i < header; i++)
		for (int bit = 0; bit < 8; bit += 1 + (int)(i % 3)) {
			bytes[i] ^= (unsigned char)(1 << bit);
			write_bytes(file, n);
			bad += open_damaged(path);
			all++;
			bytes[i] ^= (unsigned char)(1 << bit);
		}
	for (size_t cut = 1; cut < n; cut += n / 60 + 1) {
		write_bytes(file, n - cut);
		if (!open_damaged(path))
			fail_msg("%s: cut by %zu bytes: opened", path, cut);
		bad++;
		all++;
	}
	write_bytes(file, n);
	print_message("# %s: %d of %d damaged files refused\n", path, bad, all);
	assert_true(bad >= 100);
	refused += bad;
}

static void test_damage(void **state)
{
	struct made_tensor t[2] = PAIR(Q, 32, 4, 4, 32);
	char file[128];

	(void)state;
	write_adapter(&good, t, 2);
	damage(adapter_path, adapter_path, 400);
	write_peft_tensors(good_pair, 2);
	write_peft_config(CONFIG
	                  ",\"rank_pattern\":{\"v_proj\":3},\"alpha_pattern\":{\"^model.*\":7}}");
	snprintf(file, sizeof file, "%s/adapter_model.safetensors", peft_dir);
	damage(file, peft_dir, 300);
	snprintf(file, sizeof file, "%s/adapter_config.json", peft_dir);
	damage(file, peft_dir, 80);
	print_message("# %d adapters refused\n", refused);
}

/* --- memory */

static int case_gguf(void)
{
	struct made_tensor t[3] = {
		{ Q ".lora_a", INFER_BF16, { 32, 4, 1, 1 }, 1, 0 },
		{ Q ".lora_b", INFER_F16, { 4, 32, 1, 1 }, 2, 0 },
		{ "blk.0.attn_norm.weight", INFER_F32, { 32, 1, 1, 1 }, 3, 0 }
	};
	static float w[32 * 32];
	infer_lora *l = NULL;
	infer_error e;
	int rc;

	if (access(adapter_path, F_OK))
		write_adapter(&good, t, 3);
	nth_ok(infer_lora_open(&l, model, adapter_path, NULL, NULL, &e));
	nth_ok(infer_lora_merge(l, 1, infer_file_tensor(model->file, Q), 0, 0, 32, w, &e));
	infer_lora_ref(l);
	infer_lora *second = l;
	infer_lora_close(&second);
	assert_int_equal(lora_adapter(l)->max_rank, 4);
out:
	infer_lora_close(&l);
	return rc;
}

static int case_peft(void)
{
	infer_lora *l = NULL;
	infer_error e;
	int rc;

	nth_ok(infer_lora_open(&l, model, peft_dir, NULL, NULL, &e));
	assert_int_equal(lora_adapter(l)->max_rank, 4);
out:
	infer_lora_close(&l);
	return rc;
}

static void test_make(void **state)
{
	static const struct peft_made t[] = {
		{ M ".lora_A.weight", NULL, { 4, 32 }, 1, 0 },
		{ M ".lora_B.weight", NULL, { 32, 4 }, 2, 0 },
		{ "base_model.model.model.norm.weight", "BF16", { 32 }, 3, 0 },
	};

	(void)state;
	unlink(adapter_path);
	write_peft_tensors(t, 3);
	write_peft_config(CONFIG
	                  ",\"alpha_pattern\":{\"q_proj\":7},\"modules_to_save\":[\"norm\"]}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gguf_keys),
		cmocka_unit_test(test_gguf_tensors),
		cmocka_unit_test(test_peft_config),
		cmocka_unit_test(test_peft_tensors),
		cmocka_unit_test(test_peft_files),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_make), /* for the cases that follow */
		nth_case(case_gguf),
		nth_case(case_peft),
	};

	return cmocka_run_group_tests(tests, open_model, close_model);
}
