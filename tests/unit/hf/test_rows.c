/* tests/unit/hf/test_rows.c - which tensors of a directory are used where they are, which are copied and how, which are left
 * out, and which are refused.  test_tensors.c has the transforms of every family. */
#include "../nth.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <infer/model.h>
#include "base/num.h"
#include "file/file.h"
#include "hf/rows.h"

static char dir[] = "/tmp/infer-test-rows-XXXXXX";

/* --- a checkpoint */

enum { EMBD = 16, FF = 24, EXPERTS = 3, MOST = 64 };
struct entry {
	char name[96];
	const char *dtype;
	int shape[3]; /* 0: no such dimension */
};
static struct entry entries[MOST];
static int n_entries;

static struct entry *find_entry(const char *name)
{
	for (int i = 0; i < n_entries; i++)
		if (!strcmp(entries[i].name, name))
			return &entries[i];
	return NULL;
}

static void put(const char *name, const char *dtype, int a, int b, int c)
{
	struct entry *e = &entries[n_entries++];

	assert_true(n_entries <= MOST);
	*e = (struct entry){ .dtype = dtype, .shape = { a, b, c } };
	snprintf(e->name, sizeof e->name, "%s", name);
}

static void drop(const char *name) { *find_entry(name) = entries[--n_entries]; }

/* One layer of Llama, or of Mixtral; prefix: before every name. */
static void put_model(const char *prefix, int experts)
{
	static const struct {
		const char *name;
		int a, b;
	} all[] = { { "model.embed_tokens", 32, EMBD },
		    { "lm_head", 32, EMBD },
		    { "model.norm", EMBD, 0 },
		    { "model.layers.0.input_layernorm", EMBD, 0 },
		    { "model.layers.0.post_attention_layernorm", EMBD, 0 },
		    { "model.layers.0.self_attn.q_proj", EMBD, EMBD },
		    { "model.layers.0.self_attn.k_proj", EMBD / 2, EMBD },
		    { "model.layers.0.self_attn.v_proj", EMBD / 2, EMBD },
		    { "model.layers.0.self_attn.o_proj", EMBD, EMBD },
		    { "model.layers.0.mlp.gate_proj", FF, EMBD },
		    { "model.layers.0.mlp.up_proj", FF, EMBD },
		    { "model.layers.0.mlp.down_proj", EMBD, FF } };
	char name[96];

	n_entries = 0;
	for (size_t i = 0; i < sizeof all / sizeof *all - (experts ? 3 : 0); i++) {
		snprintf(name, sizeof name, "%s%s.weight", prefix, all[i].name);
		put(name, "BF16", all[i].a, all[i].b, 0);
	}
	if (experts)
		put("model.layers.0.block_sparse_moe.gate.weight", "BF16", EXPERTS, EMBD, 0);
	for (int i = 0; i < 3 * experts; i++) {
		snprintf(name, sizeof name, "model.layers.0.block_sparse_moe.experts.%d.w%d.weight",
		         i / 3, i % 3 + 1);
		put(name, "BF16", i % 3 == 1 ? EMBD : FF, i % 3 == 1 ? FF : EMBD, 0);
	}
}

static size_t size_of(const char *dtype)
{
	return !strncmp(dtype, "F8", 2) ? 1 : strstr(dtype, "16") ? 2 : strstr(dtype, "64") ? 8 : 4;
}

static size_t count(const struct entry *e)
{
	size_t n = 1;

	for (int i = 0; i < 3 && e->shape[i]; i++)
		n *= (size_t)e->shape[i];
	return n;
}

/* Element i of a tensor: a number that BF16, F16 and both types of 8 bits hold. */
static float value(const char *name, size_t i)
{
	uint32_t x = 7;

	for (; *name; name++)
		x = x * 31 + (unsigned char)*name;
	x = (x + (uint32_t)i) * 2654435761u >> 20;
	return (float)(4 + x % 4) * (x & 8 ? -0.125f : 0.25f);
}

static char bad[96]; /* a tensor whose last element is NaN */

static void write_value(unsigned char *to, const char *dtype, float x)
{
	uint32_t bits = num_bits(x);
	uint16_t half = num_to_f16(x), brain = (uint16_t)(bits >> 16);

	if (!strcmp(dtype, "F32"))
		memcpy(to, &bits, 4);
	else if (!strcmp(dtype, "F16"))
		memcpy(to, &half, 2);
	else if (!strcmp(dtype, "BF16"))
		memcpy(to, &brain, 2);
	else if (!strcmp(dtype, "F8_E5M2"))
		*to = (unsigned char)(half >> 8);
	else if (!strcmp(dtype, "F8_E4M3")) /* exponents are 7 and 127 */
		*to = (unsigned char)((bits >> 24 & 128) | ((bits >> 23 & 255) - 120) << 3 |
		                      (bits >> 20 & 7));
	else
		memset(to, 0, size_of(dtype));
}

static void write_file(const char *name, const void *bytes, size_t n)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", dir, name);
	f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, n, f), n);
	fclose(f);
}

static void write_model(int experts)
{
	static unsigned char all[1 << 17];
	char *head = (char *)all + 8, config[1024];
	size_t n = 0, bytes = 0;
	uint64_t len;

	for (int i = 0; i < n_entries; i++) {
		const struct entry *e = &entries[i];
		n += (size_t)sprintf(head + n, "%s\"%s\":{\"dtype\":\"%s\",\"shape\":[",
		                     i ? "," : "{", e->name, e->dtype);
		for (int k = 0; k < 3 && e->shape[k]; k++)
			n += (size_t)sprintf(head + n, "%s%d", k ? "," : "", e->shape[k]);
		n += (size_t)sprintf(head + n, "],\"data_offsets\":[%zu,%zu]}", bytes,
		                     bytes + count(e) * size_of(e->dtype));
		bytes += count(e) * size_of(e->dtype);
	}
	n += (size_t)sprintf(head + n, "}");
	while (n % 8)
		head[n++] = ' ';
	len = n;
	memcpy(all, &len, 8);
	n += 8;
	assert_true(n + bytes < sizeof all);
	for (int i = 0; i < n_entries; i++)
		for (size_t k = 0; k < count(&entries[i]); k++, n += size_of(entries[i].dtype))
			write_value(all + n, entries[i].dtype,
			            k + 1 == count(&entries[i]) && !strcmp(entries[i].name, bad)
			                    ? NAN
			                    : value(entries[i].name, k));
	write_file("model.safetensors", all, n);
	n = (size_t)snprintf(config, sizeof config,
	                     "{\"architectures\":[\"%s\"],\"model_type\":\"%s\",\"hidden_size\":%d,"
	                     "\"intermediate_size\":%d,\"num_attention_heads\":2,"
	                     "\"num_key_value_heads\":1,\"num_hidden_layers\":1,\"vocab_size\":32,"
	                     "\"max_position_embeddings\":64,\"rms_norm_eps\":1e-5,"
	                     "\"rope_theta\":10000.0,\"hidden_act\":\"silu\",%s"
	                     "\"tie_word_embeddings\":false}",
	                     experts ? "MixtralForCausalLM" : "LlamaForCausalLM",
	                     experts ? "mixtral" : "llama", EMBD, FF,
	                     experts ? "\"num_local_experts\":3,\"num_experts_per_tok\":2," : "");
	write_file("config.json", config, n);
}

static infer_file *open_model(int experts)
{
	infer_error err = { 0 };
	infer_file *f;

	write_model(experts);
	if (infer_file_open(&f, dir, &err))
		fail_msg("%s", err.message);
	return f;
}

static void check_refused(int experts, int code, const char *says)
{
	infer_error err = { 0 };
	infer_file *f;

	write_model(experts);
	int rc = infer_file_open(&f, dir, &err);
	if (rc != code || !strstr(err.message, says) || !strstr(err.message, dir))
		fail_msg("%d %s, not %s", rc, err.message, says);
	assert_null(f);
}

static float *decoded(const infer_file *f, const char *name)
{
	const struct infer_tensor *t = infer_file_tensor(f, name);
	size_t n;

	if (!t)
		fail_msg("%s: not there", name);
	n = (size_t)(t->ne[0] * t->ne[1] * t->ne[2]);
	float *x = calloc(n, sizeof *x);
	assert_non_null(x);
	assert_int_equal(infer_type_decode(t->type, x, t->data, n, NULL), INFER_OK);
	return x;
}

/* Elements of a tensor from `first` on are those of one of the checkpoint. */
static void check_values(const infer_file *f, const char *name, size_t first, const char *of,
                         size_t from, size_t n)
{
	float *x = decoded(f, name);

	for (size_t i = 0; i < n; i++)
		if (x[first + i] != value(of, from + i))
			fail_msg("%s, element %zu: %g, not %g", name, first + i,
			         (double)x[first + i], (double)value(of, from + i));
	free(x);
}

static int has_note(const infer_file *f, const char *says)
{
	for (int i = 0; i < f->n_notes; i++)
		if (strstr(f->notes[i], says))
			return 1;
	return 0;
}

/* --- tests */

/* Matrices are where they are in the file; q and k, whose rows are in another order, and vectors, which are F32, are copies:
 * counted, and named. */
static void test_in_place(void **state)
{
	static const char *const there[] = { "token_embd.weight", "output.weight",
		                             "blk.0.attn_v.weight", "blk.0.ffn_down.weight" },
				 *const copied[] = { "blk.0.attn_q.weight", "blk.0.attn_k.weight",
		                                     "blk.0.attn_norm.weight",
		                                     "output_norm.weight" };
	struct infer_file_info info;
	uint64_t bytes = 0;

	(void)state;
	put_model("", 0);
	infer_file *f = open_model(0);
	infer_file_info(f, &info);
	for (int i = 0; i < 4; i++) {
		const struct infer_tensor *t = infer_file_tensor(f, there[i]);
		assert_int_equal(t->type, INFER_BF16);
		assert_ptr_equal(t->data, f->shards[t->shard].at + t->offset);
		assert_true(file_is_copy(f, infer_file_tensor(f, copied[i])));
	}
	for (uint32_t i = 0; i < f->n_tensors; i++)
		bytes += file_is_copy(f, &f->tensors[i]) ? f->tensors[i].bytes : 0;
	/* q, k and three norms */
	assert_int_equal(bytes, (EMBD + EMBD / 2) * EMBD * 2 + 3 * EMBD * 4);
	assert_int_equal(info.private_bytes, bytes);
	assert_true(
		has_note(f, "attn_q.weight: 1 copied (rows in GGUF's order: RoPE pairs adjacent)"));
	assert_true(has_note(f, "attn_k.weight: 1 copied"));
	assert_false(has_note(f, "attn_v.weight"));
	check_values(f, "token_embd.weight", 0, "model.embed_tokens.weight", 0, 32 * EMBD);
	/* row 1 of a head is row d / 2 of it */
	check_values(f, "blk.0.attn_q.weight", EMBD, "model.layers.0.self_attn.q_proj.weight",
	             4 * EMBD, EMBD);
	infer_file_close(&f);
}

/* Each type: the numbers, and what type they have; data that is not aligned is copied. */
static void test_types(void **state)
{
	static const struct {
		const char *dtype;
		int type;
	} types[] = { { "F32", INFER_F32 },
		      { "F16", INFER_F16 },
		      { "BF16", INFER_BF16 },
		      { "F8_E4M3", INFER_BF16 },
		      { "F8_E5M2", INFER_BF16 } };

	(void)state;
	for (int i = 0; i < 5; i++) {
		put_model("", 0);
		for (int k = 0; k < n_entries; k++)
			entries[k].dtype = types[i].dtype;
		infer_file *f = open_model(0);
		assert_int_equal(infer_file_tensor(f, "output.weight")->type, types[i].type);
		assert_int_equal(infer_file_tensor(f, "blk.0.attn_q.weight")->type, types[i].type);
		assert_int_equal(infer_file_tensor(f, "output_norm.weight")->type, INFER_F32);
		check_values(f, "output.weight", 0, "lm_head.weight", 0, 32 * EMBD);
		check_values(f, "output_norm.weight", 0, "model.norm.weight", 0, EMBD);
		check_values(f, "blk.0.attn_k.weight", 0, "model.layers.0.self_attn.k_proj.weight",
		             0, EMBD);
		infer_file_close(&f);
	}
	put_model("", 0);
	put("model.layers.0.self_attn.rotary_emb.inv_freq", "F8_E5M2", 1, 0, 0);
	struct entry last = entries[n_entries - 1]; /* an odd number of bytes before the others */
	memmove(entries + 1, entries, (size_t)(n_entries - 1) * sizeof *entries);
	entries[0] = last;
	infer_file *f = open_model(0);
	assert_true(file_is_copy(f, infer_file_tensor(f, "output.weight")));
	check_values(f, "output.weight", 0, "lm_head.weight", 0, 32 * EMBD);
	infer_file_close(&f);
}

/* All 256 codes of both types of 8 bits, as torch has them. */
static void test_f8(void **state)
{
	static const int dtypes[] = { ST_F8_E4M3, ST_F8_E5M2 };
	FILE *in = fopen("tests/golden/hf/f8.txt", "r");
	unsigned char codes[256];
	struct os_file file;
	char name[128];

	(void)state;
	assert_non_null(in);
	for (int i = 0; i < 256; i++)
		codes[i] = (unsigned char)i;
	write_file("config.json", codes, sizeof codes);
	snprintf(name, sizeof name, "%s/config.json", dir);
	assert_int_equal(os_file_map(&file, name, NULL), INFER_OK);
	for (int i = 0; i < 2; i++) {
		uint16_t out[256];
		struct safetensors_tensor t = { .dtype = dtypes[i], .bytes = 256, .data = file.at };
		const struct safetensors_tensor *from[] = { &t };
		struct hf_rows h = { .type = INFER_BF16,
			             .cols = 16,
			             .rows = 16,
			             .mats = 1,
			             .from = from,
			             .n_from = 1,
			             .src_cols = 16,
			             .src_rows = 16,
			             .step = 1,
			             .to = (unsigned char *)out },
			       *all[] = { &h };

		assert_null(hf_rows_in_place(&h));
		assert_int_equal(hf_rows_make(all, 1, NULL, NULL), INFER_OK);
		assert_int_equal(fscanf(in, "%15s", name), 1);
		for (int k = 0; k < 256; k++) {
			unsigned want;
			assert_int_equal(fscanf(in, "%x", &want), 1);
			if (isnan(num_bf16((uint16_t)want)) ? !isnan(num_bf16(out[k]))
			                                    : out[k] != want)
				fail_msg("%s %02x: %04x, not %04x", name, k, out[k], want);
		}
	}
	os_file_unmap(&file);
	fclose(in);
}

/* Names that wrappers of models make, and parts that a model for text does not have. */
static void test_left_out(void **state)
{
	static const char *const prefixes[] = { "language_model.", "model.language_model." };

	(void)state;
	for (int i = 0; i < 2; i++) {
		put_model(i ? "" : prefixes[0], 0);
		for (int k = 0; k < n_entries && i; k++) { /* model.language_model.layers */
			char name[128];
			snprintf(name, sizeof name, "%s%.64s",
			         strncmp(entries[k].name, "model.", 6) ? "" : prefixes[1],
			         entries[k].name + (strncmp(entries[k].name, "model.", 6) ? 0 : 6));
			snprintf(entries[k].name, sizeof entries[k].name, "%.95s", name);
		}
		put(i ? "model.vision_tower.x.weight" : "vision_tower.x.weight", "F32", 2, 3, 0);
		put("multi_modal_projector.y", "I64", 1, 0, 0);
		put(i ? "model.layers.0.self_attn.rotary_emb.inv_freq"
		      : "model.rotary_emb.inv_freq",
		    "F32", 4, 0, 0);
		infer_file *f = open_model(0);
		assert_int_equal(f->n_tensors, 12);
		assert_true(has_note(f, "tensors left out: 2 (vision or audio)"));
		assert_true(has_note(f, "tensors left out: 1 (computed from config.json instead)"));
		infer_file_close(&f);
	}
}

static void test_refused(void **state)
{
	(void)state;
	put_model("", 0);
	put("model.layers.0.self_attn.q_proj.scale", "F32", 1, 0, 0);
	check_refused(
		0, INFER_EUNSUP,
		"model.safetensors: tensor model.layers.0.self_attn.q_proj.scale: has no use");
	put_model("", 0);
	put("model.layers.1.input_layernorm.weight", "F32", EMBD, 0, 0);
	check_refused(0, INFER_EUNSUP,
	              "tensor model.layers.1.input_layernorm.weight: config.json has 1 layers");
	put_model("", 0);
	find_entry("lm_head.weight")->dtype = "I32";
	check_refused(0, INFER_EUNSUP, "tensor lm_head.weight: weights of dtype I32");
	put_model("", 0);
	find_entry("lm_head.weight")->shape[1] = EMBD + 1;
	check_refused(0, INFER_EFORMAT,
	              "tensor lm_head.weight: its shape is [32, 17], by config.json");
	put_model("", 0);
	find_entry("model.norm.weight")->shape[1] = 2;
	check_refused(0, INFER_EFORMAT, "tensor model.norm.weight: its shape is [16, 2]");
	put_model("", 0);
	drop("model.layers.0.mlp.up_proj.weight");
	check_refused(0, INFER_EFORMAT, "tensor model.layers.0.mlp.up_proj.weight: missing");
	put_model("", 0);
	put("embed_tokens.weight", "BF16", 32, EMBD, 0);
	check_refused(0, INFER_EFORMAT,
	              "tensor embed_tokens.weight: there is another tensor for token_embd.weight");
}

/* Experts are used where they are, until somebody wants them in one piece, which changes neither their values nor the id. */
static void check_apart(const char *one)
{
	static const char name[] = "blk.0.ffn_up_exps.weight";
	infer_file *f = open_model(1), *g = open_model(1);
	const struct infer_tensor *t = infer_file_tensor(f, name);
	const void *const *parts = file_parts(f, t);
	struct infer_file_info info[2];
	infer_error err = { 0 };
	char id[2][65];

	assert_null(t->data);
	assert_non_null(parts);
	for (int i = 0; i < EXPERTS; i++)
		assert_true((const unsigned char *)parts[i] > f->shards[t->shard].at &&
		            (const unsigned char *)parts[i] <
		                    f->shards[t->shard].at + f->shards[t->shard].bytes);
	assert_false(has_note(f, name + 6));
	assert_int_equal(infer_file_check_finite(f, NULL, &err), INFER_OK);
	infer_file_id(f, id[0]);
	infer_file_info(f, &info[0]);
	assert_int_equal(infer_file_gather(g, &err), INFER_OK);
	check_values(g, name, FF * EMBD, one, 0, FF * EMBD);
	assert_null(file_parts(g, infer_file_tensor(g, name)));
	infer_file_id(g, id[1]);
	infer_file_info(g, &info[1]);
	assert_string_equal(id[0], id[1]);
	assert_int_equal(info[1].private_bytes - info[0].private_bytes,
	                 3 * EXPERTS * FF * EMBD * 2);
	infer_file_close(&f);
	infer_file_close(&g);
}

/* A weight of an expert that is not finite is found at its place in the whole tensor. */
static void test_finite(void **state)
{
	static const char one[] = "model.layers.0.block_sparse_moe.experts.1.w3.weight";
	infer_error err = { 0 };

	(void)state;
	put_model("", EXPERTS);
	snprintf(bad, sizeof bad, "%s", one);
	infer_file *f = open_model(1);
	bad[0] = 0;
	assert_int_equal(infer_file_check_finite(f, NULL, &err), INFER_ENAN);
	assert_non_null(strstr(err.message, "blk.0.ffn_up_exps.weight"));
	assert_int_equal(infer_file_gather(f, &err), INFER_OK);
	infer_error again = { 0 };
	assert_int_equal(infer_file_check_finite(f, NULL, &again), INFER_ENAN);
	size_t byte = (2 * FF * EMBD - 1) * 2, told[2] = { 0 };
	sscanf(strstr(err.message, "at byte"), "at byte %zu of its matrices", &told[0]);
	sscanf(strstr(again.message, "at byte"), "at byte %zu of its copy", &told[1]);
	assert_int_equal(told[0], byte);
	assert_int_equal(told[1], byte);
	infer_file_close(&f);
}

static void test_experts(void **state)
{
	static const char one[] = "model.layers.0.block_sparse_moe.experts.1.w3.weight";

	(void)state;
	put_model("", EXPERTS);
	check_apart(one);
	drop(one);
	check_refused(1, INFER_EFORMAT, "w3.weight: there is none like it of number 1");
	put_model("", EXPERTS);
	find_entry(one)->dtype = "F16";
	check_refused(1, INFER_EUNSUP, "w3.weight: dtype F16, others have another");
	put_model("", EXPERTS);
	find_entry(one)->shape[0] = FF + 2;
	check_refused(1, INFER_EFORMAT, "w3.weight: its shape is [26, 16]");
	put_model("", EXPERTS + 1);
	check_refused(1, INFER_EUNSUP, "experts.3.w1.weight: a number beyond the 3 there are");
	put_model("", EXPERTS);
	put("model.layers.0.mlp.experts.1.up_proj.weight", "BF16", FF, EMBD, 0);
	check_refused(1, INFER_EFORMAT, "up_proj.weight: there is another tensor for this part");
}

/* As transformers 5 has them in memory. */
static void test_joined_experts(void **state)
{
	static const char both[] = "model.layers.0.mlp.experts.gate_up_proj",
			  down[] = "model.layers.0.mlp.experts.down_proj";

	(void)state;
	put_model("", EXPERTS);
	n_entries -= 3 * EXPERTS;
	put(both, "BF16", EXPERTS, 2 * FF, EMBD);
	put(down, "BF16", EXPERTS, EMBD, FF);
	infer_file *f = open_model(1);
	assert_non_null(file_parts(f, infer_file_tensor(f, "blk.0.ffn_up_exps.weight")));
	assert_int_equal(infer_file_gather(f, NULL), INFER_OK);
	for (int e = 0; e < EXPERTS; e++) {
		size_t from = (size_t)e * 2 * FF * EMBD, at = (size_t)e * FF * EMBD;
		check_values(f, "blk.0.ffn_gate_exps.weight", at, both, from, FF * EMBD);
		check_values(f, "blk.0.ffn_up_exps.weight", at, both, from + FF * EMBD, FF * EMBD);
	}
	check_values(f, "blk.0.ffn_down_exps.weight", 0, down, 0, EXPERTS * FF * EMBD);
	assert_false(file_is_copy(f, infer_file_tensor(f, "blk.0.ffn_down_exps.weight")));
	infer_file_close(&f);
}

/* As MLX stores them: one tensor for each of the three matrices. */
static void test_switched_experts(void **state)
{
	static const char up[] = "model.layers.0.mlp.switch_mlp.up_proj.weight",
			  gate[] = "model.layers.0.block_sparse_moe.switch_mlp.gate_proj.weight",
			  down[] = "model.layers.0.mlp.switch_mlp.down_proj.weight";

	(void)state;
	put_model("", EXPERTS);
	n_entries -= 3 * EXPERTS;
	put(gate, "BF16", EXPERTS, FF, EMBD);
	put(up, "BF16", EXPERTS, FF, EMBD);
	put(down, "BF16", EXPERTS, EMBD, FF);
	infer_file *f = open_model(1);
	check_values(f, "blk.0.ffn_gate_exps.weight", 0, gate, 0, EXPERTS * FF * EMBD);
	check_values(f, "blk.0.ffn_up_exps.weight", 0, up, 0, EXPERTS * FF * EMBD);
	check_values(f, "blk.0.ffn_down_exps.weight", 0, down, 0, EXPERTS * FF * EMBD);
	infer_file_close(&f);
}

static int case_memory(void)
{
	infer_error err = { 0 };
	infer_file *f = NULL;
	int rc;

	nth_ok(infer_file_open(&f, dir, &err));
out:
	infer_file_close(&f);
	return rc;
}

static void test_memory(void **state)
{
	static struct nth memory = { case_memory };
	void *own = &memory;

	(void)state;
	put_model("", EXPERTS);
	write_model(1);
	nth_run(&own);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_place),
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_f8),
		cmocka_unit_test(test_left_out),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_experts),
		cmocka_unit_test(test_finite),
		cmocka_unit_test(test_joined_experts),
		cmocka_unit_test(test_switched_experts),
		cmocka_unit_test(test_memory),
	};
	char path[128];

	if (!mkdtemp(dir))
		return 1;
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	snprintf(path, sizeof path, "%s/config.json", dir);
	unlink(path);
	snprintf(path, sizeof path, "%s/model.safetensors", dir);
	unlink(path);
	rmdir(dir);
	return failed;
}
