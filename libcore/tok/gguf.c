/* tok/gguf.c - read a tokenizer from the tokenizer.* keys of a GGUF file. */
#include "base/err.h"
#include "base/mem.h"
#include "file/file.h"
#include "tok/pipe.h"
#include "tok/tok.h"

#include <stdio.h>
#include <string.h>

#define KEY(x) "tokenizer.ggml." x

/* Tokens that end generation in any file; the first one found from EOT_FROM to EOT_TO is the token
 * that ends a turn. */
static const char *const eog_text[] = {
	"<|eot_id|>",
	"<|im_end|>",
	"<|end|>",
	"<end_of_turn>",
	"<turn|>",
	"<|endoftext|>",
	"<EOT>",
	"_<EOT>",
	"[EOT]",
	"<｜end▁of▁sentence｜>",
	"<end_of_utterance>",
	"<|return|>",
	"<|call|>",
	"<|flush|>",
	"<|calls|>",
	"</s>",
	"<|eom_id|>",
	"[EOS]",
	"<|end_of_text|>",
	"<eos>",
	"<|tool_response>",
	"[e~[",
};
enum { EOT_TEXTS = 11, EOG_TEXTS = sizeof eog_text / sizeof *eog_text };

static const struct {
	const char *key;
	int which;
} id_key[] = {
	{ KEY("bos_token_id"), TOK_BOS },         { KEY("eos_token_id"), TOK_EOS },
	{ KEY("eot_token_id"), TOK_EOT },         { KEY("eom_token_id"), TOK_EOM },
	{ KEY("unknown_token_id"), TOK_UNK },     { KEY("separator_token_id"), TOK_SEP },
	{ KEY("seperator_token_id"), TOK_SEP },   { KEY("padding_token_id"), TOK_PAD },
	{ KEY("mask_token_id"), TOK_MASK },       { KEY("cls_token_id"), TOK_CLS },
	{ KEY("fim_pad_token_id"), TOK_FIM_PAD }, { KEY("fim_rep_token_id"), TOK_FIM_REP },
	{ KEY("fim_sep_token_id"), TOK_FIM_SEP }, { KEY("fim_pre_token_id"), -1 },
	{ KEY("fim_suf_token_id"), -1 },          { KEY("fim_mid_token_id"), -1 },
	{ KEY("prefix_token_id"), -1 },           { KEY("suffix_token_id"), -1 },
	{ KEY("middle_token_id"), -1 },
};

static const char *name_of_file(const infer_file *f) { return file_label(infer_file_path(f)); }

/* Get the array with this key, of `want` elements if that is not 0; *m NULL if it is absent. */
static int get_array(const infer_file *f, const char *key, uint64_t want,
                     const struct infer_meta **m, infer_error *err)
{
	*m = infer_file_meta(f, key);
	if (!*m)
		return INFER_OK;
	if ((*m)->type != INFER_META_ARR)
		return err_set(err, INFER_EFORMAT, "%s: key %s is not an array", name_of_file(f),
		               key);
	if (want && (*m)->count != want)
		return err_set(err, INFER_EFORMAT, "%s: key %s: %llu elements for %llu tokens",
		               name_of_file(f), key, (unsigned long long)(*m)->count,
		               (unsigned long long)want);
	return INFER_OK;
}

static int check_strings(const infer_file *f, const struct infer_meta *m, const char *key,
                         infer_error *err)
{
	if (m->elem_type != INFER_META_STR)
		return err_set(err, INFER_EFORMAT, "%s: key %s is not an array of strings",
		               name_of_file(f), key);
	if (m->count > INT32_MAX)
		return err_set(err, INFER_EUNSUP, "%s: key %s: %llu strings", name_of_file(f), key,
		               (unsigned long long)m->count);
	return INFER_OK;
}

/* Return the end of the bytes of an array of at least one string. */
static const char *end_of_strings(const infer_file *f, const struct infer_meta *m)
{
	struct infer_str s;

	must(!infer_meta_str_at(f, m, m->count - 1, &s, NULL));
	return s.at + s.len;
}

static void next_merge(struct tok_source *src, struct infer_str *s)
{
	infer_meta_next_str(src->meta, &src->cursor, s);
}

/* Find the strings of an array; the caller frees s->at. */
static int read_strings(const infer_file *f, const struct infer_meta *m, const char *key,
                        struct tok_strings *s, infer_error *err)
{
	size_t cursor = 0;
	struct infer_str one;

	TRY(check_strings(f, m, key, err));
	TRY(infer_meta_str_at(f, m, 0, &one, err));
	s->base = one.at;
	s->end = end_of_strings(f, m);
	s->n = (uint32_t)m->count;
	if ((size_t)(s->end - s->base) > UINT32_MAX)
		return err_set(err, INFER_EUNSUP, "%s: key %s: %u strings in %zu bytes",
		               name_of_file(f), key, s->n, (size_t)(s->end - s->base));
	s->at = mem_alloc(MEM_TOK, s->n, sizeof *s->at);
	if (!s->at)
		return err_set(err, INFER_ENOMEM, "%s: key %s: no memory for %u strings",
		               name_of_file(f), key, s->n);
	for (uint32_t i = 0; i < s->n; i++) {
		infer_meta_next_str(m, &cursor, &one);
		s->at[i].len = (uint32_t)one.len;
		s->at[i].at = (uint32_t)(one.at - s->base);
	}
	return INFER_OK;
}

/* Numbers of an array read at a time. */
enum { PART = 256 };

static int set_kind(struct infer_tokenizer *t, const infer_file *f, uint32_t i, int32_t v,
                    infer_error *err)
{
	if (v < 0 || v > TOK_BYTE)
		return err_set(err, INFER_EFORMAT,
		               "%s: key " KEY("token_type") ": token %u has type %d",
		               name_of_file(f), i, v);
	t->kind[i] = v ? (uint8_t)v : TOK_NORMAL; /* 0 is "undefined" in old files */
	return INFER_OK;
}

static int read_kinds(struct infer_tokenizer *t, const infer_file *f, infer_error *err)
{
	const struct infer_meta *m;
	int32_t room[PART];
	const void *at;

	TRY(get_array(f, KEY("token_type"), t->piece.n, &m, err));
	for (uint32_t i = 0; i < t->piece.n; i++) {
		if (m && !(i % PART))
			TRY(infer_meta_array(f, m, INFER_META_I32, i,
			                     t->piece.n - i < PART ? t->piece.n - i : PART, room,
			                     &at, err));
		TRY(set_kind(t, f, i, m ? ((const int32_t *)at)[i % PART] : TOK_NORMAL, err));
		if (!m && t->piece.at[i].len == 6 &&
		    tok_byte_of(t->piece.base + t->piece.at[i].at, 6) >= 0)
			t->kind[i] = TOK_BYTE;
	}
	return INFER_OK;
}

static int read_scores(struct infer_tokenizer *t, const infer_file *f, infer_error *err)
{
	const struct infer_meta *m;
	const void *at;

	TRY(get_array(f, KEY("scores"), t->piece.n, &m, err));
	if (!m)
		return t->model->scored
		               ? err_set(err, INFER_EFORMAT, "%s: key " KEY("scores") " is missing",
		                         name_of_file(f))
		               : INFER_OK;
	t->score = mem_alloc(MEM_TOK, t->piece.n, sizeof *t->score);
	if (!t->score)
		return err_set(err, INFER_ENOMEM, "%s: key " KEY("scores") ": no memory",
		               name_of_file(f));
	TRY(infer_meta_array(f, m, INFER_META_F32, 0, t->piece.n, t->score, &at, err));
	if (at != t->score)
		memcpy(t->score, at, t->piece.n * sizeof *t->score);
	for (uint32_t i = 0; i < t->piece.n; i++)
		if (t->score[i] != t->score[i])
			return err_set(
				err, INFER_EFORMAT,
				"%s: key " KEY("scores") ": the score of token %u is not a number",
				name_of_file(f), i);
	return INFER_OK;
}

static int32_t find_token(const struct infer_tokenizer *t, const char *s)
{
	return tok_find(t, s, strlen(s), s + strlen(s));
}

static int read_special_ids(struct infer_tokenizer *t, const infer_file *f, infer_error *err)
{
	for (int i = 0; i < TOK_IDS; i++)
		t->id[i] = t->base->id[i] < (int64_t)t->piece.n ? t->base->id[i] : -1;
	for (size_t i = 0; i < sizeof id_key / sizeof *id_key; i++) {
		uint64_t v = 0;
		int found;
		TRY(infer_meta_u64(f, id_key[i].key, &v, &found, err));
		if (found && v >= t->piece.n)
			return err_set(err, INFER_EFORMAT,
			               "%s: key %s: %llu is outside the vocabulary of %u tokens",
			               name_of_file(f), id_key[i].key, (unsigned long long)v,
			               t->piece.n);
		if (found && id_key[i].which >= 0)
			t->id[id_key[i].which] = (int32_t)v;
	}
	if (t->id[TOK_CLS] >= 0 && !infer_file_meta(f, KEY("bos_token_id")))
		t->id[TOK_BOS] = t->id[TOK_CLS];
	return INFER_OK;
}

static int read_flags(struct infer_tokenizer *t, const infer_file *f, infer_error *err)
{
	t->add_bos = t->base->add_bos || (t->pre && t->pre->flags & PRETOK_ADD_BOS);
	t->add_eos = t->base->add_eos;
	t->add_sep = t->base->add_sep || (t->pre && t->pre->flags & PRETOK_ADD_SEP);
	t->add_space = t->base->add_space;
	t->squeeze = t->base->squeeze;
	t->lower = t->strip = 1;
	TRY(infer_meta_bool(f, KEY("add_bos_token"), &t->add_bos, NULL, err));
	TRY(infer_meta_bool(f, KEY("add_eos_token"), &t->add_eos, NULL, err));
	TRY(infer_meta_bool(f, KEY("add_sep_token"), &t->add_sep, NULL, err));
	TRY(infer_meta_bool(f, KEY("add_space_prefix"), &t->add_space, NULL, err));
	TRY(infer_meta_bool(f, KEY("remove_extra_whitespaces"), &t->squeeze, NULL, err));
	TRY(infer_meta_bool(f, KEY("normalizer.lowercase"), &t->lower, NULL, err));
	t->strip = t->lower; /* if only one is given, as in BertNormalizer */
	return infer_meta_bool(f, KEY("normalizer.strip_accents"), &t->strip, NULL, err);
}

static void set_flag(struct infer_tokenizer *t, int32_t id, unsigned flag)
{
	if (id >= 0)
		t->flag[id] |= (uint8_t)flag;
}

/* Read more tokens that end generation, from the generation_config.json of a directory. */
static int read_eog_ids(struct infer_tokenizer *t, const infer_file *f, infer_error *err)
{
	static const char key[] = "tokenizer.infer.eos_token_ids";
	const struct infer_meta *m;
	int64_t id;

	TRY(get_array(f, key, 0, &m, err));
	for (uint64_t i = 0; m && i < m->count; i++) {
		TRY(infer_meta_elem_i64(f, m, i, &id, err));
		if (id < 0 || id >= (int64_t)t->piece.n)
			return err_set(err, INFER_EFORMAT,
			               "%s: key %s: %lld is outside the vocabulary of %u tokens",
			               name_of_file(f), key, (long long)id, t->piece.n);
		set_flag(t, (int32_t)id, TOK_EOG);
	}
	return INFER_OK;
}

/* Mark the tokens that end generation, and the control tokens that answers show. */
static void mark_endings(struct infer_tokenizer *t)
{
	static const char *const shown[] = { "<|channel|>", "<|message|>", "<|start|>",
		                             "<|constrain|>" };
	static const int by_id[] = { TOK_EOS,     TOK_EOT,     TOK_EOM,
		                     TOK_FIM_PAD, TOK_FIM_REP, TOK_FIM_SEP };
	int harmony = find_token(t, "<|return|>") >= 0 && find_token(t, "<|call|>") >= 0;

	for (int i = 0; i < EOT_TEXTS && t->id[TOK_EOT] < 0; i++)
		t->id[TOK_EOT] = find_token(t, eog_text[i]);
	for (int i = 0; i < EOG_TEXTS; i++)
		set_flag(t, find_token(t, eog_text[i]), TOK_EOG);
	if (find_token(t, "<|end|>") >= 0 &&
	    (harmony || (find_token(t, "<|calls|>") >= 0 && find_token(t, "<|flush|>") >= 0)))
		t->flag[find_token(t, "<|end|>")] &= (uint8_t)~TOK_EOG;
	if (find_token(t, "</s>") >= 0 && find_token(t, "<|tool_response>") >= 0)
		t->flag[find_token(t, "</s>")] &= (uint8_t)~TOK_EOG;
	for (size_t i = 0; i < sizeof by_id / sizeof *by_id; i++)
		set_flag(t, t->id[by_id[i]], TOK_EOG);
	for (size_t i = 0; harmony && i < sizeof shown / sizeof *shown; i++)
		set_flag(t, find_token(t, shown[i]), TOK_SHOWN);
}

/* Mark added tokens that absorb adjacent white space.  GGUF has no key for this: decide by name. */
static int mark_strips(struct infer_tokenizer *t, const infer_file *f, infer_error *err)
{
	static const char *const keep[] = { "<unk>", "<s>", "<|endoftext|>" };
	struct infer_str name = { 0 };
	int phi3 = 0;

	TRY(infer_meta_str(f, "general.name", &name, NULL, err));
	for (size_t i = 0; i + 4 <= name.len; i++)
		phi3 |= !strncasecmp(name.at + i, "phi3", 4) ||
		        (i + 5 <= name.len && !strncasecmp(name.at + i, "phi-3", 5));
	for (uint32_t i = 0; phi3 && i < t->piece.n; i++)
		if (t->kind[i] == TOK_CONTROL || t->kind[i] == TOK_USER ||
		    t->kind[i] == TOK_UNKNOWN)
			t->flag[i] |= TOK_RSTRIP;
	for (size_t i = 0; phi3 && i < sizeof keep / sizeof *keep; i++)
		if (find_token(t, keep[i]) >= 0)
			t->flag[find_token(t, keep[i])] &= (uint8_t)~TOK_RSTRIP;
	if (!strcmp(t->pre_name, "jina-v2-de") || !strcmp(t->pre_name, "jina-v2-es") ||
	    !strcmp(t->pre_name, "jina-v2-code"))
		set_flag(t, find_token(t, "<mask>"), TOK_LSTRIP);
	return INFER_OK;
}

static int read_tokenizer_model(struct infer_tokenizer *t, const infer_file *f, infer_error *err)
{
	struct infer_str name = { 0 }, pre = { 0 };
	char quoted[FILE_QUOTE];
	int found;

	TRY(infer_meta_str(f, KEY("model"), &name, &found, err));
	if (!found || (name.len == 4 && !memcmp(name.at, "none", 4)) ||
	    (name.len == 8 && !memcmp(name.at, "no_vocab", 8)))
		return err_set(err, INFER_EUNSUP,
		               "%s: there is no tokenizer in this file (key " KEY("model") ")",
		               name_of_file(f));
	t->base = tok_model_find(name.at, name.len);
	if (!t->base)
		return err_set(err, INFER_EUNSUP, "%s: tokenizer model %s is not supported",
		               name_of_file(f), file_quote(quoted, name.at, name.len));
	TRY(pipe_model(f, &t->model, err));
	if (!t->model && infer_file_meta(f, "tokenizer.infer.model"))
		return err_set(err, INFER_EUNSUP,
		               "%s: key tokenizer.infer.model is of no known model",
		               name_of_file(f));
	t->model = t->model ? t->model : t->base;
	TRY(infer_meta_str(f, KEY("pre"), &pre, &found, err));
	if (found)
		snprintf(t->pre_name, sizeof t->pre_name, "%.*s",
		         pre.len < sizeof t->pre_name ? (int)pre.len : (int)sizeof t->pre_name - 1,
		         pre.at);
	if (!t->model->pre)
		return INFER_OK;
	if (!found)
		pre = (struct infer_str){ t->model->pre, strlen(t->model->pre) };
	t->pre = pretok_find(pre.at, pre.len);
	if (!t->pre)
		return err_set(err, INFER_EUNSUP, "%s: pre-tokenizer %s is not supported",
		               name_of_file(f), file_quote(quoted, pre.at, pre.len));
	t->raw = (t->pre->flags & PRETOK_RAW) != 0;
	t->whole = (t->pre->flags & PRETOK_WHOLE) != 0;
	return INFER_OK;
}

static int read_tokenizer(struct infer_tokenizer *t, const infer_file *f, struct tok_source *src,
                          infer_error *err)
{
	const struct infer_meta *m;

	TRY(read_tokenizer_model(t, f, err));
	TRY(get_array(f, KEY("tokens"), 0, &m, err));
	if (!m || !m->count)
		return err_set(err, INFER_EFORMAT, "%s: key " KEY("tokens") " is missing or empty",
		               name_of_file(f));
	TRY(read_strings(f, m, KEY("tokens"), &t->piece, err));
	t->kind = mem_alloc(MEM_TOK, t->piece.n, 1);
	t->flag = mem_zalloc(MEM_TOK, t->piece.n, 1);
	if (!t->kind || !t->flag)
		return err_set(err, INFER_ENOMEM, "%s: no memory for %u tokens", name_of_file(f),
		               t->piece.n);
	TRY(read_kinds(t, f, err));
	TRY(read_scores(t, f, err));
	TRY(read_special_ids(t, f, err));
	TRY(read_flags(t, f, err));
	TRY(pipe_open(t, f, err));
	TRY(get_array(f, KEY("merges"), 0, &m, err));
	if (!m && t->model->pre)
		return err_set(err, INFER_EFORMAT, "%s: key " KEY("merges") " is missing",
		               name_of_file(f));
	if (m && t->model->pre)
		TRY(check_strings(f, m, KEY("merges"), err));
	src->n_merges = m ? (uint32_t)m->count : 0;
	src->meta = m;
	src->merges_end =
		m && m->count && m->elem_type == INFER_META_STR ? end_of_strings(f, m) : NULL;
	src->next_merge = next_merge;
	TRY(get_array(f, KEY("precompiled_charsmap"), 0, &m, err));
	if (m && m->elem_type != INFER_META_U8 && m->elem_type != INFER_META_I8)
		return err_set(err, INFER_EFORMAT,
		               "%s: key " KEY("precompiled_charsmap") " is no array of bytes",
		               name_of_file(f));
	if (m)
		TRY(infer_meta_bytes(f, m, &src->charsmap, &src->charsmap_bytes, err));
	src->name = name_of_file(f);
	TRY(tok_build(t, src, err));
	mark_endings(t);
	TRY(read_eog_ids(t, f, err));
	TRY(mark_strips(t, f, err));
	return tok_settle(t) ? err_set(err, INFER_ENOMEM, "%s: no memory for %u tokens",
	                               name_of_file(f), t->piece.n)
	                     : INFER_OK;
}

int infer_tokenizer_open(infer_tokenizer **out, const infer_file *file, infer_error *err)
{
	struct tok_source src = { 0 };
	struct infer_tokenizer *t = *out = mem_zalloc(MEM_TOK, 1, sizeof *t);
	int rc;

	if (!t)
		return err_set(err, INFER_ENOMEM, "%s: no memory for the tokenizer",
		               name_of_file(file));
	rc = read_tokenizer(t, file, &src, err);
	if (rc)
		infer_tokenizer_close(out);
	return rc;
}
