/* hf/general.c - the keys general.*: name, weight type, and sampling defaults from
 * generation_config.json. */
#include "base/err.h"
#include "hf/packed.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Write the sampling defaults from generation_config.json. */
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

/* Add notes about members of generation_config.json that have an effect, but no key in GGUF. */
static int note_unused(struct hf_dir *d, infer_error *err)
{
	static const struct {
		const char *member;
		double neutral;
	} rows[] = {
		{ "typical_p", 1 },
		{ "epsilon_cutoff", 0 },
		{ "eta_cutoff", 0 },
		{ "no_repeat_ngram_size", 0 },
		{ "encoder_repetition_penalty", 1 },
		{ "encoder_no_repeat_ngram_size", 0 },
		{ "num_beams", 1 },
		{ "penalty_alpha", 0 },
		{ "min_length", 0 },
		{ "min_new_tokens", 0 },
		{ "suppress_tokens", 0 },
		{ "begin_suppress_tokens", 0 },
		{ "bad_words_ids", 0 },
		{ "sequence_bias", 0 },
		{ "forced_bos_token_id", -1 },
		{ "forced_eos_token_id", -1 },
		{ "exponential_decay_length_penalty", 0 },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct json *v = json_get(d->generation, rows[i].member);

		if (!v || json_is_null(v) ||
		    (json_is_number(v) && json_double(v) == rows[i].neutral) ||
		    (v->kind >= JSON_ARRAY && !json_count(v)))
			continue;
		TRY(hf_note(d, err, "generation_config.json: %s is not applied", rows[i].member));
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

/* True if s has letters, all in lower case. */
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

/* Write s as a title: a space for each '-'; words in lower case get a capital at the beginning and
 * after a character that is not a letter. */
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

/* Return the name of the model from the path of a directory.  In the hub's cache the last component
 * is a hash, and the name is taken from models--OWNER--NAME/snapshots/HASH. */
static const char *name_in_path(char *path)
{
	static const char snapshots[] = "/snapshots", models[] = "models--";
	char *last = strrchr(path, '/');

	if (!last)
		return path;
	*last = '\0';
	size_t n = strlen(path), k = sizeof snapshots - 1;
	if (n > k && !strcmp(path + n - k, snapshots)) {
		path[n - k] = '\0';
		char *repository = strrchr(path, '/');
		if (repository && !strncmp(repository + 1, models, sizeof models - 1)) {
			char *name = repository + sizeof models;
			for (char *s; (s = strstr(name, "--"));)
				name = s + 2;
			return name;
		}
	}
	return last + 1;
}

/* Append the title of _name_or_path if it is not a path, else of the directory's name. */
static void find_name(struct hf_dir *d, struct buf *b)
{
	const struct json *v = json_get(d->config, "_name_or_path");
	const char *s = json_str(v), *slash = memchr(s, '/', json_bytes(v));
	size_t n = json_bytes(v);
	char real[PATH_MAX];

	if (slash) {
		n -= (size_t)(slash + 1 - s);
		s = slash + 1;
	}
	if (!n || memchr(s, '/', n) || (slash && *json_str(v) == '.')) {
		if (!realpath(d->path, real))
			snprintf(real, sizeof real, "%s", d->path);
		s = name_in_path(real);
		n = strlen(s);
	}
	if (memchr(s, ' ', n))
		buf_put(b, s, n);
	else
		put_title(b, s, n);
}

/* Write general.name, by default the directory's, and general.license from the model card. */
static int put_card(struct hf_dir *d, infer_error *err)
{
	struct hf_text card;
	struct buf b;

	hf_card_read(d, &card);
	buf_init(&b, MEM_FILE);
	hf_card_value(&card, "name", &b);
	if (!b.len)
		hf_card_value(&card, "model_name", &b);
	if (!b.len)
		find_name(d, &b);
	int bad = b.bad;
	gguf_write_str(d->keys, "general.name", b.len ? b.at : "", b.len);
	buf_clear(&b);
	hf_card_value(&card, "license", &b);
	bad |= b.bad;
	if (b.len)
		gguf_write_str(d->keys, "general.license", b.at, b.len);
	buf_fini(&b);
	return bad || d->brief.bad ? hf_nomem(d, err) : INFER_OK;
}

/* Return general.file_type of the first matrix, or of the type that most quantised weights have;
 * -1: GGUF has no number for it. */
static int find_file_type(const struct safetensors *raw)
{
	static const struct {
		int dtype, file_type;
	} types[] = { { ST_F32, 0 },
		      { ST_F16, 1 },
		      { ST_BF16, 32 },
		      { ST_F8_E4M3, 32 },
		      { ST_F8_E5M2, 32 } };
	static const struct {
		int type, file_type;
	} quantised[] = { { INFER_Q4_0, 2 },  { INFER_Q4_1, 3 },   { INFER_Q8_0, 7 },
		          { INFER_BF16, 32 }, { INFER_MXFP4, 38 }, { INFER_NVFP4, 39 } };
	const struct hf_packed *most = hf_packed_most(raw);

	for (size_t k = 0; k < sizeof quantised / sizeof *quantised && most; k++)
		if (most->type == quantised[k].type)
			return quantised[k].file_type;
	for (uint32_t i = 0; i < raw->n && !most; i++)
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
	               2); /* version of GGUF's block layouts */
}

int hf_general(struct hf_dir *d, infer_error *err)
{
	TRY(put_card(d, err));
	put_type(d);
	hf_packed_keys(d);
	TRY(put_sampling(d, err));
	return note_unused(d, err);
}
