/* tests/unit/hf/test_config.c - config.json and modules.json that are not supported or damaged. */
#include "../nth.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "made.h"

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
	  "key normalization_function: must be rmsnorm, not layernorm" },
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
	  "key frobnicate: not a known member next to text_config" },
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

/* --- any member of any config, with any value */

/* A copy of config in which member number i has the value v; NULL: it is missing. */
static const struct json *replaced(struct arena *a, const struct json *config, size_t i,
                                   const struct json *v)
{
	struct json *all = json_new(a, JSON_OBJECT);
	size_t n = 0;

	json_each(old, config) {
		struct json *one = json_share(a, n++ == i ? v : old);
		if (n - 1 == i && !v)
			continue;
		assert_non_null(one);
		one->key = old->key;
		one->key_n = old->key_n;
		json_append(all, one);
	}
	return all;
}

/* It opens, or is refused in one line. */
static void damage(const struct json *c, size_t i, const struct json *v)
{
	infer_error err = { 0 };
	struct made m;

	made_init(&m);
	const struct json *config = config_of(&m.d.brief, c, &err);
	int rc = make(&m, "/nowhere", replaced(&m.d.brief, config, i, v), &err);
	if (rc && ((rc != INFER_EFORMAT && rc != INFER_EUNSUP) || strchr(err.message, '\n') ||
	           strncmp(err.message, "/nowhere/config.json: ", 22) != 0))
		fail_msg("%.*s: member %zu: %d, %s", (int)json_bytes(json_get(c, "name")),
		         json_str(json_get(c, "name")), i, rc, err.message);
	made_fini(&m);
}

static void test_damaged(void **state)
{
	static const char values[] = "[-1,0,1e308,9223372036854775807,true,\"x\",[],{},[[1]],null]";
	const struct json *all, *c;
	char *at = text;
	struct arena a;
	infer_error err;
	size_t n = 0;

	(void)state;
	arena_init(&a, MEM_FILE);
	read_golden();
	assert_int_equal(jread(&all, &a, values, strlen(values), "values", &err), INFER_OK);
	for (char *line; (line = strsep(&at, "\n"));) {
		if (!*line || n++ % 4)
			continue;
		assert_int_equal(jread(&c, &a, line, strlen(line), "keys.jsonl", &err), INFER_OK);
		size_t members = json_count(config_of(&a, c, &err));
		for (size_t i = 0; i < members; i++) {
			damage(c, i, NULL);
			json_each(v, all)
				damage(c, i, v);
		}
	}
	arena_fini(&a);
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
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_tied),
		cmocka_unit_test(test_pooling),
	};
	return nth_group(tests);
}
