/* tests/unit/hf/test_keys.c - config.json gives the keys that the public converter writes: every case of
 * tests/golden/hf/keys.jsonl (scripts/golden-hf-keys.py), every key with its type and value, and the divisors of frequencies.
 * `ours` lists the differences and their reasons. */
#include "../nth.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/jread.h"
#include "hf/hf.h"

enum { NAME = 128 };
static char text[1 << 19], config_text[1 << 14];

/* A key that the converter does not write, or writes so that another model is computed than transformers computes; or the
 * message of a config that is refused, where the converter's file computes another model. */
static const struct {
	const char *name, *key, *refused;
} ours[] = {
	/* query_pre_attn_scalar is not the size of a head */
	{ "gemma2", "gemma2.attention.scale", NULL },
	{ "gemma3", "gemma3.attention.scale", NULL },
	/* layer_types is not what the architecture has */
	{ "gemma3", "gemma3.attention.sliding_window_pattern", NULL },
	/* position_embedding_type is rope */
	{ "granitehybrid-dense-hub", "granitehybrid.context_length", NULL },
	{ "granitehybrid-dense-hub", "granitehybrid.rope.scaling.finetuned", NULL },
	/* attention_chunk_size, attn_scale and floor_scale are others than those of all published models */
	{ "llama4-chunks-hub", "llama4.attention.sliding_window", NULL },
	{ "llama4-chunks-hub", "llama4.attention.temperature_scale", NULL },
	{ "llama4-chunks-hub", "llama4.attention.temperature_length", NULL },
	/* sliding_window, shorter than the context */
	{ "mistral-window", "llama.attention.sliding_window", NULL },
	{ "case-mistral-v0.1-long", "llama.attention.sliding_window", NULL },
	{ "sparse-mistral-window", "llama.attention.sliding_window", NULL },
	{ "hub-mistral-7b-v0.1", "llama.attention.sliding_window", NULL },
	/* llama_4_scaling_beta */
	{ "mistral4-grows-hub", "mistral4.attention.temperature_scale", NULL },
	/* norm_topk_prob is false */
	{ "case-qwen3moe-not-normed", "qwen3moe.expert_weights_norm", NULL },
	{ "sparse-qwen3moe", "qwen3moe.expert_weights_norm", NULL },
	/* longrope in a Llama config: the converter writes only its type */
	{ "llama-longrope", "llama.rope.scaling.original_context_length", NULL },
	{ "case-llama-longrope", "llama.rope.scaling.original_context_length", NULL },
	{ "case-dynamic-ntk", NULL, "key type: dynamic is not supported" },
	{ "case-llama-yarn-mscale", NULL, "key mscale_all_dim: 1 is not supported" },
	{ "case-llama-yarn-old-key", NULL, "key attn_factor: not known to architecture llama" },
	{ "case-llama-yarn-not-rounded", NULL, "key truncate: false is not supported" },
	{ "case-qwen2-window", NULL, "key sliding_window: 24 is not supported" },
	{ "case-qwen3moe-dense-layer", NULL, "key mlp_only_layers: 0 is not supported" },
	/* without recurrent layers the converter calls it granitemoe, with the same keys */
	{ "granitehybrid-attends", "*", NULL },
};
static uint8_t met[sizeof ours / sizeof *ours];

/* The row of the case in ours, for the key, or for a refusal where key is NULL; -1: none. */
static int find_ours(const char *name, const char *key)
{
	for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
		if (!strcmp(ours[i].name, name) &&
		    (key ? ours[i].key && (!strcmp(ours[i].key, key) || !strcmp(ours[i].key, "*"))
		         : ours[i].refused != NULL))
			return (int)i;
	return -1;
}

/* The keys of a config. */
struct made {
	struct infer_file none;
	struct hf_dir d;
	struct buf bytes;
	infer_file *f;
};

static int make(struct made *m, const char *dir, const struct json *config, infer_error *err)
{
	m->d.f = &m->none;
	m->d.config = config;
	m->d.path = dir;
	TRY(gguf_write_new(&m->d.keys, "keys", err));
	TRY(hf_keys(&m->d, err));
	TRY(gguf_write_head(m->d.keys, &m->bytes, err));
	return infer_file_open_bytes(&m->f, m->bytes.at, m->bytes.len, "keys", err);
}

static void made_init(struct made *m)
{
	*m = (struct made){ 0 };
	buf_init(&m->bytes, MEM_FILE);
	arena_init(&m->d.arena, MEM_FILE);
	arena_init(&m->d.brief, MEM_FILE);
}

static void made_fini(struct made *m)
{
	infer_file_close(&m->f);
	buf_fini(&m->bytes);
	gguf_write_free(m->d.keys);
	file_drop(&m->none);
	arena_fini(&m->d.brief);
	arena_fini(&m->d.arena);
}

/* --- one key */

static const char *type_of(const struct infer_meta *m, char out[32])
{
	static const char *const names[] = {
		[INFER_META_U32] = "uint32",  [INFER_META_I32] = "int32",
		[INFER_META_F32] = "float32", [INFER_META_BOOL] = "bool",
		[INFER_META_STR] = "string",
	};
	size_t t = (size_t)m->elem_type;

	snprintf(out, 32, "%s%s", m->type == INFER_META_ARR ? "arr:" : "",
	         t < sizeof names / sizeof *names && names[t] ? names[t] : "?");
	return out;
}

static int same_element(const infer_file *f, const struct infer_meta *m, uint64_t i,
                        const struct json *want)
{
	char key[NAME];
	struct infer_str s;
	int64_t n = 0;
	double x = 0;
	int on = -1;

	snprintf(key, sizeof key, "%.*s", (int)m->key.len, m->key.at);
	if (json_equals(want, "-inf"))
		return !infer_meta_elem_f64(f, m, i, &x, NULL) && x == -INFINITY;
	if (json_is_string(want))
		return m->elem_type == INFER_META_STR && !infer_meta_str_at(f, m, i, &s, NULL) &&
		       s.len == json_bytes(want) && !memcmp(s.at, json_str(want), s.len);
	if (json_is_bool(want) && m->type == INFER_META_BOOL)
		return !infer_meta_bool(f, key, &on, NULL, NULL) && on == (want->kind == JSON_TRUE);
	if (m->elem_type == INFER_META_F32)
		return !infer_meta_elem_f64(f, m, i, &x, NULL) &&
		       x == (double)(float)json_double(want);
	return !infer_meta_elem_i64(f, m, i, &n, NULL) &&
	       n == (json_is_bool(want) ? want->kind == JSON_TRUE : want->i);
}

/* True if the file has the key with the type and value of [name, type, value]. */
static int is_there(const infer_file *f, const struct json *key, const char *name)
{
	const struct json *v = json_at(key, 2);
	const struct infer_meta *m = infer_file_meta(f, name);
	char type[32];

	if (!m || !json_equals(json_at(key, 1), type_of(m, type)) ||
	    (json_is_array(v) && json_count(v) != m->count))
		return 0;
	for (uint64_t i = 0; i < m->count; i++)
		if (!same_element(f, m, i, json_is_array(v) ? json_at(v, (size_t)i) : v))
			return 0;
	return 1;
}

/* --- a case */

static int excused(const char *name, const char *key)
{
	int row = find_ours(name, key);

	if (row >= 0)
		met[row] = 1;
	return row >= 0;
}

static void compare_keys(const char *name, const infer_file *f, const struct json *keys)
{
	char key[NAME];

	json_each(v, keys) {
		snprintf(key, sizeof key, "%s", json_str(json_at(v, 0)));
		key[json_bytes(json_at(v, 0))] = 0;
		if (!is_there(f, v, key) && !excused(name, key))
			fail_msg("%s: %s is not what the converter writes", name, key);
	}
	for (uint64_t i = 0; infer_file_meta_at(f, i); i++) {
		struct infer_str k = infer_file_meta_at(f, i)->key;
		int there = 0;
		snprintf(key, sizeof key, "%.*s", (int)k.len, k.at);
		json_each(v, keys)
			there |= json_equals(json_at(v, 0), key);
		if (!there && !excused(name, key))
			fail_msg("%s: the converter does not write %s", name, key);
	}
}

static void compare_factors(const char *name, const struct hf_dir *d, const struct json *want)
{
	if (want)
		assert_int_equal(d->n_made, json_count(want));
	for (int i = 0; i < d->n_made && want; i++) {
		const struct json *list = json_get(want, d->made[i].name);
		assert_int_equal(json_count(list), d->made[i].n);
		for (int64_t k = 0; k < d->made[i].n; k++)
			if (d->made[i].at[k] != (float)json_double(json_at(list, (size_t)k)))
				fail_msg("%s: number %d of %s is %.9g", name, (int)k,
				         d->made[i].name, (double)d->made[i].at[k]);
	}
}

/* That of the line, or a golden config. */
static const struct json *config_of(struct arena *a, const struct json *c, infer_error *err)
{
	static const char *const folders[] = { "tests/golden/hf/config", "tests/golden/encoders" };
	const struct json *v = json_get(c, "config");
	char path[256];

	for (int i = 0; i < 2 && !v; i++) {
		snprintf(path, sizeof path, "%s/%.*s.json", folders[i],
		         (int)json_bytes(json_get(c, "name")), json_str(json_get(c, "name")));
		FILE *f = fopen(path, "rb");
		if (!f)
			continue;
		size_t n = fread(config_text, 1, sizeof config_text, f);
		fclose(f);
		jread(&v, a, config_text, n, path, err);
	}
	return v;
}

static int run_case(const char *line, size_t n)
{
	const struct json *c;
	infer_error err = { 0 };
	struct made m;
	char name[NAME];
	int rc, row;

	made_init(&m);
	rc = jread(&c, &m.d.brief, line, n, "keys.jsonl", &err);
	assert_true(rc == INFER_OK || rc == INFER_ENOMEM);
	if (!rc) {
		snprintf(name, sizeof name, "%.*s", (int)json_bytes(json_get(c, "name")),
		         json_str(json_get(c, "name")));
		const struct json *config = config_of(&m.d.brief, c, &err);
		rc = config ? make(&m, "/nowhere", config, &err) : INFER_ENOMEM;
		row = find_ours(name, NULL);
		if (rc && rc != INFER_ENOMEM) {
			if (row < 0 || !strstr(err.message, ours[row].refused) ||
			    strncmp(err.message, "/nowhere/config.json: ", 22) != 0)
				fail_msg("%s: %s", name, err.message);
			met[row] = 1;
			rc = INFER_OK;
		} else if (!rc) {
			compare_keys(name, m.f, json_get(c, "keys"));
			compare_factors(name, &m.d, json_get(c, "factors"));
		}
	}
	made_fini(&m);
	return rc;
}

static size_t read_golden(void)
{
	FILE *f = fopen("tests/golden/hf/keys.jsonl", "rb");
	size_t n;

	assert_non_null(f);
	n = fread(text, 1, sizeof text - 1, f);
	assert_true(feof(f));
	text[n] = 0;
	fclose(f);
	return n;
}

static void test_converter(void **state)
{
	char *at = text;
	int n = 0;

	(void)state;
	read_golden();
	for (char *line; (line = strsep(&at, "\n"));)
		if (*line) {
			assert_int_equal(run_case(line, strlen(line)), INFER_OK);
			n++;
		}
	assert_true(n >= 193);
	for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
		if (!met[i])
			fail_msg("%s: %s is as in the converter's file", ours[i].name,
			         ours[i].key ? ours[i].key : ours[i].refused);
}

/* A case with defaults of its class, a wrapper and divisors. */
static int case_memory(void)
{
	const char *at;

	read_golden();
	at = strstr(text, "{\"name\":\"gemma3-4b-it\"");
	assert_non_null(at);
	return run_case(at, strcspn(at, "\n"));
}

static int case_memory_factors(void)
{
	const char *at;

	read_golden();
	at = strstr(text, "{\"name\":\"case-llama-3.1\"");
	assert_non_null(at);
	return run_case(at, strcspn(at, "\n"));
}

/* --- what is refused */

#define SIZES \
	"\"hidden_size\":32,\"num_hidden_layers\":2,\"num_attention_heads\":4," \
	"\"intermediate_size\":64"
#define LLAMA "{\"architectures\":[\"LlamaForCausalLM\"],\"model_type\":\"llama\"," SIZES
#define GEMMA \
	"{\"architectures\":[\"Gemma3ForConditionalGeneration\"],\"text_config\":{\"model_type\":" \
	"\"gemma3_text\"," SIZES "}"
#define LONGROPE(more) LLAMA ",\"rope_scaling\":{\"rope_type\":\"longrope\"," more "}}"
#define KINDS(slides, more) \
	"{\"architectures\":[\"Gemma3ForCausalLM\"],\"model_type\":\"gemma3_text\"," SIZES \
	",\"rope_parameters\":{\"full_attention\":{\"rope_theta\":1e6},\"sliding_attention\":" \
	"{" slides "}" more "}}"
static const struct {
	const char *json;
	int code; /* INFER_OK: what the others differ from */
	const char *says;
} bad[] = {
	{ LLAMA "}", INFER_OK, "" },
	{ "{}", INFER_EFORMAT, "key architectures: must be a list" },
	{ "{\"architectures\":\"LlamaForCausalLM\"}", INFER_EFORMAT, "key architectures" },
	{ "{\"architectures\":[]}", INFER_EFORMAT, "key architectures" },
	{ "{\"architectures\":[\"MambaForCausalLM\"]}", INFER_EUNSUP,
	  "key architectures: class MambaForCausalLM is not supported" },
	{ "{\"architectures\":[\"LlamaForCausalLM\"],\"model_type\":\"llama\"}", INFER_EFORMAT,
	  "key num_hidden_layers: missing" },
	{ LLAMA ",\"frobnicate\":1}", INFER_EUNSUP, "key frobnicate: not known" },
	{ LLAMA ",\"max_position_embeddings\":true}", INFER_EFORMAT,
	  "key max_position_embeddings: not a whole number" },
	{ LLAMA ",\"rope_theta\":true}", INFER_EFORMAT, "key rope_theta: not a number" },
	{ LLAMA ",\"normalization_function\":\"layernorm\"}", INFER_EUNSUP,
	  "key normalization_function: layernorm" },
	{ LLAMA ",\"partial_rotary_factor\":0.5}", INFER_EUNSUP,
	  "key partial_rotary_factor: 0.5 is not supported" },
	{ LLAMA
	  ",\"rope_scaling\":{\"rope_type\":\"llama3\",\"factor\":8.0,\"low_freq_factor\":1.0,"
	  "\"original_max_position_embeddings\":32}}",
	  INFER_EFORMAT, "key high_freq_factor: must be a number above 0" },
	{ LLAMA
	  ",\"rope_scaling\":{\"rope_type\":\"llama3\",\"factor\":8.0,\"high_freq_factor\":1.0,"
	  "\"original_max_position_embeddings\":32}}",
	  INFER_EFORMAT, "key low_freq_factor: must be a number above 0" },
	{ LONGROPE("\"long_factor\":[1,2,3,4],\"short_factor\":[1,2,3,4]"), INFER_OK, "" },
	{ LONGROPE("\"long_factor\":[1,2,3],\"short_factor\":[1,2,3,4]"), INFER_EFORMAT,
	  "key long_factor: must be a list of 4 numbers" },
	{ LONGROPE("\"long_factor\":[1,2,3,4],\"short_factor\":[1,0,3,4]"), INFER_EFORMAT,
	  "key short_factor: number 1 must be above 0" },
	{ KINDS("\"rope_type\":\"default\",\"rope_theta\":5e3,\"partial_rotary_factor\":1.0", ""),
	  INFER_OK, "" },
	{ KINDS("\"rope_type\":\"linear\",\"factor\":2.0", ""), INFER_EUNSUP,
	  "key rope_parameters.sliding_attention.rope_type: only another rope_theta" },
	{ KINDS("\"factor\":2.0", ""), INFER_EUNSUP,
	  "key rope_parameters.sliding_attention.factor: only another rope_theta" },
	{ KINDS("\"rope_theta\":1e4", ",\"chunked_attention\":{}"), INFER_EUNSUP,
	  "key rope_parameters.chunked_attention: not supported" },
	{ LLAMA ",\"rope_scaling\":true}", INFER_EFORMAT, "key rope_scaling: must be an object" },
	{ LLAMA ",\"layer_types\":\"full_attention\"}", INFER_EFORMAT,
	  "key layer_types: must be a list" },
	{ LLAMA ",\"tie_word_embeddings\":1}", INFER_EFORMAT,
	  "key tie_word_embeddings: must be true or false" },
	{ LLAMA ",\"partial_rotary_factor\":\"1\"}", INFER_EFORMAT,
	  "key partial_rotary_factor: must be a number" },
	{ LLAMA ",\"id2label\":{\"0\":0}}", INFER_EFORMAT, "key id2label: must have names" },
	{ LLAMA ",\"query_pre_attn_scalar\":1e300}", INFER_EFORMAT,
	  "key query_pre_attn_scalar: must be a number from 1e-6" },
	{ LLAMA ",\"original_max_position_embeddings\":32,\"rope_scaling\":{\"rope_type\":\"yarn\","
	        "\"factor\":2.0,\"original_max_position_embeddings\":64}}",
	  INFER_EUNSUP, "key original_max_position_embeddings: not the same" },
	{ LLAMA ",\"topk_method\":\"best\"}", INFER_EUNSUP, "key topk_method: best" },
	{ GEMMA "}", INFER_OK, "" },
	{ GEMMA ",\"vision_config\":{\"hidden_size\":9},\"frobnicate\":1}", INFER_EUNSUP,
	  "key frobnicate: not known beside text_config" },
	{ "{\"architectures\":[\"Gemma3ForConditionalGeneration\"]}", INFER_EFORMAT,
	  "key text_config: must be an object" },
	{ "{\"architectures\":[\"Gemma3ForConditionalGeneration\"],\"text_config\":{\"model_type\":"
	  "\"gemma2\"}}",
	  INFER_EUNSUP, "key text_config.model_type: gemma2 is not supported" },
};

static void test_bad(void **state)
{
	const struct json *v;
	infer_error err;
	struct made m;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		err = (infer_error){ 0 };
		made_init(&m);
		assert_int_equal(
			jread(&v, &m.d.brief, bad[i].json, strlen(bad[i].json), "config", &err),
			INFER_OK);
		int rc = make(&m, "/nowhere", v, &err);
		if (rc != bad[i].code || !strstr(err.message, bad[i].says) ||
		    (rc && strncmp(err.message, "/nowhere/config.json: ", 22) != 0))
			fail_msg("%s: %d, %s", bad[i].json, rc, err.message);
		made_fini(&m);
	}
}

/* --- tie_word_embeddings */

static const struct {
	const char *more, *head, *data; /* of lm_head; NULL: there is none */
	int code;
	const char *says;
} tied[] = {
	{ ",\"tie_word_embeddings\":false}", "lm_head.weight", "other", INFER_OK, "" },
	{ ",\"tie_word_embeddings\":true}", NULL, NULL, INFER_OK, "" },
	{ ",\"tie_word_embeddings\":true}", "lm_head.weight", "table", INFER_OK, "" },
	{ ",\"tie_word_embeddings\":true}", "lm_head.weight", "other", INFER_EUNSUP,
	  "key tie_word_embeddings: true, but tensor lm_head.weight is not "
	  "model.embed_tokens.weight" },
	{ ",\"tie_word_embeddings\":false}", NULL, NULL, INFER_EFORMAT,
	  "key tie_word_embeddings: false, but there is no tensor lm_head.weight" },
	{ "}", NULL, NULL, INFER_OK, "" },
};

static void test_tied(void **state)
{
	char json[512];

	(void)state;
	for (size_t i = 0; i < sizeof tied / sizeof *tied; i++) {
		struct safetensors_tensor tensors[2] = {
			{ .name = { "model.embed_tokens.weight", 25 },
			  .bytes = 5,
			  .data = (const unsigned char *)"table" },
			{ .name = { tied[i].head, tied[i].head ? strlen(tied[i].head) : 0 },
			  .bytes = 5,
			  .data = (const unsigned char *)tied[i].data },
		};
		infer_error err = { 0 };
		const struct json *v;
		struct made m;

		made_init(&m);
		m.d.raw.at = tensors;
		m.d.raw.n = tied[i].head ? 2 : 1;
		snprintf(json, sizeof json, "%s%s", LLAMA, tied[i].more);
		assert_int_equal(jread(&v, &m.d.brief, json, strlen(json), "config", &err),
		                 INFER_OK);
		int rc = make(&m, "/nowhere", v, &err);
		if (rc != tied[i].code || !strstr(err.message, tied[i].says))
			fail_msg("%s: %d, %s", json, rc, err.message);
		made_fini(&m);
	}
}

/* --- modules.json */

static const struct {
	const char *modules, *pooling;
	int code;
	uint64_t way; /* 0: no key */
	const char *says;
} pools[] = {
	{ NULL, NULL, INFER_OK, 0, "" },
	{ "[]", NULL, INFER_OK, 0, "" },
	{ "{}", NULL, INFER_EFORMAT, 0, "modules.json: must be a JSON list" },
	{ "[{\"path\":\"\",\"type\":\"sentence_transformers.models.Transformer\"},{\"path\":\"P\","
	  "\"type\":\"sentence_transformers.models.Pooling\"},{\"path\":\"2_Normalize\",\"type\":"
	  "\"sentence_transformers.models.Normalize\"}]",
	  "{\"word_embedding_dimension\":32,\"pooling_mode_cls_token\":true,"
	  "\"pooling_mode_mean_tokens\":false}",
	  INFER_OK, 2, "" },
	{ "[{\"path\":\"P\",\"type\":\"x.Pooling\"}]", "{\"pooling_mode_mean_tokens\":true}",
	  INFER_OK, 1, "" },
	{ "[{\"path\":\"P\",\"type\":\"x.Pooling\"}]", "{\"pooling_mode_lasttoken\":true}",
	  INFER_OK, 3, "" },
	{ "[{\"path\":\"P\",\"type\":\"x.Pooling\"}]", "{\"pooling_mode\":\"lasttoken\"}", INFER_OK,
	  3, "" },
	{ "[{\"path\":\"P\",\"type\":\"x.Pooling\"}]", "{\"pooling_mode_max_tokens\":true}",
	  INFER_EUNSUP, 0, "P/config.json: one of mean" },
	{ "[{\"path\":\"P\",\"type\":\"x.Pooling\"}]",
	  "{\"pooling_mode_mean_tokens\":true,\"pooling_mode_cls_token\":true}", INFER_EUNSUP, 0,
	  "P/config.json: one of mean" },
	{ "[{\"path\":\"P\",\"type\":\"x.Pooling\"}]",
	  "{\"pooling_mode_mean_tokens\":true,\"include_prompt\":false}", INFER_EUNSUP, 0,
	  "key include_prompt" },
	{ "[{\"path\":\"P\",\"type\":\"x.Pooling\"}]", "[]", INFER_EFORMAT, 0,
	  "P/config.json: must be a JSON object" },
	{ "[{\"path\":\"Q\",\"type\":\"x.Pooling\"}]", NULL, INFER_EFORMAT, 0,
	  "Q/config.json: missing" },
	{ "[{\"path\":\"../Q\",\"type\":\"x.Pooling\"}]", NULL, INFER_EUNSUP, 0,
	  "key path: ../Q is not a folder" },
	{ "[{\"path\":\"..\",\"type\":\"x.Pooling\"}]", NULL, INFER_EUNSUP, 0,
	  "key path: .. is not a folder" },
	{ "[{\"path\":\"P\",\"type\":\"x.CNN\"}]", NULL, INFER_EUNSUP, 0,
	  "module x.CNN is not supported" },
	{ "[1]", NULL, INFER_EFORMAT, 0, "a module must have a type and a path" },
};

static void put_file(const char *dir, const char *name, const char *content)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", dir, name);
	unlink(path);
	if (!content)
		return;
	f = fopen(path, "wb");
	assert_non_null(f);
	fputs(content, f);
	fclose(f);
}

static void test_pooling(void **state)
{
	char dir[] = "/tmp/infer-test-keys-XXXXXX", folder[64];
	const struct json *v;
	struct made m;
	infer_error err;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(folder, sizeof folder, "%s/P", dir);
	assert_int_equal(mkdir(folder, 0700), 0);
	for (size_t i = 0; i < sizeof pools / sizeof *pools; i++) {
		uint64_t way = 0;
		err = (infer_error){ 0 };
		put_file(dir, "modules.json", pools[i].modules);
		put_file(dir, "P/config.json", pools[i].pooling);
		made_init(&m);
		assert_int_equal(
			jread(&v, &m.d.brief, bad[0].json, strlen(bad[0].json), "config", &err),
			INFER_OK);
		int rc = make(&m, dir, v, &err);
		if (rc != pools[i].code || !strstr(err.message, pools[i].says))
			fail_msg("%s: %d, %s", pools[i].modules, rc, err.message);
		if (!rc)
			assert_int_equal(
				infer_meta_u64(m.f, "llama.pooling_type", &way, NULL, NULL),
				INFER_OK);
		assert_int_equal(way, pools[i].way);
		made_fini(&m);
	}
	put_file(dir, "modules.json", NULL);
	put_file(dir, "P/config.json", NULL);
	rmdir(folder);
	rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_converter),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_pooling),
		cmocka_unit_test(test_tied),
		nth_case(case_memory),
		nth_case(case_memory_factors),
	};
	return nth_group(tests);
}
