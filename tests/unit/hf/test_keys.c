/* tests/unit/hf/test_keys.c - config.json gives the keys that the public converter writes: every case of
 * tests/golden/hf/keys.jsonl (scripts/golden-hf-keys.py), every key with its type and value, and the divisors of frequencies.
 * `ours` lists the differences and their reasons. */
#include "../nth.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "made.h"

enum { NAME = 128 };

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

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_converter), nth_case(case_memory),
		                            nth_case(case_memory_factors) };

	return nth_group(tests);
}
