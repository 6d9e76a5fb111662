/* tests/fuzz/mutate_values.h - unusual numbers, texts, keys and tensor names, from which mutate.c
 * draws. */
#ifndef TESTS_FUZZ_MUTATE_VALUES_H
#define TESTS_FUZZ_MUTATE_VALUES_H
#include "gguf_parts.h"

static const uint64_t odd_ints[] = {
	0,          1,          2,
	3,          4,          5,
	7,          8,          15,
	16,         17,         31,
	32,         33,         63,
	64,         65,         127,
	128,        255,        256,
	257,        511,        512,
	1000,       4096,       65535,
	65536,      1 << 20,    1 << 24,
	0x7fffffff, 0x80000000, 0x80000001,
	0xfffffffe, 0xffffffff, 0x100000000,
	1ull << 61, 1ull << 62, 0x7fffffffffffffff,
	1ull << 63, -2ull,      -1ull,
};
static const double odd_floats[] = {
	0,   -0.0, 1,   -1,    0.5,  2,    4,      1e-5,    1e-45, 1e-38, 1e-30, 1e-6,
	0.1, 1e4,  1e6, 65504, 1e10, 1e30, 3.4e38, -3.4e38, 1e39,  -1e39, 1e300,
};
static const char *const odd_texts[] = {
	"",
	"a",
	" ",
	"\n",
	"\xff",
	"\xff\xfe\xfd",
	"\xc0\x80",
	"\xed\xa0\x80",
	"\xf4\x90\x80\x80",
	"\xe2\x96\x81",
	"\xe2\x96\x81\xe2\x96\x81",
	"%s%n",
	"\x1b[2J",
	"<0x41>",
	"<0xZZ>",
	"<|im_start|>",
	"<s>",
	"</s>",
	"\xf0\x9f\x98\x80",
	"\xcc\x80\xcc\x80\xcc\x80",
	"''''''''",
	"1234567",
	"a b",
	"a  b",
	" b",
	"{{ messages }}",
	"llama",
	"gpt2",
	"bert",
	"t5",
	"none",
	"default",
	"gpt-2",
	"llama-bpe",
	"qwen2",
	"deepseek-llm",
	"tekken",
	"gpt-4o",
	"no_vocab",
	"gemma4",
	"falcon",
	"chameleon",
	"linear",
	"yarn",
	"longrope",
	"granite",
	"qwen3",
	"qwen3moe",
	"gemma2",
	"gemma3",
	"phi3",
	"model",
	"adapter",
	"{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}{% endfor %}",
};
static const char *const odd_keys[] = {
	"general.alignment",
	"general.architecture",
	"general.type",
	"general.file_type",
	"general.quantization_version",
	"split.no",
	"split.count",
	"split.tensors.count",
	"tokenizer.ggml.model",
	"tokenizer.ggml.pre",
	"tokenizer.ggml.tokens",
	"tokenizer.ggml.token_type",
	"tokenizer.ggml.scores",
	"tokenizer.ggml.merges",
	"tokenizer.ggml.precompiled_charsmap",
	"tokenizer.ggml.bos_token_id",
	"tokenizer.ggml.eos_token_id",
	"tokenizer.ggml.unknown_token_id",
	"tokenizer.ggml.padding_token_id",
	"tokenizer.ggml.seperator_token_id",
	"tokenizer.ggml.mask_token_id",
	"tokenizer.ggml.cls_token_id",
	"tokenizer.ggml.normalizer.lowercase",
	"tokenizer.ggml.normalizer.strip_accents",
	"tokenizer.ggml.add_sep_token",
	"tokenizer.ggml.eot_token_id",
	"tokenizer.ggml.add_bos_token",
	"tokenizer.ggml.add_eos_token",
	"tokenizer.ggml.add_space_prefix",
	"tokenizer.ggml.remove_extra_whitespaces",
	"tokenizer.chat_template",
	"general.sampling.temp",
	"general.sampling.top_k",
	"general.sampling.top_p",
	"general.sampling.mirostat",
	"general.sampling.sequence",
	/* these follow the name of the architecture */
	".block_count",
	".embedding_length",
	".feed_forward_length",
	".context_length",
	".vocab_size",
	".attention.head_count",
	".attention.head_count_kv",
	".attention.key_length",
	".attention.value_length",
	".attention.layer_norm_rms_epsilon",
	".attention.sliding_window",
	".attention.sliding_window_pattern",
	".attention.scale",
	".attn_logit_softcapping",
	".final_logit_softcapping",
	".rope.dimension_count",
	".rope.freq_base",
	".rope.scaling.type",
	".rope.scaling.factor",
	".rope.scaling.original_context_length",
	".rope.scaling.attn_factor",
	".rope.scaling.yarn_ext_factor",
	".rope.scaling.yarn_beta_fast",
	".rope.scaling.yarn_beta_slow",
	".rope.freq_base_swa",
	".expert_count",
	".expert_used_count",
	".expert_feed_forward_length",
	".expert_weights_scale",
	".expert_weights_norm",
	".expert_gating_func",
	".embedding_scale",
	".residual_scale",
	".logit_scale",
	".leading_dense_block_count",
	".use_parallel_residual",
};
static const char *const odd_tensors[] = {
	"token_embd.weight",
	"output.weight",
	"output_norm.weight",
	"rope_freqs.weight",
	"rope_factors_long.weight",
	"rope_factors_short.weight",
	"blk.0.attn_norm.weight",
	"blk.0.attn_q.weight",
	"blk.0.attn_k.weight",
	"blk.0.attn_v.weight",
	"blk.0.attn_qkv.weight",
	"blk.0.attn_output.weight",
	"blk.0.attn_q.bias",
	"blk.0.attn_k.bias",
	"blk.0.attn_v.bias",
	"blk.0.attn_output.bias",
	"blk.0.attn_q_norm.weight",
	"blk.0.attn_k_norm.weight",
	"blk.0.post_attention_norm.weight",
	"blk.0.ffn_norm.weight",
	"blk.0.ffn_gate.weight",
	"blk.0.ffn_up.weight",
	"blk.0.ffn_down.weight",
	"blk.0.ffn_gate_inp.weight",
	"blk.0.ffn_gate_exps.weight",
	"blk.0.ffn_up_exps.weight",
	"blk.0.ffn_down_exps.weight",
	"blk.0.post_ffw_norm.weight",
	"blk.1.attn_q.weight",
	"blk.01.attn_q.weight",
	"blk.4294967296.attn_q.weight",
	"blk.-1.attn_q.weight",
	"x",
	"",
	"a.name.of.63.bytes.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.xx",
	"a.name.of.64.bytes.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.xxx",
};

static struct span odd_text(struct gguf *g)
{
	struct span s = text(PICK(g, odd_texts));

	if (below(g, 8) || !s.n)
		return s;
	size_t times = 1 + below(g, 2000 / s.n);
	uint8_t *p = room(g, times * s.n);
	for (size_t i = 0; p && i < times; i++)
		memcpy(p + i * s.n, s.at, s.n);
	return p ? (struct span){ p, times * s.n } : s;
}

/* The name of a key that the library reads. */
static struct span known_key(struct gguf *g)
{
	const char *name = PICK(g, odd_keys), *arch = "llama";
	size_t n = strlen(arch), k = strlen(name);

	for (size_t i = 0; i < g->n_keys; i++)
		if (g->key[i].type == INFER_META_STR && g->key[i].name.n == 20 &&
		    !memcmp(g->key[i].name.at, "general.architecture", 20) &&
		    g->key[i].value.n > 8) {
			arch = (const char *)g->key[i].value.at + 8;
			n = g->key[i].value.n - 8;
		}
	uint8_t *p = *name == '.' ? room(g, n + k) : NULL;
	if (!p)
		return text(name + (*name == '.'));
	memcpy(p, arch, n);
	memcpy(p + n, name, k);
	return (struct span){ p, n + k };
}
#endif
