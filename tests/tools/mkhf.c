/* tests/tools/mkhf.c - write a GGUF file of llama or qwen3moe as a directory of a Hugging Face checkpoint:
 * config.json, tokenizer.json or tokenizer.model, and safetensors, as transformers saves them.
 *
 *	mkhf [--shards N] [--odd] IN.gguf DIR
 *
 * --shards N: N safetensors files and their index.  --odd: the header has one byte more, so that no
 * tensor is at a multiple of its element.
 * Experts are tensors of their own.  Tensors must be F32, F16 or BF16; the vocabulary must be a byte-level BPE or
 * one of SentencePiece.  Rows of q and k are put
 * back into the order of Hugging Face. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <infer/file.h>
#include "base/jwrite.h"
#include "type/type.h"

static const infer_file *in;
static const char *out_dir;
static int is_moe; /* qwen3moe; else llama */

static void die(const char *what)
{
	fprintf(stderr, "mkhf: %s\n", what);
	exit(1);
}

/* The key of the architecture. */
static const char *own(const char *key)
{
	static char all[128];

	snprintf(all, sizeof all, "%s.%s", is_moe ? "qwen3moe" : "llama", key);
	return all;
}

static uint64_t number(const char *key, uint64_t otherwise)
{
	uint64_t v = otherwise;

	if (infer_meta_u64(in, key, &v, NULL, NULL))
		die(key);
	return v;
}

static double real(const char *key, double otherwise)
{
	double v = otherwise;

	if (infer_meta_f64(in, key, &v, NULL, NULL))
		die(key);
	return v;
}

static struct infer_str text(const char *key)
{
	struct infer_str s = { 0 };

	if (infer_meta_str(in, key, &s, NULL, NULL))
		die(key);
	return s;
}

/* Write bytes to a file of the directory. */
static void write_file(const char *name, const void *head, size_t n, const struct buf *rest)
{
	char path[4096];

	snprintf(path, sizeof path, "%s/%s", out_dir, name);
	FILE *f = fopen(path, "wb");
	if (!f || fwrite(head, 1, n, f) != n ||
	    (rest && fwrite(rest->at, 1, rest->len, f) != rest->len) || fclose(f))
		die(path);
}

static void end_json(struct jwrite *w, const char *name)
{
	jw_end(w);
	jw_line(w);
	if (w->to->bad)
		die("no memory");
	write_file(name, w->to->at, w->to->len, NULL);
	buf_clear(w->to);
}

/* ---- config.json and generation_config.json ---- */

static void put_experts(struct jwrite *w)
{
	jw_uint(w, "decoder_sparse_step", 1);
	jw_array(w, "mlp_only_layers");
	jw_end(w);
	jw_uint(w, "moe_intermediate_size", number(own("expert_feed_forward_length"), 0));
	jw_bool(w, "norm_topk_prob", 1);
	jw_uint(w, "num_experts", number(own("expert_count"), 0));
	jw_uint(w, "num_experts_per_tok", number(own("expert_used_count"), 0));
}

static void put_config(struct jwrite *w)
{
	uint64_t heads = number(own("attention.head_count"), 1),
		 embd = number(own("embedding_length"), 0);
	const struct infer_meta *tokens = infer_file_meta(in, "tokenizer.ggml.tokens");

	jw_object(w, NULL);
	jw_array(w, "architectures");
	jw_str(w, NULL, is_moe ? "Qwen3MoeForCausalLM" : "LlamaForCausalLM");
	jw_end(w);
	jw_bool(w, "attention_bias", infer_file_tensor(in, "blk.0.attn_q.bias") != NULL);
	jw_uint(w, "bos_token_id", number("tokenizer.ggml.bos_token_id", 0));
	jw_uint(w, "eos_token_id", number("tokenizer.ggml.eos_token_id", 0));
	jw_uint(w, "head_dim", number(own("attention.key_length"), embd / heads));
	jw_str(w, "hidden_act", "silu");
	jw_uint(w, "hidden_size", embd);
	jw_uint(w, "intermediate_size", number(own("feed_forward_length"), 0));
	jw_uint(w, "max_position_embeddings", number(own("context_length"), 0));
	if (is_moe)
		put_experts(w);
	else
		jw_bool(w, "mlp_bias", 0);
	jw_str(w, "model_type", is_moe ? "qwen3_moe" : "llama");
	jw_uint(w, "num_attention_heads", heads);
	jw_uint(w, "num_hidden_layers", number(own("block_count"), 0));
	jw_uint(w, "num_key_value_heads", number(own("attention.head_count_kv"), heads));
	jw_num(w, "rms_norm_eps", real(own("attention.layer_norm_rms_epsilon"), 1e-5));
	jw_null(w, "rope_scaling");
	jw_num(w, "rope_theta", real(own("rope.freq_base"), 10000));
	jw_bool(w, "tie_word_embeddings", infer_file_tensor(in, "output.weight") == NULL);
	jw_uint(w, "vocab_size", tokens ? tokens->count : 0);
	end_json(w, "config.json");
	jw_object(w, NULL);
	if (infer_file_meta(in, "general.sampling.temp"))
		jw_num(w, "temperature", real("general.sampling.temp", 1));
	if (infer_file_meta(in, "general.sampling.top_p"))
		jw_num(w, "top_p", real("general.sampling.top_p", 1));
	end_json(w, "generation_config.json");
}

/* ---- tokenizer.json and tokenizer_config.json ---- */

static struct infer_str token(uint64_t i)
{
	struct infer_str s;

	if (infer_meta_str_at(in, infer_file_meta(in, "tokenizer.ggml.tokens"), i, &s, NULL))
		die("tokenizer.ggml.tokens");
	return s;
}

/* 1 normal, 3 control, 4 user-defined */
static int64_t type_of(uint64_t i)
{
	const struct infer_meta *m = infer_file_meta(in, "tokenizer.ggml.token_type");
	int64_t v = 1;

	if (m && infer_meta_elem_i64(in, m, i, &v, NULL))
		die("tokenizer.ggml.token_type");
	return v;
}

static void put_added(struct jwrite *w, uint64_t i)
{
	struct infer_str s = token(i);

	jw_object(w, NULL);
	jw_uint(w, "id", i);
	jw_strn(w, "content", s.at, s.len);
	jw_bool(w, "single_word", 0);
	jw_bool(w, "lstrip", 0);
	jw_bool(w, "rstrip", 0);
	jw_bool(w, "normalized", 0);
	jw_bool(w, "special", type_of(i) == 3);
	jw_end(w);
}

static void put_level(struct jwrite *w, const char *key)
{
	jw_object(w, key);
	jw_str(w, "type", "ByteLevel");
	jw_bool(w, "add_prefix_space", 0);
	jw_bool(w, "trim_offsets", 1);
	jw_bool(w, "use_regex", 1);
	jw_end(w);
}

static void put_pieces(struct jwrite *w, uint64_t n)
{
	const struct infer_meta *merges = infer_file_meta(in, "tokenizer.ggml.merges");
	size_t cursor = 0;
	struct infer_str s;
	char key[256];

	jw_object(w, "vocab");
	for (uint64_t i = 0; i < n; i++) {
		s = token(i);
		if (type_of(i) != 1)
			continue;
		snprintf(key, sizeof key, "%.*s", (int)s.len, s.at);
		jw_uint(w, key, i);
	}
	jw_end(w);
	jw_array(w, "merges");
	for (uint64_t i = 0; i < merges->count; i++) {
		infer_meta_next_str(merges, &cursor, &s);
		jw_strn(w, NULL, s.at, s.len);
	}
	jw_end(w);
}

/* A field of a message of protocol buffers: a number. */
static void put_number(struct buf *b, int field, uint64_t v)
{
	buf_putc(b, field << 3);
	for (; v > 127; v >>= 7)
		buf_putc(b, (int)(v & 127) | 128);
	buf_putc(b, (int)v);
}

/* The same: bytes. */
static void put_bytes(struct buf *b, int field, const void *at, size_t n)
{
	size_t left = n;

	buf_putc(b, field << 3 | 2);
	for (; left > 127; left >>= 7)
		buf_putc(b, (int)(left & 127) | 128);
	buf_putc(b, (int)left);
	buf_put(b, at, n);
}

/* tokenizer.model: pieces, then the kind of the model, then the normaliser that Llama has. */
static void put_sentencepiece(uint64_t n)
{
	const struct infer_meta *scores = infer_file_meta(in, "tokenizer.ggml.scores");
	struct buf all, one;
	double score;

	buf_init(&all, MEM_FILE);
	buf_init(&one, MEM_FILE);
	for (uint64_t i = 0; i < n; i++) {
		struct infer_str s = token(i);
		if (!scores || infer_meta_elem_f64(in, scores, i, &score, NULL))
			die("tokenizer.ggml.scores");
		float x = (float)score;
		buf_clear(&one);
		put_bytes(&one, 1, s.at, s.len);
		buf_putc(&one, 2 << 3 | 5);
		buf_put(&one, &x, sizeof x);
		put_number(&one, 3, (uint64_t)type_of(i));
		put_bytes(&all, 1, one.at, one.len);
	}
	put_bytes(&all, 2, "\x18\x02", 2);
	put_bytes(&all, 3, "\x18\x01\x20\0", 4);
	if (all.bad || one.bad)
		die("no memory");
	write_file("tokenizer.model", all.at, all.len, NULL);
	buf_fini(&all);
	buf_fini(&one);
}

static void put_tokenizer(struct jwrite *w)
{
	const struct infer_meta *tokens = infer_file_meta(in, "tokenizer.ggml.tokens");
	struct infer_str model = text("tokenizer.ggml.model");

	if (tokens && model.len == 5 && !memcmp(model.at, "llama", 5)) {
		put_sentencepiece(tokens->count);
		return;
	}
	if (!tokens || model.len != 4 || memcmp(model.at, "gpt2", 4) != 0)
		die("the vocabulary is neither a byte-level BPE nor of SentencePiece");
	jw_object(w, NULL);
	jw_str(w, "version", "1.0");
	jw_null(w, "truncation");
	jw_null(w, "padding");
	jw_array(w, "added_tokens");
	for (uint64_t i = 0; i < tokens->count; i++)
		if (type_of(i) != 1)
			put_added(w, i);
	jw_end(w);
	jw_null(w, "normalizer");
	put_level(w, "pre_tokenizer");
	jw_null(w, "post_processor");
	put_level(w, "decoder");
	jw_object(w, "model");
	jw_str(w, "type", "BPE");
	jw_null(w, "dropout");
	jw_null(w, "unk_token");
	jw_null(w, "continuing_subword_prefix");
	jw_null(w, "end_of_word_suffix");
	jw_bool(w, "fuse_unk", 0);
	jw_bool(w, "byte_fallback", 0);
	jw_bool(w, "ignore_merges", 0);
	put_pieces(w, tokens->count);
	jw_end(w);
	end_json(w, "tokenizer.json");
}

static void put_special(struct jwrite *w, const char *name, const char *key)
{
	struct infer_str s;

	if (!infer_file_meta(in, key))
		return;
	s = token(number(key, 0));
	jw_strn(w, name, s.at, s.len);
}

static void put_tokenizer_config(struct jwrite *w)
{
	struct infer_str template = text("tokenizer.chat_template");
	int add = 0;

	jw_object(w, NULL);
	if (infer_file_meta(in, "tokenizer.ggml.add_bos_token")) {
		if (infer_meta_bool(in, "tokenizer.ggml.add_bos_token", &add, NULL, NULL))
			die("add_bos_token");
		jw_bool(w, "add_bos_token", add);
	}
	put_special(w, "bos_token", "tokenizer.ggml.bos_token_id");
	put_special(w, "eos_token", "tokenizer.ggml.eos_token_id");
	put_special(w, "pad_token", "tokenizer.ggml.padding_token_id");
	if (template.at)
		jw_strn(w, "chat_template", template.at, template.len);
	jw_str(w, "tokenizer_class", "PreTrainedTokenizerFast");
	end_json(w, "tokenizer_config.json");
}

/* ---- safetensors ---- */

static const struct {
	const char *gguf, *hf;
} names[] = {
	{ "token_embd", "model.embed_tokens" },
	{ "output_norm", "model.norm" },
	{ "output", "lm_head" },
	{ "attn_norm", "input_layernorm" },
	{ "attn_q", "self_attn.q_proj" },
	{ "attn_k", "self_attn.k_proj" },
	{ "attn_v", "self_attn.v_proj" },
	{ "attn_output", "self_attn.o_proj" },
	{ "ffn_norm", "post_attention_layernorm" },
	{ "ffn_gate", "mlp.gate_proj" },
	{ "ffn_up", "mlp.up_proj" },
	{ "ffn_down", "mlp.down_proj" },
	{ "attn_q_norm", "self_attn.q_norm" },
	{ "attn_k_norm", "self_attn.k_norm" },
	{ "ffn_gate_inp", "mlp.gate" },
	{ "ffn_gate_exps", "mlp.experts.%d.gate_proj" },
	{ "ffn_up_exps", "mlp.experts.%d.up_proj" },
	{ "ffn_down_exps", "mlp.experts.%d.down_proj" },
};

/* The name in the checkpoint: "blk.3.attn_q.weight" is "model.layers.3.self_attn.q_proj.weight". */
static void name_of(char *to, size_t n, const struct infer_tensor *t, int expert)
{
	char all[128], layer[32] = "", name[64], *at = all, *dot;

	snprintf(all, sizeof all, "%.*s", (int)t->name.len, t->name.at);
	if (!strncmp(all, "blk.", 4)) {
		at = strchr(all + 4, '.');
		*at++ = '\0';
		snprintf(layer, sizeof layer, "model.layers.%.8s.", all + 4);
	}
	dot = strrchr(at, '.');
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strlen(names[i].gguf) == (size_t)(dot - at) &&
		    !memcmp(at, names[i].gguf, (size_t)(dot - at))) {
			snprintf(name, sizeof name, names[i].hf, expert);
			snprintf(to, n, "%s%s%s", layer, name, dot);
			return;
		}
	die(all);
}

/* Append the bytes of a tensor; of q and k, row j * half + i of a head is GGUF's row 2 * i + j. */
static void put_data(struct buf *b, const struct infer_tensor *t, int expert)
{
	int q = strstr(t->name.at, "attn_q.") != NULL, k = strstr(t->name.at, "attn_k.") != NULL;
	size_t rows = (size_t)(t->n_dims > 1 ? t->ne[1] : t->ne[0]), row = t->bytes / rows, heads;

	heads = number(own("attention.head_count"), 1);
	if (k)
		heads = number(own("attention.head_count_kv"), heads);
	if (is_moe || !(q || k) || memcmp(t->name.at, "blk.", 4) != 0) {
		size_t bytes = t->bytes / (size_t)t->ne[2];

		buf_put(b, (const char *)t->data + (size_t)expert * bytes, bytes);
		return;
	}
	for (size_t r = 0; r < rows; r++) {
		size_t d = rows / heads, in_head = r % d, half = d / 2;
		size_t from = r - in_head + in_head % half * 2 + in_head / half;
		buf_put(b, (const char *)t->data + from * row, row);
	}
}

static const char *dtype_of(const struct infer_tensor *t)
{
	if (t->type != INFER_F32 && t->type != INFER_F16 && t->type != INFER_BF16)
		die("a tensor is neither F32, F16 nor BF16");
	return t->type == INFER_F32 ? "F32" : t->type == INFER_F16 ? "F16" : "BF16";
}

/* Append a tensor, or an expert of one, to the table, the data and the index. */
static void put_tensor(struct jwrite *w, struct buf *data, const char *file,
                       const struct infer_tensor *t, int expert, struct jwrite *index)
{
	int n_dims = t->n_dims > 2 ? 2 : t->n_dims;
	size_t at = data->len;
	char hf[160];

	put_data(data, t, expert);
	name_of(hf, sizeof hf, t, expert);
	jw_str(index, hf, file);
	jw_object(w, hf);
	jw_str(w, "dtype", dtype_of(t));
	jw_array(w, "shape");
	for (int k = n_dims - 1; k >= 0; k--)
		jw_int(w, NULL, t->ne[k]);
	jw_end(w);
	jw_array(w, "data_offsets");
	jw_uint(w, NULL, at);
	jw_uint(w, NULL, data->len);
	jw_end(w);
	jw_end(w);
}

/* Write tensors [from, to) as a file, and add their names to the index. */
static void put_shard(const char *name, uint64_t from, uint64_t to, int odd, struct jwrite *index)
{
	struct buf head, data;
	struct jwrite w;

	buf_init(&head, MEM_FILE);
	buf_init(&data, MEM_FILE);
	jw_init(&w, &head);
	jw_object(&w, NULL);
	jw_object(&w, "__metadata__");
	jw_str(&w, "format", "pt");
	jw_end(&w);
	for (uint64_t i = from; i < to; i++) {
		const struct infer_tensor *t = infer_file_tensor_at(in, i);

		for (int e = 0; e < t->ne[2]; e++)
			put_tensor(&w, &data, name, t, e, index);
	}
	jw_end(&w);
	while (head.len % 8 != (odd ? 1 : 0))
		buf_putc(&head, ' ');
	uint64_t n = head.len;
	buf_put(&head, data.at, data.len);
	buf_clear(&data);
	buf_put(&data, &n, 8);
	if (head.bad || data.bad)
		die("no memory");
	write_file(name, data.at, 8, &head);
	buf_fini(&head);
	buf_fini(&data);
}

static void put_tensors(struct jwrite *w, uint64_t shards, int odd)
{
	struct infer_file_info info;
	char name[64];

	infer_file_info(in, &info);
	jw_object(w, NULL);
	jw_object(w, "metadata");
	jw_end(w);
	jw_object(w, "weight_map");
	for (uint64_t i = 0; i < shards; i++) {
		snprintf(name, sizeof name,
		         shards > 1 ? "model-%05d-of-%05d.safetensors" : "model.safetensors",
		         (int)i + 1, (int)shards);
		put_shard(name, info.n_tensors * i / shards, info.n_tensors * (i + 1) / shards, odd,
		          w);
	}
	jw_end(w);
	if (shards > 1)
		end_json(w, "model.safetensors.index.json");
}

int main(int argc, char **argv)
{
	infer_error err;
	infer_file *f;
	struct buf b;
	struct jwrite w;
	uint64_t shards = 1;
	int odd = 0, i = 1;

	for (; i < argc && argv[i][0] == '-'; i++) {
		if (!strcmp(argv[i], "--odd"))
			odd = 1;
		else if (!strcmp(argv[i], "--shards") && i + 1 < argc)
			shards = strtoull(argv[++i], NULL, 10);
		else
			die(argv[i]);
	}
	if (argc - i != 2 || !shards)
		die("mkhf [--shards N] [--odd] IN.gguf DIR");
	if (infer_file_open(&f, argv[i], &err))
		die(err.message);
	in = f;
	out_dir = argv[i + 1];
	is_moe = text("general.architecture").len == strlen("qwen3moe");
	mkdir(out_dir, 0777);
	buf_init(&b, MEM_FILE);
	jw_init(&w, &b);
	put_config(&w);
	put_tokenizer(&w);
	put_tokenizer_config(&w);
	put_tensors(&w, shards, odd);
	buf_fini(&b);
	infer_file_close(&f);
	return 0;
}
