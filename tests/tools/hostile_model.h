/* tests/tools/hostile_model.h - more cases: well-formed files whose model or vocabulary makes no
 * sense. */
#ifndef TESTS_TOOLS_HOSTILE_MODEL_H
#define TESTS_TOOLS_HOSTILE_MODEL_H
#include "hostile_cases.h"

/* Sizes of a llama with 2 heads of 16 on 1 key head, 32 wide. */
static void model_values(struct hostile *h)
{
	static const struct {
		const char *key;
		uint32_t v[10];
		int n;
		const char *want;
	} u32[] = { { "llama.block_count", { 0, 2, 3, 1000, 1u << 31, ~0u }, 6, MODEL },
		    { "llama.embedding_length", { 0, 1, 31, 64, 1u << 31, ~0u }, 6, MODEL },
		    { "llama.attention.head_count", { 0, 3, 5, 64, 1u << 31, ~0u }, 6, MODEL },
		    { "llama.attention.head_count_kv", { 3, 4, 1u << 31, ~0u }, 4, MODEL },
		    { "llama.attention.head_count_kv", { 0 }, 1, ANY },
		    { "llama.feed_forward_length", { 1, 31, 64, 1u << 31, ~0u }, 5, MODEL },
		    { "llama.feed_forward_length", { 0 }, 1, ANY },
		    { "llama.attention.key_length", { 0, 1, 15, 17, 1u << 31, ~0u }, 6, MODEL },
		    { "llama.attention.value_length", { 0, 15, 32, 1u << 31, ~0u }, 5, MODEL },
		    { "llama.rope.dimension_count", { 15, 17, 18, 1000, 1u << 31, ~0u }, 6, MODEL },
		    { "llama.rope.dimension_count", { 0, 2 }, 2, ANY },
		    { "llama.context_length", { 1, 1u << 31, ~0u }, 3, ANY },
		    { "llama.context_length", { 0 }, 1, ANY },
		    { "llama.vocab_size", { 0, 1, 299, 301, ~0u }, 5, ANY } };
	static const struct {
		const char *key;
		float v[5];
		int n;
		const char *want;
	} f32[] = { { "llama.attention.layer_norm_rms_epsilon", { NAN, -1, INFINITY }, 3, MODEL },
		    { "llama.attention.layer_norm_rms_epsilon", { 0, 1e30f }, 2, ANY },
		    { "llama.rope.freq_base", { 0, -1, NAN, INFINITY }, 4, MODEL } };
	static const char *const drop[] = { "general.architecture", "llama.block_count",
		                            "llama.embedding_length",
		                            "llama.attention.head_count" };

	for (size_t k = 0; k < sizeof u32 / sizeof *u32; k++)
		for (int i = 0; i < u32[k].n; i++)
			hostile_set_u32(h, u32[k].key, u32[k].v[i], u32[k].want);
	for (size_t k = 0; k < sizeof f32 / sizeof *f32; k++)
		for (int i = 0; i < f32[k].n; i++)
			hostile_set_f32(h, f32[k].key, f32[k].v[i], f32[k].want);
	for (size_t k = 0; k < sizeof drop / sizeof *drop; k++)
		hostile_drop(h, drop[k], MODEL);
	hostile_set_str(h, "general.architecture", "nosuch", MODEL);
	hostile_set_str(h, "general.architecture", "", MODEL);
	hostile_set_u32(h, "general.architecture", 1, MODEL);
	hostile_set_str(h, "llama.block_count", "1", MODEL);
	hostile_set_f32(h, "llama.embedding_length", 32, MODEL);
	hostile_set(h, "llama.block_count", INFER_META_I32, "\xff\xff\xff\xff", 4, MODEL,
	            "block_count=-1");
	hostile_set_array(h, "llama.attention.head_count", INFER_META_U32, 5, "\2\0\0\0", 4, ANY,
	                  "of-5");
	hostile_set_array(h, "llama.attention.head_count", INFER_META_U32, 0, "", 0, MODEL, "of-0");
	hostile_set_array(h, "llama.attention.head_count", INFER_META_BOOL, 1, "\1", 1, ANY,
	                  "bools");
	hostile_set_u32(h, "llama.expert_count", 4, ANY);
	hostile_set_u32(h, "llama.expert_count", 1u << 31, MODEL);
	hostile_set_u32(h, "llama.expert_used_count", 8, ANY);
	hostile_set_str(h, "llama.rope.scaling.type", "wobble", MODEL);
	hostile_set_str(h, "general.type", "adapter", MODEL);
}

/* expert_used_count > expert_count takes two keys at once. */
static void model_experts(struct hostile *h)
{
	unsigned char kv[256];
	size_t n = hostile_make(kv, "llama.expert_count", 18, INFER_META_U32, "\2\0\0\0", 4);

	n += hostile_make(kv + n, "llama.expert_used_count", 23, INFER_META_U32, "\3\0\0\0", 4);
	hostile_splice(h, h->table, 0, kv, n, 2, 0, MODEL, "expert_used_count>expert_count");
}

static void scaling(struct hostile *h, const char *type, float factor)
{
	unsigned char kv[256], s[32];
	uint64_t len = strlen(type);
	char name[64];

	memcpy(s, &len, 8), memcpy(s + 8, type, len);
	size_t n = hostile_make(kv, "llama.rope.scaling.type", 23, INFER_META_STR, s, 8 + len);
	n += hostile_make(kv + n, "llama.rope.scaling.factor", 25, INFER_META_F32, &factor, 4);
	snprintf(name, sizeof name, "rope-%s-%g", type, (double)factor);
	hostile_splice(h, h->table, 0, kv, n, 2, 0, ANY, name);
}

static void vocab_values(struct hostile *h)
{
	static const char *const ids[] = { "bos", "eos", "unknown",   "padding",
		                           "eot", "eom", "seperator", "fim_pre" };
	static const char *const merges[] = { "zz qqq!", "nospace", "", " ", "a ", " a", "a b c" };
	static const uint32_t odd[] = { 0, 7, 99, ~0u };
	char key[64], one[32];
	uint64_t len;

	for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
		for (int k = 0; k < 3; k++) {
			snprintf(key, sizeof key, "tokenizer.ggml.%s_token_id", ids[i]);
			hostile_set_u32(h, key, (const uint32_t[]){ 300, 1u << 31, ~0u }[k],
			                i < 3 ? TOK : ANY);
		}
	hostile_set_str(h, "tokenizer.ggml.bos_token_id", "1", TOK);
	for (int n = 299; n <= 301; n += 2) {
		hostile_set_array(h, "tokenizer.ggml.token_type", INFER_META_I32, (uint64_t)n,
		                  "\1\0\0\0", 4, TOK, n < 300 ? "short" : "long");
		if (infer_file_meta(h->f, "tokenizer.ggml.scores"))
			hostile_set_array(h, "tokenizer.ggml.scores", INFER_META_F32, (uint64_t)n,
			                  "\0\0\x80\x3f", 4, TOK, n < 300 ? "short" : "long");
	}
	hostile_set_array(h, "tokenizer.ggml.token_type", INFER_META_F32, 300, "\0\0\x80\x3f", 4,
	                  TOK, "floats");
	hostile_set_array(h, "tokenizer.ggml.token_type", INFER_META_I32, 0, "", 0, TOK, "none");
	for (int i = 0; i < 4; i++) {
		snprintf(one, sizeof one, "%u", odd[i]);
		hostile_set_array(h, "tokenizer.ggml.token_type", INFER_META_I32, 300, &odd[i], 4,
		                  ANY, one);
	}
	hostile_set_array(h, "tokenizer.ggml.tokens", INFER_META_STR, 0, "", 0, TOK, "none");
	hostile_set_array(h, "tokenizer.ggml.tokens", INFER_META_U32, 300, "\0\0\0\0", 4, TOK,
	                  "numbers");
	hostile_set_array(h, "tokenizer.ggml.tokens", INFER_META_STR, 300, "\0\0\0\0\0\0\0", 8, ANY,
	                  "empty");
	hostile_set_array(h, "tokenizer.ggml.tokens", INFER_META_STR, 300, "\1\0\0\0\0\0\0\0\xff",
	                  9, ANY, "all-one-byte");
	hostile_set_str(h, "tokenizer.ggml.tokens", "one", TOK);
	hostile_set_str(h, "tokenizer.ggml.model", "nosuch", TOK);
	hostile_set_u32(h, "tokenizer.ggml.model", 1, TOK);
	hostile_drop(h, "tokenizer.ggml.model", TOK);
	hostile_drop(h, "tokenizer.ggml.tokens", TOK);
	if (infer_file_meta(h->f, "tokenizer.ggml.scores")) {
		hostile_set_array(h, "tokenizer.ggml.scores", INFER_META_F32, 300, "\0\0\xc0\x7f",
		                  4, ANY, "nan");
		hostile_set_array(h, "tokenizer.ggml.scores", INFER_META_STR, 300, "\0\0\0\0\0\0\0",
		                  8, TOK, "strings");
		return;
	}
	hostile_set_str(h, "tokenizer.ggml.pre", "nosuch", TOK);
	hostile_set_array(h, "tokenizer.ggml.merges", INFER_META_U32, 3, "\0\0\0\0", 4, TOK,
	                  "numbers");
	for (size_t i = 0; i < sizeof merges / sizeof *merges; i++) {
		len = strlen(merges[i]);
		memcpy(one, &len, 8), memcpy(one + 8, merges[i], len);
		hostile_set_array(h, "tokenizer.ggml.merges", INFER_META_STR, 1, one, 8 + len, TOK,
		                  merges[i]);
	}
}

/* Every damaged copy of one good file; names begin with prefix.  0, or 1 where the file does not
 * serve. */
static int hostile_all(const void *good, size_t n, const char *prefix, hostile_fn *fn, void *user)
{
	struct hostile h;

	if (hostile_begin(&h, good, n, prefix, fn, user))
		return 1;
	memcpy(h.out, good, n);
	hostile_give(&h, n, "000", "good");
	cuts(&h);
	fields(&h);
	tensors(&h);
	raw_keys(&h);
	tiny(&h);
	model_values(&h);
	model_experts(&h);
	for (int i = 0; i < 8; i++)
		scaling(&h, i & 1 ? "linear" : "yarn",
		        (const float[]){ 0, -1, NAN, INFINITY }[i / 2]);
	vocab_values(&h);
	hostile_end(&h);
	return 0;
}
#endif
