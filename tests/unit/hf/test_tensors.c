/* tests/unit/hf/test_tensors.c - the tensors of a directory are those of the file that the public converter makes of it,
 * byte for byte, and the model gives the logits of transformers.
 *
 * tests/golden/logits/NAME.gguf are such files.  Each is turned back into a checkpoint: tests/golden/hf/names.txt, found by
 * value in what transformers saved, says which tensor of it is which of the file, and how it changed. */
#include "../floor.h"
#include "../golden_logits.h"
#include "names.h"

#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/jread.h"
#include "base/num.h"
#include "file/file.h"

static char dir[] = "/tmp/infer-test-tensors-XXXXXX";

/* --- the directory */

static void write_file(const char *name, const void *bytes, size_t n)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", dir, name);
	f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, n, f), n);
	fclose(f);
}

/* Every `step`-th tensor from `first` on, as F32, or cut to BF16. */
static void write_shard(const char *file, int first, int step, int bf16)
{
	static char head[1 << 17];
	size_t n = 8, bytes = 0, size = bf16 ? 2 : 4;
	uint64_t len;
	char *all;

	n += (size_t)sprintf(head + n, "{");
	for (int i = first; i < n_tensors; i += step) {
		const struct tensor *t = &tensors[i];
		size_t count = 1;

		n += (size_t)sprintf(head + n, "%s\"%s\":{\"dtype\":\"%s\",\"shape\":[",
		                     i > first ? "," : "", t->name, bf16 ? "BF16" : "F32");
		for (int k = 0; k < t->n_dims; k++) {
			n += (size_t)sprintf(head + n, "%s%lld", k ? "," : "",
			                     (long long)t->shape[k]);
			count *= (size_t)t->shape[k];
		}
		n += (size_t)sprintf(head + n, "],\"data_offsets\":[%zu,%zu]}", bytes,
		                     bytes + count * size);
		bytes += count * size;
	}
	n += (size_t)sprintf(head + n, "}");
	while (n % 8)
		head[n++] = ' ';
	assert_true(n < sizeof head);
	len = n - 8;
	memcpy(head, &len, 8);
	all = malloc(n + bytes);
	assert_non_null(all);
	memcpy(all, head, n);
	for (int i = first; i < n_tensors; i += step) {
		const struct tensor *t = &tensors[i];
		size_t count = (size_t)(t->shape[0] * t->shape[1] * t->shape[2]);
		for (size_t k = 0; k < count; k++, n += size) {
			uint32_t bits = num_bits(t->at[k]) >> (bf16 ? 16 : 0);
			memcpy(all + n, &bits, size);
		}
	}
	write_file(file, all, n);
	free(all);
}

/* Tensors of layers that predict further tokens, which are left out. */
static void put_next(int layers, int64_t next)
{
	char name[64];

	if (next)
		new_tensor("mtp.fc.weight", 2, 3, 5, 1);
	for (int i = 0; i < next; i++) {
		snprintf(name, sizeof name, "model.layers.%d.eh_proj.weight", layers + i);
		new_tensor(name, 2, 3, 5, 1);
		snprintf(name, sizeof name, "model.layers.%d.self_attn.q_proj.weight", layers + i);
		new_tensor(name, 2, 3, 5, 1);
	}
}

/* Spellings of BERT's first checkpoints. */
static void spell_as_first(void)
{
	for (int i = 0; i < n_tensors; i++) {
		char *at = strstr(tensors[i].name, "LayerNorm.");
		if (at)
			strcpy(at + 10, at[10] == 'w' ? "gamma" : "beta");
	}
}

/* Tensors that are left out: an output matrix beside the embedding table, heads of training. */
static void put_unused(const char *cls)
{
	int bert = !strcmp(cls, "BertModel");

	if (!strncmp(cls, "Gemma", 5) && strstr(cls, "CausalLM")) {
		for (int i = 0; i < n_tensors; i++)
			if (strstr(tensors[i].name, "embed_tokens.weight")) {
				const struct tensor *t = &tensors[i];
				size_t n = (size_t)(t->shape[0] * t->shape[1]);
				memcpy(new_tensor("lm_head.weight", 2, t->shape[0], t->shape[1], 1)
				               ->at,
				       t->at, n * sizeof(float));
				break;
			}
	} else if (bert || !strcmp(cls, "XLMRobertaModel")) {
		new_tensor("pooler.dense.weight", 2, 32, 32, 1);
		new_tensor("pooler.dense.bias", 1, 32, 1, 1);
	}
	if (bert) {
		new_tensor("cls.predictions.bias", 1, 72, 1, 1);
		spell_as_first();
	}
}

/* Layers after the model, in folders of their own. */
static void put_dense(const infer_file *f)
{
	static const char config[] = "{\"bias\":false}";
	char modules[512] = "[{\"idx\":0,\"path\":\"\",\"type\":"
			    "\"sentence_transformers.models.Transformer\"}",
	     name[64];
	struct tensor kept[MAX_TENSORS];
	int n = n_tensors, any = 0;

	memcpy(kept, tensors, sizeof kept);
	for (int i = 2; i < 4; i++) {
		snprintf(name, sizeof name, "dense_%d.weight", i);
		const struct infer_tensor *t = find(f, name);
		if (!t)
			continue;
		snprintf(name, sizeof name, "%s/%d_Dense", dir, i);
		assert_int_equal(mkdir(name, 0700), 0);
		snprintf(name, sizeof name, "%d_Dense/config.json", i);
		write_file(name, config, sizeof config - 1);
		n_tensors = 0;
		memcpy(new_tensor("linear.weight", 2, t->ne[1], t->ne[0], 1)->at, t->data,
		       (size_t)t->bytes);
		snprintf(name, sizeof name, "%d_Dense/model.safetensors", i);
		write_shard(name, 0, 1, 0);
		free(tensors[0].at);
		snprintf(modules + strlen(modules), sizeof modules - strlen(modules),
		         ",{\"idx\":%d,\"path\":\"%d_Dense\",\"type\":"
		         "\"sentence_transformers.models.Dense\"}",
		         i, i);
		any = 1;
	}
	memcpy(tensors, kept, sizeof kept);
	n_tensors = n;
	strcat(modules, "]");
	if (any)
		write_file("modules.json", modules, strlen(modules));
}

static void drop_dense(void)
{
	static const char *const names[] = { "2_Dense/config.json",
		                             "2_Dense/model.safetensors",
		                             "3_Dense/config.json",
		                             "3_Dense/model.safetensors",
		                             "modules.json",
		                             "2_Dense",
		                             "3_Dense" };
	char path[256];

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		snprintf(path, sizeof path, "%s/%s", dir, names[i]);
		remove(path);
	}
}

/* In two shards with an index, or one. */
static void write_tensors(int shards, int bf16)
{
	static const char *const names[] = { "model-00001-of-00002.safetensors",
		                             "model-00002-of-00002.safetensors" };
	static char index[1 << 17];
	size_t n;
	char path[256];

	for (int i = 0; i < 4; i++) {
		snprintf(path, sizeof path, "%s/%s", dir,
		         i < 2    ? names[i]
		         : i == 2 ? "model.safetensors.index.json"
		                  : "model.safetensors");
		unlink(path);
	}
	if (shards == 1) {
		write_shard("model.safetensors", 0, 1, bf16);
		return;
	}
	n = (size_t)sprintf(index, "{\"metadata\":{},\"weight_map\":{");
	for (int i = 0; i < n_tensors; i++)
		n += (size_t)sprintf(index + n, "%s\"%s\":\"%s\"", i ? "," : "", tensors[i].name,
		                     names[i % 2]);
	n += (size_t)sprintf(index + n, "}}");
	assert_true(n < sizeof index);
	write_file("model.safetensors.index.json", index, n);
	for (int i = 0; i < 2; i++)
		write_shard(names[i], i, 2, bf16);
}

/* --- the comparison */

/* By the public converter with --outtype bf16, from golden-hf-types.py: tests/golden/hf/types.txt. */
static int is_f32(const char *arch, const struct infer_tensor *t)
{
	static char all[1 << 16];
	char line[256], name[96];
	const char *rest;

	if (!*all) {
		FILE *f = fopen("tests/golden/hf/types.txt", "rb");
		assert_non_null(f);
		all[fread(all, 1, sizeof all - 1, f)] = 0;
		fclose(f);
	}
	snprintf(name, sizeof name, "%.*s", (int)t->name.len, t->name.at);
	rest = strstr(name, "blk.") ? strchr(name + 4, '.') + 1 : name;
	snprintf(line, sizeof line, "\n%s\t%s\tBF16\n", arch, rest);
	if (strstr(all, line))
		return 0;
	snprintf(line, sizeof line, "\n%s\t%s\tF32\n", arch, rest);
	if (!strstr(all, line))
		fail_msg("types.txt: no line %s", line + 1);
	return 1;
}

__attribute__((noinline)) static float cut(float x) /* inline, gcc 12 leaves it out of cut_by */
{
	uint32_t bits = num_bits(x) >> 16;

	return num_bf16((uint16_t)bits);
}

/* What an element of the file is in one made of BF16 values. */
static float cut_by(const char *how, float x)
{
	if (!how)
		return x;
	if (!strcmp(how, "T_PLUS1"))
		return cut(x - 1) + 1;
	if (strstr(how, "NEG_EXP"))
		return -expf(cut(logf(-x)));
	return cut(x);
}

/* The transform of a tensor of the file; NULL: it is made from config.json. */
static const char *how_of(const char *cls, const struct infer_tensor *t)
{
	char name[96], want[128];
	int layer = -1;

	snprintf(name, sizeof name, "%.*s", (int)t->name.len, t->name.at);
	sscanf(name, "blk.%d.", &layer);
	for (int i = 0; i < n_lines; i++) {
		in_layer(want, lines[i].gguf, layer);
		if (!strcmp(lines[i].cls, cls) && !strcmp(want, name))
			return strcmp(lines[i].hf, "-") ? lines[i].how : NULL;
	}
	return "T_NONE"; /* attn_k_b */
}

static void compare(const char *of, const char *cls, const infer_file *want, const infer_file *have,
                    int bf16)
{
	struct infer_file_info info[2];
	const struct infer_tensor *a, *b;
	struct infer_str arch = { "", 0 };
	char name[96], family[64];

	infer_meta_str(want, "general.architecture", &arch, NULL, NULL);
	snprintf(family, sizeof family, "%.*s", (int)arch.len, arch.at);
	infer_file_info(want, &info[0]);
	infer_file_info(have, &info[1]);
	for (uint64_t i = 0; (a = infer_file_tensor_at(want, i)); i++) {
		size_t n = (size_t)(a->ne[0] * a->ne[1] * a->ne[2]);
		const char *how = how_of(cls, a);

		snprintf(name, sizeof name, "%.*s", (int)a->name.len, a->name.at);
		b = infer_file_tensor(have, name);
		if (!b)
			fail_msg("%s: %s: missing", of, name);
		assert_memory_equal(a->ne, b->ne, sizeof a->ne);
		if (b->type != (bf16 && how && strncmp(name, "dense_", 6) && !is_f32(family, a)
		                        ? INFER_BF16
		                        : INFER_F32))
			fail_msg("%s: %s: type %s", of, name, infer_type_info(b->type)->name);
		float *x = calloc(n, sizeof *x);
		assert_non_null(x);
		assert_int_equal(infer_type_decode(b->type, x, b->data, n, NULL), INFER_OK);
		for (size_t k = 0; k < n; k++) {
			float y = ((const float *)a->data)[k];
			y = bf16 && strncmp(name, "dense_", 6) ? cut_by(how, y) : y;
			float gap = !how || strstr(how, "NEG_EXP") ? 1e-6f * fabsf(y) : 0;
			if (!(fabsf(x[k] - y) <= gap))
				fail_msg("%s: %s (%s), %s, element %zu: %.9g, not %.9g", of, name,
				         how ? how : "made", bf16 ? "BF16" : "F32", k, (double)x[k],
				         (double)y);
		}
		free(x);
	}
	assert_int_equal(info[0].n_tensors, info[1].n_tensors);
	for (int i = 0; i < 4; i++) {
		uint64_t size[2] = { 0 };
		snprintf(name, sizeof name, "%s.dense_%d_feat_%s", family, 2 + i / 2,
		         i % 2 ? "in" : "out");
		infer_meta_u64(want, name, &size[0], NULL, NULL);
		infer_meta_u64(have, name, &size[1], NULL, NULL);
		assert_int_equal(size[0], size[1]);
		assert_true(!size[0] == (strcmp(family, "gemma-embedding") != 0));
	}
}

static void check_logits(const struct golden *g, const infer_model *m)
{
	float *want = expected(g), *y = calloc((size_t)g->n * (size_t)g->n_vocab, sizeof *y);
	struct floor f = { 0 };
	infer_error err = { 0 };
	double most = 0, size = 1;

	assert_non_null(y);
	assert_int_equal(floor_open(&f, m, NULL, 2, g->n, &err), INFER_OK);
	assert_int_equal(floor_run(&f, g->ids, 0, g->n, y, &err), INFER_OK);
	floor_close(&f);
	for (size_t i = 0; i < (size_t)g->n * (size_t)g->n_vocab; i++) {
		double d = fabs((double)y[i] - (double)want[i]);
		if (!(d <= most))
			most = isnan(d) ? INFINITY : d;
		size = fmax(size, fabs((double)want[i]));
	}
	print_message("# %s: %.3g of the bound\n", g->name, most / (GOLDEN_TOLERANCE * size));
	if (!(most <= GOLDEN_TOLERANCE * size))
		fail_msg("%s: %.4g times the bound", g->name, most / (GOLDEN_TOLERANCE * size));
	free(want);
	free(y);
}

/* --- a case */

static int64_t whole(const struct json *v, const char *key)
{
	const struct json *n = json_get(v, key);

	return json_is_whole(n) ? n->i : 0;
}

/* The class of the case, its sizes and its number of layers. */
static void read_config(const char *path, char cls[64], struct sizes *z, int *layers)
{
	static char config[1 << 14];
	const struct json *v, *all;
	struct arena a;
	FILE *f = fopen(path, "rb");

	assert_non_null(f);
	config[fread(config, 1, sizeof config - 1, f)] = 0;
	fclose(f);
	char *next =
		strstr(config, "num_nextn_predict_layers\": 0"); /* published models have one */
	if (next && !strstr(config, "mistral4"))
		next[sizeof "num_nextn_predict_layers\": 0" - 2] = '1';
	write_file("config.json", config, strlen(config));
	arena_init(&a, MEM_BASE);
	assert_int_equal(jread(&all, &a, config, strlen(config), "config", NULL), INFER_OK);
	v = json_at(json_get(all, "architectures"), 0);
	snprintf(cls, 64, "%.*s", (int)json_bytes(v), json_str(v));
	z->head = whole(all, "head_dim");
	if (!z->head && whole(all, "num_attention_heads"))
		z->head = whole(all, "hidden_size") / whole(all, "num_attention_heads");
	z->nk = whole(all, "linear_num_key_heads");
	z->nv = whole(all, "linear_num_value_heads");
	z->dk = whole(all, "linear_key_head_dim");
	z->dv = whole(all, "linear_value_head_dim");
	z->next = whole(all, "num_nextn_predict_layers");
	z->first = strstr(cls, "Roberta") ? whole(all, "pad_token_id") + 1 : 0;
	*layers = (int)whole(all, "num_hidden_layers");
	arena_fini(&a);
}

/* As MLX stores the checkpoint: 1 is added to the norms already, and kernels of conv1d are [channels, taps, 1]. */
static void store_as_mlx(void)
{
	for (int i = 0; i < n_tensors; i++) {
		struct tensor *t = &tensors[i];
		int norm = strstr(t->name, "norm.weight") && !strstr(t->name, "linear_attn");

		for (int64_t k = 0; norm && k < t->shape[0]; k++)
			t->at[k] += 1;
		if (strstr(t->name, "conv1d.weight")) {
			t->shape[1] = t->shape[2];
			t->shape[2] = 1;
		}
	}
}

/* Write and compare the directory of a file; it stays, as F32.  mlx: in the form of MLX, as F32 only */
static void compare_case(const char *of, const char *gguf, const char *config, int mlx)
{
	struct sizes z = { 0 };
	infer_error err = { 0 };
	infer_file *want, *have;
	char cls[64];
	int layers;

	drop_tensors(); /* of a case that failed */
	read_config(config, cls, &z, &layers);
	assert_int_equal(infer_file_open(&want, gguf, &err), INFER_OK);
	put_all(want, cls, layers, &z);
	put_next(layers, z.next);
	put_dense(want);
	put_unused(cls);
	if (mlx)
		store_as_mlx();
	for (int bf16 = !mlx; bf16 >= 0; bf16--) {
		write_tensors(1 + (int)(strlen(of) % 2), bf16);
		if (infer_file_open(&have, dir, &err))
			fail_msg("%s: %s", of, err.message);
		assert_int_equal(infer_file_gather(have, &err), INFER_OK);
		compare(of, cls, want, have, bf16);
		infer_file_close(&have);
	}
	infer_file_close(&want);
	drop_tensors();
}

static void test_case(void **state)
{
	const struct golden *g = *state;
	struct infer_model_opts o = { .ctx = g->ctx };
	char gguf[256], config[256];
	infer_error err = { 0 };
	infer_model *m;

	snprintf(gguf, sizeof gguf, GOLDEN_LOGITS "%s", g->file);
	snprintf(config, sizeof config, "tests/golden/hf/config/%.*s.json",
	         (int)(strlen(g->file) - 5), g->file);
	compare_case(g->name, gguf, config, 0);
	if (strstr(g->name, "qwen3next") || strstr(g->name, "qwen35"))
		compare_case(g->name, gguf, config, 1);
	if (infer_model_open(&m, dir, &o, &err))
		fail_msg("%s: %s", g->name, err.message);
	check_logits(g, m);
	infer_model_close(&m);
}

/* but qwen-rank, whose rows of the output the converter picks by the name of the directory */
static const char *const encoders[] = { "bert",        "xlm-roberta", "xlm-rank", "modern",
	                                "modern-silu", "modern-rank", "nomic",    "gemma" };

static void test_encoder(void **state)
{
	const char *name = *state;
	char gguf[256], config[256];

	snprintf(gguf, sizeof gguf, "tests/golden/encoders/%s.gguf", name);
	snprintf(config, sizeof config, "tests/golden/encoders/%s.json", name);
	compare_case(name, gguf, config, 0);
	drop_dense();
}

/* A vocabulary of n single characters. */
static void write_vocabulary(int n)
{
	static char json[1 << 13];
	char *x = json;

	x += sprintf(
		x, "{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,\"added_tokens\":[],"
		   "\"normalizer\":null,\"pre_tokenizer\":{\"type\":\"ByteLevel\","
		   "\"add_prefix_space\":false,\"trim_offsets\":true,\"use_regex\":true},"
		   "\"post_processor\":null,\"decoder\":{\"type\":\"ByteLevel\","
		   "\"add_prefix_space\":true,\"trim_offsets\":true,\"use_regex\":true},"
		   "\"model\":{\"type\":\"BPE\",\"dropout\":null,\"unk_token\":null,"
		   "\"continuing_subword_prefix\":null,\"end_of_word_suffix\":null,"
		   "\"fuse_unk\":false,\"byte_fallback\":false,\"ignore_merges\":false,"
		   "\"vocab\":{");
	for (int i = 0; i < n; i++)
		x += sprintf(x, "%s\"\\u%04x\":%d", i ? "," : "", 'A' + i, i);
	x += sprintf(x, "},\"merges\":[]}}");
	write_file("tokenizer.json", json, (size_t)(x - json));
}

/* Give a tensor of the checkpoint another number of rows; new ones are 1. */
static void change_rows(const char *name, int64_t rows)
{
	for (int i = 0; i < n_tensors; i++) {
		struct tensor *t = &tensors[i];
		size_t old = (size_t)(t->shape[0] * t->shape[1]),
		       now = (size_t)(rows * t->shape[1]);
		if (strcmp(t->name, name) != 0)
			continue;
		t->at = realloc(t->at, (now > old ? now : old) * sizeof *t->at);
		assert_non_null(t->at);
		for (size_t k = old; k < now; k++)
			t->at[k] = 1;
		t->shape[0] = rows;
	}
}

/* Of Gemma 3 and 3n, the tables of embeddings have as many rows as there are tokens: others are cut off, and those that lack
 * are 0, as the converter does it. */
static void test_vocabulary(void **state)
{
	static const struct {
		const char *name, *tensor, *gguf;
		int64_t rows;
	} tables[] = { { "gemma3-hub", "model.embed_tokens.weight", "token_embd.weight", 80 },
		       { "gemma3n-hub", "model.embed_tokens.weight", "token_embd.weight", 64 },
		       { "gemma3n-hub", "model.embed_tokens_per_layer.weight",
		         "per_layer_token_embd.weight", 64 } };
	char gguf[256], config[256], cls[64];

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct sizes z = { 0 };
		infer_error err = { 0 };
		infer_file *want, *have;
		int layers;

		drop_tensors();
		snprintf(gguf, sizeof gguf, GOLDEN_LOGITS "%s.gguf", tables[i].name);
		snprintf(config, sizeof config, "tests/golden/hf/config/%s.json", tables[i].name);
		read_config(config, cls, &z, &layers);
		assert_int_equal(infer_file_open(&want, gguf, &err), INFER_OK);
		put_all(want, cls, layers, &z);
		change_rows(tables[i].tensor, tables[i].rows);
		write_vocabulary(72);
		write_tensors(1, 0);
		if (infer_file_open(&have, dir, &err))
			fail_msg("%s", err.message);
		const struct infer_tensor *a = infer_file_tensor(want, tables[i].gguf),
					  *b = infer_file_tensor(have, tables[i].gguf);
		assert_int_equal(b->ne[1], 72);
		for (int64_t k = 0; k < 72 * a->ne[0]; k++) {
			float x = ((const float *)b->data)[k];
			if (x != (k < tables[i].rows * a->ne[0] ? ((const float *)a->data)[k] : 0))
				fail_msg("%s: %s, element %lld: %g", tables[i].name, tables[i].gguf,
				         (long long)k, (double)x);
		}
		infer_file_close(&want);
		infer_file_close(&have);
	}
	drop_tensors();
	snprintf(config, sizeof config, "%s/tokenizer.json", dir);
	unlink(config);
}

int main(void)
{
	static struct CMUnitTest tests[MAX_CASES + 16];
	char path[256];
	int n = 0;

	if (!mkdtemp(dir))
		return 1;
	golden_read();
	for (int i = 0; i < n_cases; i++) {
		struct golden *g = &cases[i];

		snprintf(path, sizeof path, "tests/golden/hf/config/%.*s.json",
		         (int)(strlen(g->file) - 5), g->file);
		if (!g->edits.n && !access(path, R_OK) && strcmp(g->name, "deepseek2-old") != 0)
			tests[n++] = (struct CMUnitTest){ g->name, test_case, NULL, NULL, g };
	}
	for (size_t i = 0; i < sizeof encoders / sizeof *encoders; i++)
		tests[n++] = (struct CMUnitTest){ encoders[i], test_encoder, NULL, NULL,
			                          (void *)(uintptr_t)encoders[i] };
	tests[n++] = (struct CMUnitTest){ "vocabulary", test_vocabulary, NULL, NULL, NULL };
	int failed =
		n > 20 ? _cmocka_run_group_tests("tensors", tests, (size_t)n, read_lines, NULL) : 1;
	write_tensors(1, 0);
	snprintf(path, sizeof path, "%s/model.safetensors", dir);
	unlink(path);
	snprintf(path, sizeof path, "%s/config.json", dir);
	unlink(path);
	rmdir(dir);
	return failed;
}
