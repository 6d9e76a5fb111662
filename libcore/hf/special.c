/* hf/special.c - ids of special tokens, and which of them encoding adds. */
#include "hf/special.h"
#include "base/err.h"

#include <stdlib.h>
#include <string.h>

#define KEY(x) "tokenizer.ggml." x

static const struct {
	const char *text, *id, *key; /* members of tokenizer_config.json and config.json, key of
	                              * GGUF */
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
/* Texts of tokens that the public converter looks up for a class if no file names the token. */
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

/* Return the end of the JSON string at s, or `end`. */
static const char *skip_string(const char *s, const char *end)
{
	for (s++; s < end && *s != '"'; s++)
		if (*s == '\\' && s + 1 < end)
			s++;
	return s < end ? s + 1 : end;
}

static const char *skip_json_space(const char *s, const char *end)
{
	while (s < end && (*s == ' ' || *s == '\t' || *s == '\n' || *s == '\r'))
		s++;
	return s;
}

/* Return the end of the JSON value at s, or `end`.  The value is checked when it is parsed. */
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

/* Find a member of tokenizer.json without parsing the others: the vocabulary may have a million
 * values.  at stays NULL if there is no such member. */
static void find_member(const struct hf_dir *d, const char *name, struct hf_text *out)
{
	const char *s = d->tokenizer.at, *end = s + d->tokenizer.n;
	size_t n = strlen(name);

	*out = (struct hf_text){ .name = "tokenizer.json" };
	if (!s || (s = skip_json_space(s, end)) == end || *s++ != '{')
		return;
	while ((s = skip_json_space(s, end)) < end && *s == '"') {
		const char *key = s + 1, *key_end = skip_string(s, end) - 1;

		s = skip_json_space(key_end + 1, end);
		if (s == end || *s++ != ':')
			return;
		s = skip_json_space(s, end);
		const char *value = s;
		s = skip_value(s, end);
		if ((size_t)(key_end - key) == n && !memcmp(key, name, n)) {
			out->at = value;
			out->n = (size_t)(s - value);
			return;
		}
		s = skip_json_space(s, end);
		if (s == end || *s++ != ',')
			return;
	}
}

int hf_added_tokens(struct hf_dir *d, const struct json **all, infer_error *err)
{
	if (d->tokenizer.at && !d->added.at)
		find_member(d, "added_tokens", &d->added);
	d->added.name = "tokenizer.json";
	TRY(hf_json_read(d, &d->added, all, err));
	if (*all && !json_is_array(*all) && !json_is_null(*all))
		return hf_fail(d, "tokenizer.json", INFER_EFORMAT, err,
		               "added_tokens must be an array");
	return INFER_OK;
}

static int read_parts(struct special *s, infer_error *err)
{
	struct hf_dir *d = s->d;

	if (d->tokenizer.at && !d->post_processor.at)
		find_member(d, "post_processor", &d->post_processor);
	d->post_processor.name = "tokenizer.json";
	return hf_added_tokens(d, &s->added, err);
}

/* Read the texts of special tokens from tokenizer_config.json, else from
 * special_tokens_map.json. */
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

/* Return the id of an added token of tokenizer.json with this text, or -1. */
static int64_t find_added(const struct special *s, const char *at, size_t n)
{
	json_each(v, s->added) {
		const struct json *text = json_get(v, "content"), *id = json_get(v, "id");

		if (json_is_string(text) && text->n == n && !memcmp(text->s, at, n))
			return json_is(id, JSON_INT) ? id->i : -1;
	}
	return -1;
}

/* Return the id of a text in added_tokens_decoder of tokenizer_config.json, or -1. */
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

/* Set an id unless it is set already.  One outside the vocabulary is ignored with a note. */
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

/* Return the member `name`, a token's id, of config.json, else of its text_config. */
static const struct json *find_config_id(const struct hf_dir *d, const char *name)
{
	const struct json *v = json_get(d->config, name);

	return v && !json_is_null(v) ? v : json_get(d->text_config, name);
}

/* Return the text of a special token, or NULL. */
static const struct json *special_text(const struct special *s, int which)
{
	const struct json *t = s->text[which];

	return t && !json_is_string(t) ? json_get(t, "content") : t;
}

static int find_ids(struct special *s, int64_t vocab, infer_error *err)
{
	const struct json *class = json_at(json_get(s->d->config, "architectures"), 0);

	for (int i = 0; i < SPECIAL_IDS; i++) {
		const struct json *t = special_text(s, i);

		if (t)
			TRY(set_id(s, i, find_added(s, t->s, t->n), vocab, err));
	}
	for (int i = 0; i < SPECIAL_IDS; i++) {
		const struct json *v = row[i].id ? find_config_id(s->d, row[i].id) : NULL;

		if (json_is(v, JSON_INT))
			TRY(set_id(s, i, v->i, vocab, err));
		else if (v && !json_is_null(v) && !(i == SPECIAL_EOS && json_is_array(v)))
			return hf_fail(s->d, "config.json", INFER_EFORMAT, err,
			               "%s must be an integer", row[i].id);
	}
	for (int i = SPECIAL_BOS; i <= SPECIAL_EOS && !s->d->tokenizer.at; i++) {
		const struct json *t = special_text(s, i);

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

/* Write the ids of special tokens.  GGUF has one id that ends generation; the others of a list are
 * written to a key of our own, which other readers ignore. */
static int put_special_ids(struct special *s, int64_t vocab, infer_error *err)
{
	struct gguf_write *w = s->d->keys;
	struct buf ids;
	int rc;

	buf_init(&ids, MEM_FILE);
	rc = add_ends(s, "generation_config.json", json_get(s->d->generation, "eos_token_id"),
	              vocab, &ids, err);
	if (!rc)
		rc = add_ends(s, "config.json", find_config_id(s->d, "eos_token_id"), vocab, &ids,
		              err);
	for (int i = 0; i < SPECIAL_IDS && !rc; i++)
		if (s->id[i] >= 0)
			gguf_write_u32(w, row[i].key, (uint32_t)s->id[i]);
	if (ids.len && !rc)
		gguf_write_array(w, "tokenizer.infer.eos_token_ids", INFER_META_I32,
		                 ids.len / sizeof(int32_t), ids.at, ids.len);
	if (ids.bad && !rc)
		rc = hf_nomem(s->d, err);
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
	/* families whose flags the public converter sets by itself */
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

int hf_special(struct hf_dir *d, infer_error *err)
{
	struct special s = { .d = d };
	uint32_t vocab;

	for (int i = 0; i < SPECIAL_IDS; i++)
		s.id[i] = -1;
	TRY(hf_general(d, err));
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
	TRY(put_special_ids(&s, vocab, err));
	TRY(put_adds(&s, vocab, err));
	return hf_templates(d, err);
}
