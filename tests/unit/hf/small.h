/* tests/unit/hf/small.h - the directory of a small Llama with random weights and a byte-level
 * vocabulary, in memory, to be damaged and written. */
#ifndef TESTS_HF_SMALL_H
#define TESTS_HF_SMALL_H
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	SMALL_EMBD = 32,
	SMALL_FF = 48,
	SMALL_LAYERS = 2,
	SMALL_VOCAB = 260,
	SMALL_FILES = 24,
	SMALL_TENSORS = 3 + 9 * SMALL_LAYERS
};

struct small_file {
	char name[96];
	char *at; /* malloc; NULL: a name that is not written */
	size_t n;
};
struct small {
	struct small_file files[SMALL_FILES];
	int n;
};

/* Tensors in the order of the shards: all of layer 1, then the rest. */
struct small_tensor {
	char name[64];
	int rows, cols; /* rows 0: one dimension */
};

__attribute__((unused)) static int small_tensors(struct small_tensor t[SMALL_TENSORS])
{
	static const struct {
		const char *name;
		int rows, cols;
	} in_layer[] = {
		{ "input_layernorm", 0, SMALL_EMBD },
		{ "self_attn.q_proj", SMALL_EMBD, SMALL_EMBD },
		{ "self_attn.k_proj", SMALL_EMBD / 2, SMALL_EMBD },
		{ "self_attn.v_proj", SMALL_EMBD / 2, SMALL_EMBD },
		{ "self_attn.o_proj", SMALL_EMBD, SMALL_EMBD },
		{ "post_attention_layernorm", 0, SMALL_EMBD },
		{ "mlp.gate_proj", SMALL_FF, SMALL_EMBD },
		{ "mlp.up_proj", SMALL_FF, SMALL_EMBD },
		{ "mlp.down_proj", SMALL_EMBD, SMALL_FF },
	};
	int n = 0;

	for (int layer = SMALL_LAYERS - 1; layer >= 0; layer--)
		for (size_t i = 0; i < sizeof in_layer / sizeof *in_layer; i++, n++) {
			snprintf(t[n].name, sizeof t[n].name, "model.layers.%d.%s.weight", layer,
			         in_layer[i].name);
			t[n].rows = in_layer[i].rows;
			t[n].cols = in_layer[i].cols;
		}
	t[n++] = (struct small_tensor){ "model.embed_tokens.weight", SMALL_VOCAB, SMALL_EMBD };
	t[n++] = (struct small_tensor){ "lm_head.weight", SMALL_VOCAB, SMALL_EMBD };
	t[n++] = (struct small_tensor){ "model.norm.weight", 0, SMALL_EMBD };
	return n;
}

/* The file of this name, which is made where there is none. */
__attribute__((unused)) static struct small_file *small_file(struct small *s, const char *name)
{
	for (int i = 0; i < s->n; i++)
		if (!strcmp(s->files[i].name, name))
			return &s->files[i];
	if (s->n == SMALL_FILES)
		abort();
	snprintf(s->files[s->n].name, sizeof s->files[0].name, "%s", name);
	return &s->files[s->n++];
}

__attribute__((unused)) static void small_set(struct small *s, const char *name, const void *at,
                                              size_t n)
{
	struct small_file *f = small_file(s, name);
	char *copy = malloc(n + 1);

	if (!copy)
		abort();
	memcpy(copy, at, n);
	copy[n] = 0;
	free(f->at);
	f->at = copy;
	f->n = n;
}

__attribute__((unused)) static void small_free(struct small *s)
{
	for (int i = 0; i < s->n; i++)
		free(s->files[i].at);
	s->n = 0;
	memset(s, 0, sizeof *s);
}

/* A safetensors file: its header, and data of n bytes, which are BF16 numbers below 1. */
__attribute__((unused)) static void small_shard(struct small *s, const char *name,
                                                const char *header, size_t n)
{
	size_t h = strlen(header);
	unsigned char *at = malloc(8 + h + n);
	unsigned seed = 7;

	if (!at)
		abort();
	for (int i = 0; i < 8; i++)
		at[i] = (unsigned char)((uint64_t)h >> 8 * i);
	memcpy(at + 8, header, h);
	for (size_t i = 0; i < n; i++) {
		seed = seed * 1103515245 + 12345;
		at[8 + h + i] = i % 2 ? (unsigned char)(0x3d | (seed >> 9 & 0x80))
		                      : (unsigned char)(seed >> 16);
	}
	small_set(s, name, at, 8 + h + n);
	free(at);
}

/* The index and the shards that it names; to[0] and to[1] may be one file. */
static inline void small_put_weights(struct small *s, const char *const to[2])
{
	struct small_tensor t[SMALL_TENSORS];
	static char header[2][8192], index[8192];
	char *h[2] = { header[0], header[1] }, *x = index;
	size_t at[2] = { 0 };
	int n = small_tensors(t), files = to[0] == to[1] ? 1 : 2;

	x += sprintf(x, "{\"metadata\": {\"total_size\": 1}, \"weight_map\": {");
	for (int i = 0; i < n; i++) {
		int k = files == 2 && i >= n / 2;
		size_t bytes = (size_t)(t[i].rows ? t[i].rows : 1) * (size_t)t[i].cols * 2;

		h[k] += sprintf(h[k], "%s\"%s\":{\"dtype\":\"BF16\",\"shape\":[",
		                at[k] ? "," : "{\"__metadata__\":{\"format\":\"pt\"},", t[i].name);
		if (t[i].rows)
			h[k] += sprintf(h[k], "%d,", t[i].rows);
		h[k] += sprintf(h[k], "%d],\"data_offsets\":[%zu,%zu]}", t[i].cols, at[k],
		                at[k] + bytes);
		at[k] += bytes;
		x += sprintf(x, "%s\"%s\": \"%s\"", i ? ", " : "", t[i].name, to[k]);
	}
	for (int k = 0; k < files; k++) {
		memcpy(h[k], "}", 2);
		small_shard(s, to[k], header[k], at[k]);
	}
	x += sprintf(x, "}}\n");
	small_set(s, "model.safetensors.index.json", index, (size_t)(x - index));
}

__attribute__((unused)) static void small_weights(struct small *s)
{
	static const char *const to[] = { "model-00001-of-00002.safetensors",
		                          "model-00002-of-00002.safetensors" };

	small_put_weights(s, to);
}

__attribute__((unused)) static void small_weights_in(struct small *s, const char *name)
{
	small_put_weights(s, (const char *const[]){ name, name });
}

/* The character that byte-level BPE has for a byte, in JSON. */
static inline int small_byte(char *to, int b)
{
	int n = 0;

	if ((b >= 33 && b < 127) || (b >= 161 && b < 173) || b >= 174)
		return sprintf(to, b == '"' || b == '\\' ? "\\%c" : b < 127 ? "%c" : "\\u%04x", b);
	for (int i = 0; i < b; i++)
		n += !((i >= 33 && i < 127) || (i >= 161 && i < 173) || i >= 174);
	return sprintf(to, "\\u%04x", 256 + n);
}

__attribute__((unused)) static void small_vocabulary(struct small *s)
{
	static char text[16384];
	char *x = text;

	x += sprintf(x,
	             "{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,\"added_tokens\":["
	             "{\"id\":258,\"content\":\"<s>\",\"single_word\":false,\"lstrip\":false,"
	             "\"rstrip\":false,\"normalized\":false,\"special\":true},"
	             "{\"id\":259,\"content\":\"</s>\",\"single_word\":false,\"lstrip\":false,"
	             "\"rstrip\":false,\"normalized\":false,\"special\":true}],"
	             "\"normalizer\":null,"
	             "\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false,"
	             "\"trim_offsets\":true,\"use_regex\":true},\"post_processor\":null,"
	             "\"decoder\":{\"type\":\"ByteLevel\",\"add_prefix_space\":true,"
	             "\"trim_offsets\":true,\"use_regex\":true},"
	             "\"model\":{\"type\":\"BPE\",\"dropout\":null,\"unk_token\":null,"
	             "\"continuing_subword_prefix\":null,\"end_of_word_suffix\":null,"
	             "\"fuse_unk\":false,\"byte_fallback\":false,\"ignore_merges\":false,"
	             "\"vocab\":{");
	for (int i = 0; i < 256; i++) {
		x += sprintf(x, "\"");
		x += small_byte(x, i);
		x += sprintf(x, "\":%d,", i);
	}
	x += sprintf(x, "\"th\":256,\"the\":257},\"merges\":[\"t h\",\"th e\"]}}\n");
	small_set(s, "tokenizer.json", text, (size_t)(x - text));
}

__attribute__((unused)) static void small_new(struct small *s)
{
	static const char config[] =
		"{\"architectures\": [\"LlamaForCausalLM\"], \"model_type\": \"llama\", "
		"\"attention_bias\": false, \"attention_dropout\": 0.0, \"bos_token_id\": 258, "
		"\"eos_token_id\": 259, \"hidden_act\": \"silu\", \"hidden_size\": 32, "
		"\"initializer_range\": 0.02, \"intermediate_size\": 48, "
		"\"max_position_embeddings\": 512, \"mlp_bias\": false, "
		"\"num_attention_heads\": 4, \"num_hidden_layers\": 2, "
		"\"num_key_value_heads\": 2, \"head_dim\": 8, \"pretraining_tp\": 1, "
		"\"rms_norm_eps\": 1e-05, \"rope_scaling\": null, \"rope_theta\": 10000.0, "
		"\"tie_word_embeddings\": false, \"torch_dtype\": \"bfloat16\", "
		"\"transformers_version\": \"4.50.0\", \"use_cache\": true, "
		"\"vocab_size\": 260}\n";
	static const char generation[] =
		"{\"bos_token_id\": 258, \"eos_token_id\": [259], \"do_sample\": true, "
		"\"temperature\": 0.6, \"top_p\": 0.9, \"transformers_version\": \"4.50.0\"}\n";
	static const char tokenizer_config[] =
		"{\"bos_token\": \"<s>\", \"eos_token\": \"</s>\", \"add_bos_token\": true, "
		"\"clean_up_tokenization_spaces\": false, \"model_max_length\": 512, "
		"\"tokenizer_class\": \"PreTrainedTokenizerFast\"}\n";
	static const char map[] = "{\"bos_token\": \"<s>\", \"eos_token\": \"</s>\"}\n";
	static const char template[] =
		"{{ bos_token }}{% for m in messages %}{{ m['content'] }}{% endfor %}";

	memset(s, 0, sizeof *s);
	small_set(s, "config.json", config, sizeof config - 1);
	small_set(s, "generation_config.json", generation, sizeof generation - 1);
	small_set(s, "tokenizer_config.json", tokenizer_config, sizeof tokenizer_config - 1);
	small_set(s, "special_tokens_map.json", map, sizeof map - 1);
	small_set(s, "chat_template.jinja", template, sizeof template - 1);
	small_vocabulary(s);
	small_weights(s);
}

/* Remove the files in a directory, and in its folders. */
__attribute__((unused)) static void small_clear(const char *dir, int depth)
{
	DIR *d = opendir(dir);
	const struct dirent *e;
	char path[512];

	while (d && (e = readdir(d))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
		if (unlink(path) && depth < 2) {
			small_clear(path, depth + 1);
			rmdir(path);
		}
	}
	if (d)
		closedir(d);
}

/* Write the files into a directory that is cleared first; returns 0, or -1. */
__attribute__((unused)) static int small_write(const struct small *s, const char *dir)
{
	char path[512];

	small_clear(dir, 0);
	for (int i = 0; i < s->n; i++) {
		const struct small_file *f = &s->files[i];
		char *slash;

		if (!f->at)
			continue;
		snprintf(path, sizeof path, "%s/%s", dir, f->name);
		slash = strrchr(path, '/');
		if (strchr(f->name, '/')) {
			*slash = 0;
			mkdir(path, 0777);
			*slash = '/';
		}
		FILE *to = fopen(path, "wb");
		if (!to || fwrite(f->at, 1, f->n, to) != f->n || fclose(to))
			return -1;
	}
	return 0;
}
#endif
