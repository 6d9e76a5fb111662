/* hf/special.c - keys that are not of the architecture and not of the vocabulary: ids of special tokens,
 * which of them are added, chat templates, the name, and sampling defaults. */
#include "hf/special.h"
#include "base/err.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY(x) "tokenizer.ggml." x

static const struct {
	const char *text, *id, *key; /* of tokenizer_config.json, of config.json, of GGUF */
} row[SPECIAL_IDS] = {
	[SPECIAL_BOS] = { "bos_token", "bos_token_id", KEY("bos_token_id") },
	[SPECIAL_EOS] = { "eos_token", "eos_token_id", KEY("eos_token_id") },
	[SPECIAL_UNK] = { "unk_token", "unk_token_id", KEY("unknown_token_id") },
	[SPECIAL_SEP] = { "sep_token", "sep_token_id", KEY("seperator_token_id") },
	[SPECIAL_PAD] = { "pad_token", "pad_token_id", KEY("padding_token_id") },
	[SPECIAL_CLS] = { "cls_token", "cls_token_id", NULL },
	[SPECIAL_MASK] = { "mask_token", "mask_token_id", KEY("mask_token_id") },
	[SPECIAL_EOT] = { NULL, NULL, KEY("eot_token_id") },
	[SPECIAL_EOM] = { NULL, NULL, KEY("eom_token_id") },
};
static const struct {
	int which;
	const char *member, *key;
} adds[] = {
	{ SPECIAL_BOS, "add_bos_token", KEY("add_bos_token") },
	{ SPECIAL_EOS, "add_eos_token", KEY("add_eos_token") },
	{ SPECIAL_SEP, "add_sep_token", KEY("add_sep_token") },
};
/* Tokens that the public converter looks up by text for a class, if no file names them. */
static const struct {
	const char *class, *text;
	int which;
} by_class[] = {
	{ "Glm4ForCausalLM", "<|endoftext|>", SPECIAL_EOS },
	{ "Glm4ForCausalLM", "<|user|>", SPECIAL_EOT },
	{ "Glm4ForCausalLM", "<|endoftext|>", SPECIAL_UNK },
	{ "Glm4ForCausalLM", "<|endoftext|>", SPECIAL_BOS },
	{ "Glm4MoeForCausalLM", "[gMASK]", SPECIAL_BOS },
	{ "Glm4MoeForCausalLM", "<|user|>", SPECIAL_EOT },
	{ "Glm4MoeForCausalLM", "<|endoftext|>", SPECIAL_UNK },
	{ "Glm4MoeForCausalLM", "<|observation|>", SPECIAL_EOM },
	{ "Glm4MoeLiteForCausalLM", "[gMASK]", SPECIAL_BOS },
	{ "Glm4MoeLiteForCausalLM", "<|user|>", SPECIAL_EOT },
	{ "Glm4MoeLiteForCausalLM", "<|endoftext|>", SPECIAL_UNK },
	{ "Glm4MoeLiteForCausalLM", "<|observation|>", SPECIAL_EOM },
};

/* The end of the JSON string that begins at s, or `end`. */
static const char *skip_string(const char *s, const char *end)
{
	for (s++; s < end && *s != '"'; s++)
		if (*s == '\\' && s + 1 < end)
			s++;
	return s < end ? s + 1 : end;
}

static const char *skip_space(const char *s, const char *end)
{
	while (s < end && (*s == ' ' || *s == '\t' || *s == '\n' || *s == '\r'))
		s++;
	return s;
}

/* The end of the JSON value at s, or `end`.  The value is checked when it is parsed. */
static const char *skip_value(const char *s, const char *end)
{
	size_t depth = 0;

	while (s < end) {
		if (*s == '"') {
			s = skip_string(s, end);
		} else if (*s == '{' || *s == '[') {
			depth++;
			s++;
		} else if (*s == '}' || *s == ']') {
			if (!depth)
				return s;
			depth--;
			s++;
		} else if (!depth && *s == ',') {
			return s;
		} else {
			s++;
			continue;
		}
		if (!depth)
			return s;
	}
	return end;
}

/* Find a member of the object in tokenizer.json without parsing the others, of which the vocabulary may
 * have a million values.  at stays NULL if it is not there. */
static void find_member(const struct hf_dir *d, const char *name, struct hf_text *out)
{
	const char *s = d->tokenizer.at, *end = s + d->tokenizer.n;
	size_t n = strlen(name);

	*out = (struct hf_text){ .name = "tokenizer.json" };
	if (!s || (s = skip_space(s, end)) == end || *s++ != '{')
		return;
	while ((s = skip_space(s, end)) < end && *s == '"') {
		const char *key = s + 1, *key_end = skip_string(s, end) - 1;

		s = skip_space(key_end + 1, end);
		if (s == end || *s++ != ':')
			return;
		s = skip_space(s, end);
		const char *value = s;
		s = skip_value(s, end);
		if ((size_t)(key_end - key) == n && !memcmp(key, name, n)) {
			out->at = value;
			out->n = (size_t)(s - value);
			return;
		}
		s = skip_space(s, end);
		if (s == end || *s++ != ',')
			return;
	}
}

static int read_parts(struct special *s, infer_error *err)
{
	struct hf_dir *d = s->d;

	if (d->tokenizer.at && !d->added.at)
		find_member(d, "added_tokens", &d->added);
	if (d->tokenizer.at && !d->post_processor.at)
		find_member(d, "post_processor", &d->post_processor);
	d->added.name = d->post_processor.name = "tokenizer.json";
	TRY(hf_json_read(d, &d->added, &s->added, err));
	if (s->added && !json_is_array(s->added) && !json_is_null(s->added))
		return hf_fail(d, "tokenizer.json", INFER_EFORMAT, err,
		               "added_tokens must be an array");
	return INFER_OK;
}

/* The texts of special tokens: of tokenizer_config.json, else of special_tokens_map.json. */
static int read_texts(struct special *s, infer_error *err)
{
	const struct json *map, *cls, *sep;
	struct hf_dir *d = s->d;

	TRY(hf_json_read(d, &d->special_tokens, &map, err));
	if (map && !json_is_object(map))
		return hf_fail(d, d->special_tokens.name, INFER_EFORMAT, err,
		               "must be a JSON object");
	for (int i = 0; i < SPECIAL_IDS; i++) {
		if (!row[i].text)
			continue;
		s->text[i] = json_get(d->tokenizer_config, row[i].text);
		if (!s->text[i])
			s->text[i] = json_get(map, row[i].text);
		if (json_is_null(s->text[i]))
			s->text[i] = NULL;
		if (s->text[i] && !json_is_string(s->text[i]) &&
		    !json_is_string(json_get(s->text[i], "content")))
			return hf_fail(d, "tokenizer_config.json", INFER_EFORMAT, err,
			               "%s must be a string or an object with a content",
			               row[i].text);
	}
	if (!d->tokenizer.at || !d->tokenizer_config)
		return INFER_OK;
	cls = s->text[SPECIAL_CLS];
	sep = s->text[SPECIAL_SEP];
	if (!s->text[SPECIAL_BOS])
		s->text[SPECIAL_BOS] = cls;
	if (!s->text[SPECIAL_EOS])
		s->text[SPECIAL_EOS] = sep;
	return INFER_OK;
}

/* The id of an added token of tokenizer.json with this text, or -1. */
static int64_t find_added(const struct special *s, const char *at, size_t n)
{
	json_each(v, s->added) {
		const struct json *text = json_get(v, "content"), *id = json_get(v, "id");

		if (json_is_string(text) && text->n == n && !memcmp(text->s, at, n))
			return json_is(id, JSON_INT) ? id->i : -1;
	}
	return -1;
}

/* The same by added_tokens_decoder of tokenizer_config.json. */
static int64_t find_decoded(const struct special *s, const char *at, size_t n)
{
	json_each(v, json_get(s->d->tokenizer_config, "added_tokens_decoder")) {
		const struct json *text = json_get(v, "content");
		char id[12] = "";

		if (!json_is_string(text) || text->n != n || memcmp(text->s, at, n) != 0 ||
		    v->key_n >= sizeof id)
			continue;
		memcpy(id, v->key, v->key_n);
		return atoll(id);
	}
	return -1;
}

/* Set an id that no other source has set.  One outside the vocabulary is not one of this model. */
static int set_id(struct special *s, int which, int64_t id, int64_t vocab, infer_error *err)
{
	if (id < 0 || s->id[which] >= 0 || !row[which].key)
		return INFER_OK;
	if (id >= vocab)
		return hf_note(s->d, err, "%s %lld is outside the vocabulary of %lld tokens",
		               row[which].key, (long long)id, (long long)vocab);
	s->id[which] = id;
	return INFER_OK;
}

/* A member of config.json that is the id of a token, or else of its text model. */
static const struct json *config_id(const struct hf_dir *d, const char *name)
{
	const struct json *v = json_get(d->config, name);

	return v && !json_is_null(v) ? v : json_get(d->text_config, name);
}

/* The text of a special token, or NULL. */
static const struct json *text_of(const struct special *s, int which)
{
	const struct json *t = s->text[which];

	return t && !json_is_string(t) ? json_get(t, "content") : t;
}

static int find_ids(struct special *s, int64_t vocab, infer_error *err)
{
	const struct json *class = json_at(json_get(s->d->config, "architectures"), 0);

	for (int i = 0; i < SPECIAL_IDS; i++) {
		const struct json *t = text_of(s, i);

		if (t)
			TRY(set_id(s, i, find_added(s, t->s, t->n), vocab, err));
	}
	for (int i = 0; i < SPECIAL_IDS; i++) {
		const struct json *v = row[i].id ? config_id(s->d, row[i].id) : NULL;

		if (json_is(v, JSON_INT))
			TRY(set_id(s, i, v->i, vocab, err));
		else if (v && !json_is_null(v) && !(i == SPECIAL_EOS && json_is_array(v)))
			return hf_fail(s->d, "config.json", INFER_EFORMAT, err,
			               "%s must be an integer", row[i].id);
	}
	for (int i = SPECIAL_BOS; i <= SPECIAL_EOS && !s->d->tokenizer.at; i++) {
		const struct json *t = text_of(s, i);

		if (t)
			TRY(set_id(s, i, find_decoded(s, t->s, t->n), vocab, err));
	}
	if (s->d->unknown)
		TRY(set_id(s, SPECIAL_UNK, s->d->unknown - 1, vocab, err));
	for (size_t i = 0; i < sizeof by_class / sizeof *by_class; i++)
		if (json_equals(class, by_class[i].class))
			TRY(set_id(s, by_class[i].which,
			           find_added(s, by_class[i].text, strlen(by_class[i].text)), vocab,
			           err));
	return INFER_OK;
}

/* Append the ids of a member eos_token_id, a number or a list, to `ids`. */
static int add_ends(struct special *s, const char *file, const struct json *v, int64_t vocab,
                    struct buf *ids, infer_error *err)
{
	const struct json *one = json_is_array(v) ? json_first(v) : v;

	if (!v || json_is_null(v))
		return INFER_OK;
	for (; one; one = json_is_array(v) ? one->next : NULL) {
		int known = 0;

		if (!json_is(one, JSON_INT))
			return hf_fail(s->d, file, INFER_EFORMAT, err,
			               "eos_token_id must be an integer or an array of integers");
		if (one->i >= vocab) {
			TRY(hf_note(
				s->d, err,
				"%s: eos_token_id %lld is outside the vocabulary of %lld tokens",
				file, (long long)one->i, (long long)vocab));
			continue;
		}
		TRY(set_id(s, SPECIAL_EOS, one->i, vocab, err));
		if (one->i < 0 || one->i == s->id[SPECIAL_EOS])
			continue;
		int32_t id = (int32_t)one->i, old;
		for (size_t i = 0; i + sizeof old <= ids->len; i += sizeof old) {
			memcpy(&old, ids->at + i, sizeof old);
			known |= old == id;
		}
		if (!known)
			buf_put(ids, &id, sizeof id);
	}
	return INFER_OK;
}

/* Write the ids of special tokens.  GGUF has one id that ends generation; the others of a list are in a
 * key of our own, which other readers ignore. */
static int put_ids(struct special *s, int64_t vocab, infer_error *err)
{
	struct gguf_write *w = s->d->keys;
	struct buf ids;
	int rc;

	buf_init(&ids, MEM_FILE);
	rc = add_ends(s, "generation_config.json", json_get(s->d->generation, "eos_token_id"),
	              vocab, &ids, err);
	if (!rc)
		rc = add_ends(s, "config.json", config_id(s->d, "eos_token_id"), vocab, &ids, err);
	for (int i = 0; i < SPECIAL_IDS && !rc; i++)
		if (s->id[i] >= 0)
			gguf_write_u32(w, row[i].key, (uint32_t)s->id[i]);
	if (ids.len && !rc)
		gguf_write_array(w, "tokenizer.infer.eos_token_ids", INFER_META_I32,
		                 ids.len / sizeof(int32_t), ids.at, ids.len);
	if (ids.bad && !rc)
		rc = err_set(err, INFER_ENOMEM, "%s: no memory", file_label(s->d->path));
	buf_fini(&ids);
	return rc;
}

static int put_adds(struct special *s, int64_t vocab, infer_error *err)
{
	const char *arch = s->d->arch->gguf;

	for (size_t i = 0; i < sizeof adds / sizeof *adds; i++) {
		const struct json *v = json_get(s->d->tokenizer_config, adds[i].member);
		enum special_add *add = &s->add[adds[i].which];

		if (v && !json_is_bool(v) && !json_is_null(v))
			return hf_fail(s->d, "tokenizer_config.json", INFER_EFORMAT, err,
			               "%s must be true or false", adds[i].member);
		if (json_is_bool(v) && *add == ADD_UNKNOWN)
			*add = v->kind == JSON_TRUE ? ADD_YES : ADD_NO;
	}
	/* Families for which the public converter decides. */
	if ((!strcmp(arch, "llama") || !strcmp(arch, "granite")) && vocab == 49152)
		s->add[SPECIAL_BOS] = ADD_NO;
	if (!strcmp(arch, "gemma4"))
		s->add[SPECIAL_BOS] = ADD_YES;
	for (size_t i = 0; i < sizeof adds / sizeof *adds; i++) {
		if (!strcmp(arch, "modern-bert") && s->add[adds[i].which] == ADD_UNKNOWN)
			s->add[adds[i].which] = ADD_YES;
		if (s->add[adds[i].which] != ADD_UNKNOWN)
			gguf_write_bool(s->d->keys, adds[i].key, s->add[adds[i].which] == ADD_YES);
	}
	return INFER_OK;
}

/* The sampling that generation_config.json recommends. */
static int put_sampling(struct hf_dir *d, infer_error *err)
{
	static const struct {
		const char *member, *key;
		int whole;
	} n[] = {
		{ "top_k", "top_k", 1 },
		{ "top_p", "top_p", 0 },
		{ "min_p", "min_p", 0 },
		{ "xtc_probability", "xtc_probability", 0 },
		{ "xtc_threshold", "xtc_threshold", 0 },
		{ "temperature", "temp", 0 },
		{ "penalty_last_n", "penalty_last_n", 1 },
		{ "repetition_penalty", "penalty_repeat", 0 },
		{ "mirostat", "mirostat", 1 },
		{ "mirostat_tau", "mirostat_tau", 0 },
		{ "mirostat_eta", "mirostat_eta", 0 },
	};
	char key[64];

	for (size_t i = 0; i < sizeof n / sizeof *n; i++) {
		const struct json *v = json_get(d->generation, n[i].member);

		if (!v || json_is_null(v))
			continue;
		snprintf(key, sizeof key, "general.sampling.%s", n[i].key);
		if (n[i].whole && (v->kind != JSON_INT || v->i < INT32_MIN || v->i > INT32_MAX))
			return hf_fail(d, "generation_config.json", INFER_EFORMAT, err,
			               "%s must be an integer", n[i].member);
		if (!json_is_number(v))
			return hf_fail(d, "generation_config.json", INFER_EFORMAT, err,
			               "%s must be a number", n[i].member);
		if (n[i].whole)
			gguf_write_i32(d->keys, key, (int32_t)v->i);
		else
			gguf_write_f32(d->keys, key, (float)json_double(v));
	}
	return INFER_OK;
}

/* True for a word that is a version or a size: v1.5, 7b. */
static int is_version(const char *s, size_t n)
{
	if (s[0] >= '0' && s[0] <= '9')
		return 1;
	size_t i = 1;
	if (s[0] != 'v' || n < 2)
		return 0;
	for (; i < n && ((s[i] >= '0' && s[i] <= '9') || (s[i] == '.' && i > 1)); i++)
		;
	return i == n && s[n - 1] != '.';
}

/* True if all letters are small, and there is one. */
static int is_lower(const char *s, size_t n)
{
	int small = 0;

	for (size_t i = 0; i < n; i++) {
		if (s[i] >= 'A' && s[i] <= 'Z')
			return 0;
		small |= s[i] >= 'a' && s[i] <= 'z';
	}
	return small;
}

/* Write s as a title: words are separated by a space for each '-', and those of small letters begin
 * with a capital, also after a character that is not a letter. */
static void put_title(struct buf *b, const char *s, size_t n)
{
	for (size_t at = 0, end; at < n; at = end + 1) {
		for (end = at; end < n && s[end] != '-' && s[end] != ' '; end++)
			;
		if (end == at)
			continue;
		if (b->len)
			buf_putc(b, ' ');
		int change = is_lower(s + at, end - at) && !is_version(s + at, end - at);
		for (int letter = 0; at < end; at++) {
			int small = s[at] >= 'a' && s[at] <= 'z';
			buf_putc(b, change && small && !letter ? s[at] - 32 : s[at]);
			letter = small || (unsigned char)s[at] >= 128;
		}
	}
}

/* Write general.name: the title of _name_or_path, if that is the name of a model and not a path, else
 * of the directory. */
static int put_name(struct hf_dir *d, infer_error *err)
{
	const struct json *v = json_get(d->config, "_name_or_path");
	const char *s = json_str(v), *slash = memchr(s, '/', json_bytes(v));
	size_t n = json_bytes(v);
	char real[PATH_MAX];
	struct buf b;
	int bad;

	if (slash) {
		n -= (size_t)(slash + 1 - s);
		s = slash + 1;
	}
	if (!n || memchr(s, '/', n) || (slash && *json_str(v) == '.')) {
		s = realpath(d->path, real) ? real : d->path;
		s = strrchr(s, '/') && strrchr(s, '/')[1] ? strrchr(s, '/') + 1 : s;
		n = strlen(s);
	}
	buf_init(&b, MEM_FILE);
	if (memchr(s, ' ', n))
		buf_put(&b, s, n);
	else
		put_title(&b, s, n);
	gguf_write_str(d->keys, "general.name", b.len ? b.at : "", b.len);
	bad = b.bad;
	buf_fini(&b);
	return bad ? err_set(err, INFER_ENOMEM, "%s: no memory", file_label(d->path)) : INFER_OK;
}

/* general.file_type of the first matrix, or -1: there is none of a type that GGUF has. */
static int find_file_type(const struct safetensors *raw)
{
	static const struct {
		int dtype, file_type;
	} types[] = { { ST_F32, 0 },
		      { ST_F16, 1 },
		      { ST_BF16, 32 },
		      { ST_F8_E4M3, 32 },
		      { ST_F8_E5M2, 32 } };

	for (uint32_t i = 0; i < raw->n; i++)
		for (size_t k = 0; k < sizeof types / sizeof *types && raw->at[i].n_dims > 1; k++)
			if (raw->at[i].dtype == types[k].dtype)
				return types[k].file_type;
	return -1;
}

static void put_type(struct hf_dir *d)
{
	int type = find_file_type(&d->raw);

	gguf_write_str(d->keys, "general.type", "model", 5);
	if (type >= 0)
		gguf_write_u32(d->keys, "general.file_type", (uint32_t)type);
	gguf_write_u32(d->keys, "general.quantization_version",
	               2); /* of blocks, if there are any */
}

int hf_special(struct hf_dir *d, infer_error *err)
{
	struct special s = { .d = d };
	uint32_t vocab;

	for (int i = 0; i < SPECIAL_IDS; i++)
		s.id[i] = -1;
	TRY(put_name(d, err));
	put_type(d);
	TRY(put_sampling(d, err));
	if (!d->tokenizer.at && !d->sentencepiece.at)
		return hf_templates(d, err);
	TRY(hf_vocab_size(d, INT32_MAX, &vocab, err));
	TRY(read_parts(&s, err));
	TRY(read_texts(&s, err));
	if (d->tokenizer.at)
		TRY(special_post(&s, err));
	TRY(find_ids(&s, vocab, err));
	if (!strcmp(d->arch->gguf, "llama") && vocab == 32016) /* CodeLlama */
		TRY(set_id(&s, SPECIAL_EOT, 32010, vocab, err));
	TRY(put_ids(&s, vocab, err));
	TRY(put_adds(&s, vocab, err));
	return hf_templates(d, err);
}
