/* tests/unit/hf/test_special.c - vocabularies of SentencePiece, special tokens, templates, sampling and
 * model cards of directories: the keys that the public converter writes (scripts/golden-hf-special.py), and what is
 * refused. */
#include "../nth.h"
#include "open.h"

#include <infer/file.h>

static const struct {
	const char *name, *arch;
} cases[] = {
	{ "alone", "llama" },      { "bert-like", "llama" },    { "both", "llama" },
	{ "code", "llama" },       { "files", "llama" },        { "front", "llama" },
	{ "glm", "glm4moe" },      { "glm-dense", "glm4" },     { "level", "llama" },
	{ "pair", "llama" },       { "roberta", "llama" },      { "small", "llama" },
	{ "spm-llama", "llama" },  { "spm-gemma", "gemma2" },   { "spm-phi3", "phi3" },
	{ "spm-prefix", "llama" }, { "spm-phi3-json", "phi3" },
};
enum { CASES = sizeof cases / sizeof *cases };

/* Keys that only we write. */
static int is_ours(const struct infer_meta *m)
{
	static const char *const ours[] = { "tokenizer.infer.", "general.name", "general.type",
		                            "general.quantization_version" };

	for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
		if (m->key.len >= strlen(ours[i]) && !memcmp(m->key.at, ours[i], strlen(ours[i])))
			return 1;
	return 0;
}

/* The converter keeps names of templates in a set, which has no order. */
static int has_order(const struct infer_meta *m)
{
	return m->key.len != 24 || memcmp(m->key.at, "tokenizer.chat_templates", 24);
}

static int same_value(const struct infer_meta *a, const struct infer_meta *b)
{
	const struct file_value *x = file_value(a), *y = file_value(b);

	return a->type == b->type && a->elem_type == b->elem_type && a->count == b->count &&
	       x->bytes == y->bytes && (!has_order(a) || !memcmp(x->at, y->at, x->bytes));
}

/* A case's keys are those of want.gguf, and no others. */
static void compare(const char *name, const char *arch)
{
	char path[256], want_path[320], key[128];
	struct opened o;
	infer_error err = { 0 };
	infer_file *want;
	uint32_t ours = 0;

	snprintf(path, sizeof path, GOLDEN "%s", name);
	snprintf(want_path, sizeof want_path, "%s/want.gguf", path);
	if (open_special(&o, path, arch, &err))
		fail_msg("%s", err.message);
	if (infer_file_open(&want, want_path, &err))
		fail_msg("%s", err.message);
	for (uint32_t i = 0; i < want->meta.n; i++) {
		const struct infer_meta *w = &want->meta.at[i].meta;
		snprintf(key, sizeof key, "%.*s", (int)w->key.len, w->key.at);
		const struct infer_meta *m = file_meta_get(&o.f.meta, key);
		if (!m || !same_value(m, w))
			fail_msg("%s: %s %s", name, key, m ? "differs" : "is missing");
	}
	for (uint32_t i = 0; i < o.f.meta.n; i++)
		if (!infer_file_meta(want, (snprintf(key, sizeof key, "%.*s",
		                                     (int)o.f.meta.at[i].meta.key.len,
		                                     o.f.meta.at[i].meta.key.at),
		                            key))) {
			if (!is_ours(&o.f.meta.at[i].meta))
				fail_msg("%s: %s is not the converter's", name, key);
			ours++;
		}
	assert_true(ours <= 4);
	infer_file_close(&want);
	close_opened(&o);
}

static void test_keys(void **state)
{
	(void)state;
	for (int i = 0; i < CASES; i++)
		compare(cases[i].name, cases[i].arch);
}

/* ---- what is refused ---- */

/* name and text of a file beside a config.json and a tokenizer.json of nothing */
static const struct {
	const char *name, *text;
	int code;
	const char *says;
} texts[] = {
	{ "config.json", "{\"vocab_size\": 0}", INFER_EFORMAT, "vocab_size" },
	{ "config.json", "{\"vocab_size\": 1e9}", INFER_EFORMAT, "vocab_size" },
	{ "config.json", "{\"bos_token_id\": \"1\"}", INFER_EFORMAT,
	  "config.json: bos_token_id must be an integer" },
	{ "config.json", "{\"bos_token_id\": [1]}", INFER_EFORMAT,
	  "bos_token_id must be an integer" },
	{ "config.json", "{\"eos_token_id\": [1, \"2\"]}", INFER_EFORMAT,
	  "config.json: eos_token_id must be an integer or" },
	{ "generation_config.json", "{\"eos_token_id\": {}}", INFER_EFORMAT,
	  "generation_config.json: eos_token_id must be" },
	{ "generation_config.json", "{\"top_k\": 1.5}", INFER_EFORMAT,
	  "generation_config.json: top_k must be an integer" },
	{ "generation_config.json", "{\"top_k\": 4294967296}", INFER_EFORMAT,
	  "top_k must be an integer" },
	{ "generation_config.json", "{\"temperature\": \"warm\"}", INFER_EFORMAT,
	  "temperature must be a number" },
	{ "tokenizer_config.json", "{\"bos_token\": 1}", INFER_EFORMAT,
	  "bos_token must be a string or an object" },
	{ "tokenizer_config.json", "{\"eos_token\": {\"content\": 2}}", INFER_EFORMAT,
	  "eos_token must be a string or" },
	{ "tokenizer_config.json", "{\"add_eos_token\": 1}", INFER_EFORMAT,
	  "add_eos_token must be true or false" },
	{ "tokenizer_config.json", "{\"chat_template\": 1}", INFER_EFORMAT,
	  "chat_template must be a string or an array" },
	{ "tokenizer_config.json", "{\"chat_template\": [{\"name\": \"a\"}]}", INFER_EFORMAT,
	  "an element must have a name and a template" },
	{ "tokenizer_config.json", "{\"chat_template\": [{\"name\": \"\", \"template\": \"\"}]}",
	  INFER_EFORMAT, "must have 1 ... 64 bytes" },
	{ "tokenizer_config.json",
	  "{\"chat_template\": [{\"name\": \"a b\", \"template\": \"\"}, {\"name\": \"a_b\", "
	  "\"template\": \"\"}]}",
	  INFER_EFORMAT, "two chat templates are called a_b" },
	{ "tokenizer_config.json",
	  "{\"chat_template\": [{\"name\": \"default\", \"template\": \"\"}, {\"name\": "
	  "\"default\", \"template\": \"\"}]}",
	  INFER_EFORMAT, "two chat templates are the default" },
	{ "chat_template.json", "[]", INFER_EFORMAT, "chat_template.json: must be a JSON object" },
	{ "chat_template.json", "{\"chat_template\": {}}", INFER_EFORMAT,
	  "chat_template.json: chat_template must be" },
	{ "special_tokens_map.json", "[]", INFER_EFORMAT,
	  "special_tokens_map.json: must be a JSON object" },
	{ "tokenizer.json", "{\"added_tokens\": {}}", INFER_EFORMAT,
	  "added_tokens must be an array" },
	{ "tokenizer.json", "{\"post_processor\": []}", INFER_EFORMAT,
	  "post_processor must be an object" },
	{ "tokenizer.json", "{\"post_processor\": {\"type\": \"Sequence\", \"processors\": {}}}",
	  INFER_EFORMAT, "post_processor must be an object" },
	{ "tokenizer.json", "{\"post_processor\": {\"type\": \"Other\"}}", INFER_EUNSUP,
	  "post_processor of type Other is not supported" },
	{ "tokenizer.json", "{\"post_processor\": {}}", INFER_EUNSUP,
	  "post_processor of type (none)" },
	{ "tokenizer.json",
	  "{\"post_processor\": {\"type\": \"TemplateProcessing\", \"single\": 1}}", INFER_EFORMAT,
	  "single and pair must be arrays" },
};

static void test_texts(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct opened o;
		infer_error err = { 0 };

		put_file("config.json", Q("{}"));
		put_file("tokenizer.json", Q("{\"a\": [\"]\\\"\"], \"added_tokens\": []}"));
		put_file(texts[i].name, texts[i].text, strlen(texts[i].text));
		int rc = open_special(&o, folder, "llama", &err);
		if (rc != texts[i].code || !strstr(err.message, texts[i].says))
			fail_msg("row %zu: %d, %s", i, rc, err.message);
		close_opened(&o);
		drop_file(texts[i].name);
	}
	drop_file("config.json");
	drop_file("tokenizer.json");
}

/* Ids that generation_config.json and config.json list end generation, each once; ids outside the
 * vocabulary are left out. */
static void test_ends(void **state)
{
	static const char generation[] = "{\"eos_token_id\": [7, 3, 7, 99, -1, 4]}",
			  config[] = "{\"vocab_size\": 12, \"eos_token_id\": [4, 5]}";
	struct opened o;
	int64_t id;

	(void)state;
	put_file("config.json", Q(config));
	put_file("generation_config.json", Q(generation));
	put_file("tokenizer.json", Q("{}"));
	assert_int_equal(open_special(&o, folder, "llama", NULL), INFER_OK);
	const struct infer_meta *m = file_meta_get(&o.f.meta, "tokenizer.infer.eos_token_ids");
	static const int64_t want[] = { 3, 4, 5 };
	assert_non_null(m);
	assert_int_equal(m->count, 3);
	for (uint64_t i = 0; i < 3; i++) {
		assert_int_equal(infer_meta_elem_i64(&o.f, m, i, &id, NULL), INFER_OK);
		assert_int_equal(id, want[i]);
	}
	m = file_meta_get(&o.f.meta, "tokenizer.ggml.eos_token_id");
	assert_non_null(m);
	assert_int_equal(infer_meta_elem_i64(&o.f, m, 0, &id, NULL), INFER_OK);
	assert_int_equal(id, 7);
	assert_true(o.d.n_notes > 0);
	close_opened(&o);
	drop_file("config.json");
	drop_file("generation_config.json");
	drop_file("tokenizer.json");
}

/* What generation_config.json recommends and nothing applies is noted. */
static void test_unused(void **state)
{
	static const char text[] = "{\"typical_p\": 0.9, \"num_beams\": 1, \"suppress_tokens\": "
				   "[], \"bad_words_ids\": [[1]], \"min_length\": null}";
	struct opened o;

	(void)state;
	put_file("config.json", Q("{}"));
	put_file("generation_config.json", Q(text));
	put_file("tokenizer.json", Q("{}"));
	assert_int_equal(open_special(&o, folder, "llama", NULL), INFER_OK);
	assert_int_equal(o.d.n_notes, 2);
	assert_string_equal(o.d.notes[0], "generation_config.json: typical_p is not applied");
	assert_string_equal(o.d.notes[1], "generation_config.json: bad_words_ids is not applied");
	close_opened(&o);
	drop_file("config.json");
	drop_file("generation_config.json");
	drop_file("tokenizer.json");
}

/* The name of the model, as the converter writes it. */
static void test_names(void **state)
{
	static const char *const rows[][2] = {
		{ "org/tiny-model-7b-v1.5", "Tiny Model 7b v1.5" },
		{ "Qwen2.5-0.5B-instruct", "Qwen2.5 0.5B Instruct" },
		{ "org/x2y-ABC--def", "X2Y ABC Def" },
		{ "A model of words", "A model of words" },
	};

	(void)state;
	put_file("tokenizer.json", Q("{}"));
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char text[128];
		struct opened o;

		snprintf(text, sizeof text, "{\"_name_or_path\": \"%s\"}", rows[i][0]);
		put_file("config.json", text, strlen(text));
		assert_int_equal(open_special(&o, folder, "llama", NULL), INFER_OK);
		const struct file_value *v = file_value(file_meta_get(&o.f.meta, "general.name"));
		assert_int_equal(v->bytes, 8 + strlen(rows[i][1]));
		assert_memory_equal(v->at + 8, rows[i][1], strlen(rows[i][1]));
		close_opened(&o);
	}
	drop_file("config.json");
	drop_file("tokenizer.json");
}

/* The licence and the name of the model card. */
static void test_card(void **state)
{
	static const struct {
		const char *text, *licence, *name;
	} rows[] = {
		{ "---\nlicense: mit\n---\nlicense: no\n", "mit", NULL },
		{ "---\r\nlanguage:\r\n- en\r\nlicense: 'apache-2.0' # so\r\nmodel_name: My "
		  "model\r\n---\r\n",
		  "apache-2.0", "My model" },
		{ "---\nlicense:\n- mit\n- \"bsd\"\nname: x\n---\n", "mit,bsd", "x" },
		{ "---\nlicense:\n  - mit\ntags: [a]\n---\n", "mit", NULL },
		{ "---\nlicense: [mit]\nname: {a: b}\n---\n", NULL, NULL },
		{ "---\nlicense: \"mit\nname: |\n  x\n---\n", NULL, NULL },
		{ "---\nlicense: m\x01t\n---\n", NULL, NULL },
		{ "---\n---\nlicense: mit\n", NULL, NULL },
		{ "license: mit\n", NULL, NULL },
		{ "---\nlicense", NULL, NULL },
		{ "---\nlicense:", NULL, NULL },
		{ "---\nlicense:\n-", NULL, NULL },
		{ "", NULL, NULL },
	};

	(void)state;
	put_file("config.json", Q("{\"_name_or_path\": \"own\"}"));
	put_file("tokenizer.json", Q("{}"));
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct opened o;
		struct infer_str s = { 0 };

		put_file("README.md", rows[i].text, strlen(rows[i].text));
		assert_int_equal(open_special(&o, folder, "llama", NULL), INFER_OK);
		assert_int_equal(infer_meta_str(&o.f, "general.license", &s, NULL, NULL), INFER_OK);
		if (s.len != (rows[i].licence ? strlen(rows[i].licence) : 0) ||
		    (s.len && memcmp(s.at, rows[i].licence, s.len) != 0))
			fail_msg("row %zu: %.*s", i, (int)s.len, s.at);
		assert_int_equal(infer_meta_str(&o.f, "general.name", &s, NULL, NULL), INFER_OK);
		const char *name = rows[i].name ? rows[i].name : "Own";
		if (s.len != strlen(name) || memcmp(s.at, name, s.len) != 0)
			fail_msg("row %zu: %.*s", i, (int)s.len, s.at);
		close_opened(&o);
	}
	drop_file("config.json");
	drop_file("tokenizer.json");
	drop_file("README.md");
}

/* Every allocation may fail. */
static int case_memory(void)
{
	struct opened o;
	int rc = INFER_OK;

	for (int i = 0; i < 2 && !rc; i++) {
		rc = open_special(&o, i ? GOLDEN "both" : GOLDEN "spm-llama", "llama", NULL);
		close_opened(&o);
	}
	return rc;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keys),
		cmocka_unit_test_setup_teardown(test_texts, make_folder, NULL),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_unused),
		cmocka_unit_test(test_card),
		cmocka_unit_test_setup_teardown(test_names, NULL, drop_folder),
		nth_case(case_memory),
	};

	return nth_group(tests);
}
