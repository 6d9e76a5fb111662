/* tests/tools/mkmodel.c - write a small random model that runs: any of a few architectures, any
 * weight type, and a vocabulary of words, so that what it says can be read.
 *
 *	mkmodel [--arch llama] [--layers 2] ... OUT.gguf          (mkmodel --help)
 *
 * Blocks are random bits under scales that give the weights a spread of n_in^-1/2.  Tokens that are
 * no words (bytes, parts of words, control tokens) have output rows sixteen times smaller than
 * words, so that the words are drawn. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "file/gguf_write.h"
#include "mkfill.h"
#include "mkshape.h"

static const struct option_row {
	const char *name;
	char kind;
	size_t at;
	const char *help;
} options[] = {
#define O(name, kind, field, help) \
	{ \
		name, kind, offsetof(struct spec, field), help \
	}
	O("arch", 's', arch, "llama qwen2 qwen3 qwen3moe gemma3 (llama)"),
	O("type", 's', type, "of the matrices: f32 f16 bf16 q4_k ... (f32)"),
	O("expert-type", 's', expert_type, "of experts with --shape (type)"),
	O("shape", 's', shape, "of a known model, and its architecture: " SHAPES),
	O("layers", 'n', layers, "(2)"),
	O("embd", 'n', embd, "(64)"),
	O("heads", 'n', heads, "(4)"),
	O("kv-heads", 'n', kv_heads, "(2)"),
	O("head-dim", 'n', head_dim, "(embd / heads)"),
	O("ff", 'n', ff, "(2 embd)"),
	O("vocab", 'n', vocab, "tokens (1024)"),
	O("ctx", 'n', ctx, "context length (512)"),
	O("seed", 'n', seed, "(1)"),
	O("eps", 'd', eps, "of the norms (1e-5)"),
	O("rope-base", 'd', rope_base, "(10000)"),
	O("rope-dim", 'n', rope_dim, "(head-dim)"),
	O("rope-scaling", 's', scaling, "none linear yarn llama3 longrope (none)"),
	O("rope-factor", 'd', rope_factor, "(4)"),
	O("orig-ctx", 'n', orig_ctx, "context before scaling (ctx / rope-factor)"),
	O("experts", 'n', experts, "qwen3moe (4)"),
	O("experts-used", 'n', experts_used, "(2)"),
	O("expert-ff", 'n', expert_ff, "(embd)"),
	O("window", 'n', window, "gemma3 (32)"),
	O("tok", 's', tok, "bpe spm (bpe)"),
	O("pre", 's', pre, "pre-tokenizer of bpe (gpt-2; qwen2 for qwen)"),
	O("split", 'n', split, "write this many shards; OUT without -00001-of-... (1)"),
	O("tied", 'f', tied, "no output matrix"),
	O("bias", 'f', bias, "on q, k, v and o"),
	O("chat", 'f', chat, "ChatML tokens and template"),
	O("fim", 'f', fim, "tokens for text with a gap: words 600 to 602"),
#undef O
};

static void check(int rc, const infer_error *err)
{
	if (rc)
		die(1, err->message, NULL);
}

static void write_vocab(struct gguf_write *w, const struct vocab *v, const struct spec *s)
{
	static const char chatml[] =
		"{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] "
		"}}<|im_end|>\n{% endfor %}"
		"{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";
	const char *model = v->spm ? "llama" : "gpt2";
	struct buf pieces, scores;

	buf_init(&pieces, MEM_FILE);
	buf_init(&scores, MEM_FILE);
	for (long i = 0; i < v->n; i++) {
		float score = v->kind[i] == KIND_NORMAL ? -(float)(i - 258) : 0;
		gguf_put_str(&pieces, v->text.at + v->at[i], strlen(v->text.at + v->at[i]));
		buf_put(&scores, &score, 4);
	}
	if (pieces.bad || scores.bad)
		die(1, "no memory", NULL);
	gguf_write_str(w, "tokenizer.ggml.model", model, strlen(model));
	if (!v->spm)
		gguf_write_str(w, "tokenizer.ggml.pre", s->pre, strlen(s->pre));
	gguf_write_array(w, "tokenizer.ggml.tokens", INFER_META_STR, (uint64_t)v->n, pieces.at,
	                 pieces.len);
	gguf_write_array(w, "tokenizer.ggml.token_type", INFER_META_I32, (uint64_t)v->n, v->kind,
	                 4 * (size_t)v->n);
	if (v->spm)
		gguf_write_array(w, "tokenizer.ggml.scores", INFER_META_F32, (uint64_t)v->n,
		                 scores.at, scores.len);
	else
		gguf_write_array(w, "tokenizer.ggml.merges", INFER_META_STR, (uint64_t)v->n_merges,
		                 v->merges.at, v->merges.len);
	gguf_write_u32(w, "tokenizer.ggml.bos_token_id", v->spm ? 1 : 256);
	gguf_write_u32(w, "tokenizer.ggml.eos_token_id", v->spm ? 2 : 256);
	if (v->spm)
		gguf_write_u32(w, "tokenizer.ggml.unknown_token_id", 0);
	gguf_write_bool(w, "tokenizer.ggml.add_bos_token", v->spm);
	gguf_write_bool(w, "tokenizer.ggml.add_eos_token", 0);
	if (s->chat) {
		gguf_write_u32(w, "tokenizer.ggml.eot_token_id",
		               (uint32_t)find(v, "<|im_end|>", 10));
		gguf_write_str(w, "tokenizer.chat_template", chatml, sizeof chatml - 1);
	}
	if (s->fim) {
		gguf_write_u32(w, "tokenizer.ggml.fim_pre_token_id", 600);
		gguf_write_u32(w, "tokenizer.ggml.fim_suf_token_id", 601);
		gguf_write_u32(w, "tokenizer.ggml.fim_mid_token_id", 602);
	}
	buf_fini(&pieces);
	buf_fini(&scores);
}

/* Tensors --------------------------------------------------------------------------------------------------------- */

static void experts(struct model *m, int i, int type, int64_t ne0, int64_t ne1, const char *what)
{
	struct tensor *t = tensor(m, RANDOM, type, ne0, ne1, "blk.%d.%s.weight", i, what);

	t->n_dims = 3;
	t->ne[2] = m->spec->experts;
}

static void layer(struct model *m, int i)
{
	const struct spec *s = m->spec;
	int64_t q = s->heads * s->head_dim, kv = s->kv_heads * s->head_dim;
	int w = s->type_id;

	tensor(m, ONES, INFER_F32, s->embd, 0, "blk.%d.attn_norm.weight", i);
	tensor(m, RANDOM, w, s->embd, q, "blk.%d.attn_q.weight", i);
	tensor(m, RANDOM, w, s->embd, kv, "blk.%d.attn_k.weight", i);
	tensor(m, RANDOM, w, s->embd, kv, "blk.%d.attn_v.weight", i);
	tensor(m, RANDOM, w, q, s->embd, "blk.%d.attn_output.weight", i);
	if (s->bias) {
		tensor(m, RANDOM, INFER_F32, q, 0, "blk.%d.attn_q.bias", i);
		tensor(m, RANDOM, INFER_F32, kv, 0, "blk.%d.attn_k.bias", i);
		tensor(m, RANDOM, INFER_F32, kv, 0, "blk.%d.attn_v.bias", i);
	}
	if (s->bias && strcmp(s->arch, "qwen2"))
		tensor(m, RANDOM, INFER_F32, s->embd, 0, "blk.%d.attn_output.bias", i);
	if (s->qk_norm) {
		tensor(m, ONES, INFER_F32, s->head_dim, 0, "blk.%d.attn_q_norm.weight", i);
		tensor(m, ONES, INFER_F32, s->head_dim, 0, "blk.%d.attn_k_norm.weight", i);
	}
	if (s->post_norm)
		tensor(m, ONES, INFER_F32, s->embd, 0, "blk.%d.post_attention_norm.weight", i);
	tensor(m, ONES, INFER_F32, s->embd, 0, "blk.%d.ffn_norm.weight", i);
	if (s->moe) {
		tensor(m, RANDOM, INFER_F32, s->embd, s->experts, "blk.%d.ffn_gate_inp.weight", i);
		experts(m, i, w, s->embd, s->expert_ff, "ffn_gate_exps");
		experts(m, i, w, s->embd, s->expert_ff, "ffn_up_exps");
		experts(m, i, w, s->expert_ff, s->embd, "ffn_down_exps");
	} else {
		tensor(m, RANDOM, w, s->embd, s->ff, "blk.%d.ffn_gate.weight", i);
		tensor(m, RANDOM, w, s->embd, s->ff, "blk.%d.ffn_up.weight", i);
		tensor(m, RANDOM, w, s->ff, s->embd, "blk.%d.ffn_down.weight", i);
	}
	if (s->post_norm)
		tensor(m, ONES, INFER_F32, s->embd, 0, "blk.%d.post_ffw_norm.weight", i);
}

static void plan(struct model *m)
{
	const struct spec *s = m->spec;
	struct tensor *t = tensor(m, RANDOM, s->type_id, s->embd, s->vocab, "token_embd.weight");

	if (s->tied)
		t->loud = m->words;
	else
		t->scale = 1;
	if (!strcmp(s->scaling, "llama3"))
		tensor(m, FREQS, INFER_F32, s->rope_dim / 2, 0, "rope_freqs.weight");
	if (!strcmp(s->scaling, "longrope")) {
		tensor(m, FREQS, INFER_F32, s->rope_dim / 2, 0, "rope_factors_long.weight")->scale =
			(float)s->rope_factor;
		tensor(m, FREQS, INFER_F32, s->rope_dim / 2, 0, "rope_factors_short.weight")
			->scale = 1.25f;
	}
	for (int i = 0; i < s->layers; i++)
		layer(m, i);
	tensor(m, ONES, INFER_F32, s->embd, 0, "output_norm.weight");
	if (!s->tied) {
		t = tensor(m, RANDOM, s->type_id, s->embd, s->vocab, "output.weight");
		t->loud = m->words;
	}
}

/* Keys ------------------------------------------------------------------------------------------------------------ */

static const char *key(const struct spec *s, const char *name)
{
	static char out[128];

	snprintf(out, sizeof out, "%s.%s", s->arch, name);
	return out;
}

static void write_keys(struct gguf_write *w, const struct spec *s)
{
	static const char *const scalings[] = { "linear", "yarn", "longrope" };
	const struct {
		const char *name;
		long v;
	} sizes[] = {
		{ "vocab_size", s->vocab },
		{ "block_count", s->layers },
		{ "context_length", s->ctx },
		{ "embedding_length", s->embd },
		{ "feed_forward_length", s->ff },
		{ "attention.head_count", s->heads },
		{ "attention.head_count_kv", s->kv_heads },
		{ "attention.key_length", s->head_dim },
		{ "attention.value_length", s->head_dim },
		{ "rope.dimension_count", s->rope_dim },
		{ "expert_count", s->moe ? s->experts : -1 },
		{ "expert_used_count", s->moe ? s->experts_used : -1 },
		{ "expert_feed_forward_length", s->moe ? s->expert_ff : -1 },
		{ "attention.sliding_window", !strcmp(s->arch, "gemma3") ? s->window : -1 },
	};

	gguf_write_str(w, "general.architecture", s->arch, strlen(s->arch));
	gguf_write_str(w, "general.name", "random", 6);
	gguf_write_u32(w, "general.quantization_version", 2);
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		if (sizes[i].v >= 0)
			gguf_write_u32(w, key(s, sizes[i].name), (uint32_t)sizes[i].v);
	gguf_write_f32(w, key(s, "rope.freq_base"), (float)s->rope_base);
	gguf_write_f32(w, key(s, "attention.layer_norm_rms_epsilon"), (float)s->eps);
	for (size_t i = 0; i < sizeof scalings / sizeof *scalings; i++)
		if (!strcmp(s->scaling, scalings[i])) {
			gguf_write_str(w, key(s, "rope.scaling.type"), s->scaling,
			               strlen(s->scaling));
			gguf_write_f32(w, key(s, "rope.scaling.factor"), (float)s->rope_factor);
			gguf_write_u32(w, key(s, "rope.scaling.original_context_length"),
			               (uint32_t)s->orig_ctx);
		}
}

static void write_shard(const struct spec *s, const struct vocab *v, const struct model *m, long no)
{
	struct gguf_write *w;
	infer_error err;
	char path[4096];
	int from = (int)(m->n * no / s->split), to = (int)(m->n * (no + 1) / s->split);

	snprintf(path, sizeof path, "%s", s->out);
	if (s->split > 1)
		snprintf(path, sizeof path, "%s-%05ld-of-%05ld.gguf", s->out, no + 1, s->split);
	check(gguf_write_new(&w, path, &err), &err);
	if (no == 0) {
		if (s->shape)
			shape_keys(w, s);
		else
			write_keys(w, s);
		write_vocab(w, v, s);
	}
	if (s->split > 1) {
		gguf_write_u16(w, "split.no", (uint16_t)no);
		gguf_write_u16(w, "split.count", (uint16_t)s->split);
		gguf_write_i32(w, "split.tensors.count", m->n);
	}
	for (int i = from; i < to; i++) {
		struct tensor *t = &m->at[i];
		check(gguf_write_tensor(w, t->name, t->type, t->n_dims, t->ne, make_rows, t, &err),
		      &err);
	}
	check(gguf_write_end(w, &err), &err);
	gguf_write_free(w);
}

/* Options --------------------------------------------------------------------------------------------------------- */

_Noreturn static void help(void)
{
	puts("usage: mkmodel [OPTION]... OUT.gguf");
	for (size_t i = 0; i < sizeof options / sizeof *options; i++)
		printf("  --%-14s %s %s\n", options[i].name, options[i].kind == 'f' ? " " : "X",
		       options[i].help);
	exit(0);
}

static void parse(struct spec *s, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		const struct option_row *o = options;
		char *end = "";
		if (!strcmp(argv[i], "--help"))
			help();
		if (argv[i][0] != '-') {
			s->out = argv[i];
			continue;
		}
		while (strcmp(argv[i] + 2, o->name))
			if (++o == options + sizeof options / sizeof *options)
				die(2, "unknown option", argv[i]);
		void *at = (char *)s + o->at;
		if (o->kind != 'f' && ++i == argc)
			die(2, "an option without its value", o->name);
		if (o->kind == 'f')
			*(long *)at = 1;
		else if (o->kind == 's')
			*(const char **)at = argv[i];
		else if (o->kind == 'n')
			*(long *)at = strtol(argv[i], &end, 10);
		else
			*(double *)at = strtod(argv[i], &end);
		if (*end)
			die(2, "no number", argv[i]);
	}
}

static int one_of(const char *what, const char *list)
{
	const char *at = strstr(list, what);
	size_t n = strlen(what);

	return n && at && (at == list || at[-1] == ' ') && (at[n] == ' ' || !at[n]);
}

static void finish(struct spec *s)
{
	s->moe = !strcmp(s->arch, "qwen3moe");
	s->qk_norm = s->moe || !strcmp(s->arch, "qwen3") || !strcmp(s->arch, "gemma3");
	s->post_norm = !strcmp(s->arch, "gemma3");
	s->tied |= s->post_norm;
	s->bias |= !strcmp(s->arch, "qwen2");
	if (!s->out)
		die(2, "no output file", NULL);
	if (!s->shape && !one_of(s->arch, "llama qwen2 qwen3 qwen3moe gemma3"))
		die(2, "unknown architecture", s->arch);
	if (!one_of(s->scaling, "none linear yarn llama3 longrope") || !one_of(s->tok, "bpe spm"))
		die(2, "unknown --rope-scaling or --tok", NULL);
	s->type_id = type_named(s->type ? s->type : "f32");
	s->layers = s->layers < 0 ? 2 : s->layers;
	s->vocab = s->vocab < 0 ? 1024 : s->vocab;
	s->head_dim = s->head_dim ? s->head_dim : s->embd / (s->heads ? s->heads : 1);
	s->rope_dim = s->rope_dim ? s->rope_dim : s->head_dim;
	s->ff = s->ff ? s->ff : 2 * s->embd;
	s->expert_ff = s->expert_ff ? s->expert_ff : s->embd;
	s->orig_ctx = s->orig_ctx ? s->orig_ctx : (long)((double)s->ctx / s->rope_factor);
	s->pre = s->pre ? s->pre : !strncmp(s->arch, "qwen", 4) ? "qwen2" : "gpt-2";
	if (s->layers < 1 || s->embd < 1 || s->heads < 1 || s->kv_heads < 1 || s->head_dim < 1 ||
	    s->ff < 1 || s->split < 1 || s->experts < 1 || s->expert_ff < 1 || s->vocab < 1 ||
	    s->ctx < 1)
		die(2, "a size is less than 1", NULL);
}

int main(int argc, char **argv)
{
	struct spec s = { .arch = "llama",
		          .tok = "bpe",
		          .scaling = "none",
		          .layers = -1,
		          .embd = 64,
		          .heads = 4,
		          .kv_heads = 2,
		          .vocab = -1,
		          .ctx = 512,
		          .seed = 1,
		          .experts = 4,
		          .experts_used = 2,
		          .window = 32,
		          .split = 1,
		          .rope_base = 10000,
		          .rope_factor = 4,
		          .eps = 1e-5 };
	struct vocab v;
	struct model m = { .spec = &s };

	parse(&s, argc, argv);
	if (s.shape)
		shape_begin(&s);
	finish(&s);
	make_vocab(&v, s.vocab, !strcmp(s.tok, "spm"), s.chat != 0);
	m.words = v.word;
	if (s.shape)
		shape_plan(&m);
	else
		plan(&m);
	for (long i = 0; i < s.split; i++)
		write_shard(&s, &v, &m, i);
	free_vocab(&v);
	free(m.at);
	return 0;
}
