/* hf/tokenizer.c - write the keys of a vocabulary that the public converter derives from
 * tokenizer.json.  Other settings are written to our keys tokenizer.infer.* (tok/pipe.h). */
#include "base/err.h"
#include "base/jread.h"
#include "base/jwrite.h"
#include "hf/vocab.h"

#include <stdio.h>
#include <string.h>

#define KEY(x) "tokenizer.ggml." x
#define OWN(x) "tokenizer.infer." x

/* Types of tokens in GGUF. */
enum { NORMAL = 1, UNKNOWN, CONTROL, USER, UNUSED, BYTE };
enum {
	HF_OUTSIDE = 1 << 4 /* flag of tokenizer.infer.added.flags: not in the model's vocabulary */
};

static int is_byte(const char *s, size_t n)
{
	return n == 6 && !memcmp(s, "<0x", 3) && s[5] == '>' &&
	       strchr("0123456789ABCDEFabcdef", s[3]) && strchr("0123456789ABCDEFabcdef", s[4]);
}

static int is_gemma4(const struct hf_vocab *v)
{
	return v->d->arch && !strcmp(v->d->arch->gguf, "gemma4");
}

/* True for control tokens that parsers of answers need, so answers must contain them. */
static int is_shown(const struct hf_piece *p)
{
	static const char *const text[] = { "<|channel>",   "<channel|>",       "<|tool_call>",
		                            "<tool_call|>", "<|tool_response>", "<tool_response|>",
		                            "<|\"|>" };

	for (size_t i = 0; i < sizeof text / sizeof *text; i++)
		if (p->n == strlen(text[i]) && !memcmp(p->s, text[i], p->n))
			return 1;
	return 0;
}

static int token_type(const struct hf_vocab *v, uint32_t id)
{
	const struct hf_piece *p = &v->piece[id];

	if (id >= v->n || !p->s)
		return UNUSED;
	if (v->kind == HF_UNIGRAM && v->unk == (int64_t)id)
		return UNKNOWN;
	if (p->added >= 0 && is_gemma4(v) && is_shown(p))
		return USER;
	if (p->added >= 0)
		return v->added[p->added].flags & HF_SPECIAL || hf_looks_special(p->s, p->n)
		               ? CONTROL
		               : USER;
	return v->bytes && is_byte(p->s, p->n) ? BYTE : NORMAL;
}

/* Append a piece as GGUF writes it. */
static void put_piece(const struct hf_vocab *v, struct buf *b, uint32_t id)
{
	const struct hf_piece *p = &v->piece[id];
	int type = token_type(v, id);
	char pad[32];
	const char *s = id < v->n ? p->s : NULL;
	uint64_t n = s ? p->n : (uint64_t)snprintf(pad, sizeof pad, "[PAD%u]", id);

	s = s ? s : pad;
	if (type == USER && v->kind == HF_BPE && !v->bytes) {
		/* GGUF readers match it in the original text, so U+2581 becomes a space */
		size_t from = b->len;
		buf_put(b, &n, sizeof n);
		for (size_t i = 0; i < n; i++)
			if (n - i >= 3 && !memcmp(s + i, "\xe2\x96\x81", 3)) {
				buf_putc(b, ' ');
				i += 2;
			} else {
				buf_putc(b, s[i]);
			}
		n = b->len - from - sizeof n;
		if (!b->bad)
			memcpy(b->at + from, &n, sizeof n);
		return;
	}
	if (v->kind == HF_WORDPIECE && type != CONTROL) {
		size_t k = v->prefix.len;
		if (k && n >= k && !memcmp(s, v->prefix.at, k)) {
			s += k;
			n -= k;
		} else {
			uint64_t all = n + 3;
			buf_put(b, &all, sizeof all);
			buf_put(b, "\xe2\x96\x81", 3);
			buf_put(b, s, n);
			return;
		}
	}
	buf_put(b, &n, sizeof n);
	buf_put(b, s, n);
}

static int put_vocab_tokens(struct hf_vocab *v, uint32_t n, infer_error *err)
{
	struct buf text, type;

	buf_init(&text, MEM_TOK);
	buf_init(&type, MEM_TOK);
	buf_reserve(&text, (size_t)n * 16);
	buf_reserve(&type, (size_t)n * sizeof(int32_t));
	for (uint32_t id = 0; id < n; id++) {
		int32_t t = token_type(v, id);
		put_piece(v, &text, id);
		buf_put(&type, &t, sizeof t);
	}
	if (!text.bad && !type.bad) {
		gguf_write_array(v->d->keys, KEY("tokens"), INFER_META_STR, n, text.at, text.len);
		gguf_write_array(v->d->keys, KEY("token_type"), INFER_META_I32, n, type.at,
		                 type.len);
	}
	int bad = text.bad || type.bad;
	buf_fini(&text);
	buf_fini(&type);
	return bad ? hf_nomem(v->d, err) : INFER_OK;
}

/* Write the scores of a unigram model. */
static int put_scores(struct hf_vocab *v, uint32_t n, infer_error *err)
{
	struct buf f, d;
	int exact = 1;

	buf_init(&f, MEM_TOK);
	buf_init(&d, MEM_TOK);
	for (uint32_t id = 0; id < n; id++) {
		/* added tokens outside the model's vocabulary have no score */
		int none = id >= v->n_model;
		double x = none ? id < v->n && v->piece[id].s ? 0 : -10000 : v->score[id];
		float y = (float)x;
		exact &= (double)y == x;
		buf_put(&f, &y, sizeof y);
		buf_put(&d, &x, sizeof x);
	}
	if (!f.bad && !d.bad) {
		gguf_write_array(v->d->keys, KEY("scores"), INFER_META_F32, n, f.at, f.len);
		if (!exact)
			gguf_write_array(v->d->keys, OWN("scores"), INFER_META_F64, n, d.at, d.len);
	}
	int bad = f.bad || d.bad;
	buf_fini(&f);
	buf_fini(&d);
	return bad ? hf_nomem(v->d, err) : INFER_OK;
}

/* Write scores that give a SentencePiece reader the order of merges: the rank of the first merge
 * that makes the piece. */
static int put_merge_scores(struct hf_vocab *v, uint32_t n, infer_error *err)
{
	float *score = mem_alloc(MEM_TOK, (size_t)n + 1, sizeof *score);
	const char *at = v->merges.at, *end = at + v->merges.len;
	char both[512];
	float rank = 0;

	if (!score)
		return hf_nomem(v->d, err);
	for (uint32_t id = 0; id < n; id++)
		score[id] = id < v->n && v->piece[id].s && v->piece[id].added < 0 ? -1e6f : 0;
	for (uint64_t len; at < end; at += len, rank++) {
		memcpy(&len, at, sizeof len);
		at += sizeof len;
		const char *space = memchr(at + 1, ' ', len - 1);
		size_t left = (size_t)(space - at);
		if (len > sizeof both)
			continue;
		memcpy(both, at, left);
		memcpy(both + left, space + 1, len - left - 1);
		int32_t id = hf_vocab_find(v, both, len - 1);
		if (id >= 0 && score[id] == -1e6f)
			score[id] = -rank;
	}
	gguf_write_array(v->d->keys, KEY("scores"), INFER_META_F32, n, score, n * sizeof *score);
	mem_free(score);
	return INFER_OK;
}

/* ---- the normaliser */

static int put_base64(const char *s, size_t n, struct buf *out)
{
	uint32_t bits = 0;
	int have = 0;

	while (n && s[n - 1] == '=')
		n--;
	for (size_t i = 0; i < n; i++) {
		char c = s[i];
		int x = c >= 'A' && c <= 'Z'   ? c - 'A'
		        : c >= 'a' && c <= 'z' ? c - 'a' + 26
		        : c >= '0' && c <= '9' ? c - '0' + 52
		        : c == '+'             ? 62
		        : c == '/'             ? 63
		                               : -1;
		if (x < 0)
			return INFER_EFORMAT;
		bits = bits << 6 | (uint32_t)x;
		have += 6;
		if (have >= 8) {
			have -= 8;
			buf_putc(out, (int)(bits >> have & 255));
		}
	}
	return INFER_OK;
}

/* Append a normaliser as JSON to `out`, and the bytes of its charsmap to `map`.  At most one may
 * have a charsmap. */
static int put_normalizer(struct hf_vocab *v, const struct json *o, struct buf *out,
                          struct buf *map, infer_error *err)
{
	const struct json *list = json_get(o, "normalizers"),
			  *bytes = json_get(o, "precompiled_charsmap");

	if (json_equals(json_get(o, "type"), "Sequence") && json_is_array(list)) {
		buf_puts(out, "{\"type\":\"Sequence\",\"normalizers\":[");
		json_each(x, list) {
			if (x != json_first(list))
				buf_putc(out, ',');
			TRY(put_normalizer(v, x, out, map, err));
		}
		buf_puts(out, "]}");
		return INFER_OK;
	}
	if (json_equals(json_get(o, "type"), "Precompiled")) {
		if (map->len)
			return hf_vocab_fail(v, INFER_EUNSUP, err,
			                     "normalizer: two charsmaps are not supported");
		if (!json_is_string(bytes) || put_base64(bytes->s, bytes->n, map))
			return hf_vocab_fail(v, INFER_EFORMAT, err,
			                     "normalizer.precompiled_charsmap must be base64");
		buf_puts(out, "{\"type\":\"Precompiled\"}");
		return INFER_OK;
	}
	struct buf one;
	struct jwrite w;
	buf_init(&one, MEM_TOK);
	jw_init(&w, &one);
	jw_value(&w, NULL, o);
	buf_put(out, one.at, one.len);
	out->bad |= one.bad;
	buf_fini(&one);
	return INFER_OK;
}

static int put_normalizer_keys(struct hf_vocab *v, int plain, infer_error *err)
{
	struct gguf_write *w = v->d->keys;
	struct buf text, map;
	int rc;

	buf_init(&text, MEM_TOK);
	buf_init(&map, MEM_TOK);
	rc = put_normalizer(v, v->norm, &text, &map, err);
	if (!rc && (text.bad || map.bad))
		rc = hf_nomem(v->d, err);
	if (!rc && map.len)
		gguf_write_array(w, KEY("precompiled_charsmap"), INFER_META_U8, map.len, map.at,
		                 map.len);
	if (!rc && !plain)
		gguf_write_str(w, OWN("normalizer"), text.at, text.len);
	buf_fini(&text);
	buf_fini(&map);
	return rc;
}

/* The flags of BERT normalisers in GGUF; -1: not given.  The last normaliser with the flag
 * counts. */
struct bert_flags {
	int lower, strip;
};

static void find_bert_flags(struct bert_flags *f, const struct json *o)
{
	const struct json *lower = json_get(o, "lowercase"), *strip = json_get(o, "strip_accents");

	json_each(x, json_get(o, "normalizers"))
		find_bert_flags(f, x);
	if (json_equals(json_get(o, "type"), "Lowercase"))
		f->lower = 1;
	if (json_equals(json_get(o, "type"), "StripAccents"))
		f->strip = 1;
	if (json_is_bool(lower))
		f->lower = json_is(lower, JSON_TRUE);
	if (json_is_bool(strip))
		f->strip = json_is(strip, JSON_TRUE);
}

static void put_bert_keys(struct gguf_write *w, const struct json *o)
{
	struct bert_flags f = { -1, -1 };

	find_bert_flags(&f, o);
	if (f.lower >= 0)
		gguf_write_bool(w, KEY("normalizer.lowercase"), f.lower);
	if (f.strip >= 0)
		gguf_write_bool(w, KEY("normalizer.strip_accents"), f.strip);
}

/* ---- keys of our own */

static void put_own_text(struct hf_vocab *v, const char *key, struct infer_str s)
{
	if (s.at)
		gguf_write_str(v->d->keys, key, s.at, s.len);
}

static int put_own_added(struct hf_vocab *v, infer_error *err)
{
	struct gguf_write *w = v->d->keys;
	struct buf ids, flags, text;

	buf_init(&ids, MEM_TOK);
	buf_init(&flags, MEM_TOK);
	buf_init(&text, MEM_TOK);
	for (uint32_t i = 0; i < v->n_added; i++) {
		const struct hf_added *a = &v->added[i];
		unsigned char flag = (unsigned char)(a->flags & 15);
		if (hf_vocab_find(v, a->content.at, a->content.len) < 0)
			flag |= HF_OUTSIDE;
		buf_put(&ids, &a->id, sizeof a->id);
		buf_put(&flags, &flag, 1);
		gguf_put_str(&text, a->content.at, a->content.len);
	}
	int bad = ids.bad || flags.bad || text.bad;
	if (!bad && v->n_added) {
		gguf_write_array(w, OWN("added.ids"), INFER_META_I32, v->n_added, ids.at, ids.len);
		gguf_write_array(w, OWN("added.flags"), INFER_META_U8, v->n_added, flags.at,
		                 flags.len);
		gguf_write_array(w, OWN("added.content"), INFER_META_STR, v->n_added, text.at,
		                 text.len);
	}
	buf_fini(&ids);
	buf_fini(&flags);
	buf_fini(&text);
	return bad ? hf_nomem(v->d, err) : INFER_OK;
}

/* Write "model" with its type, which old files lack. */
static int put_own_model(struct hf_vocab *v, infer_error *err)
{
	static const char *const name[] = { "BPE", "Unigram", "WordPiece" };
	struct buf b;

	buf_init(&b, MEM_TOK);
	if (!json_get(v->model, "type")) {
		buf_printf(&b, "{\"type\":\"%s\"%s", name[v->kind],
		           json_count(v->model) ? "," : "");
		buf_put(&b, v->options.at + 1, v->options.len - 1);
	} else {
		buf_put(&b, v->options.at, v->options.len);
	}
	int bad = b.bad;
	if (!bad)
		gguf_write_str(v->d->keys, OWN("model"), b.at, b.len);
	buf_fini(&b);
	return bad ? hf_nomem(v->d, err) : INFER_OK;
}

/* ---- tokens that encoding adds */

/* Append the ids that "special_tokens" gives for a special token in a template. */
static int put_special(struct hf_vocab *v, const struct json *all, const struct json *piece,
                       struct buf *to, infer_error *err)
{
	const struct json *id = json_get(json_get(piece, "SpecialToken"), "id"), *ids = NULL;
	char quoted[FILE_QUOTE];

	json_each(o, all) {
		if (id && o->key_n == json_bytes(id) && !memcmp(o->key, id->s, id->n))
			ids = json_get(o, "ids");
	}
	if (!json_is_string(id) || !json_count(ids))
		return hf_vocab_fail(v, INFER_EFORMAT, err,
		                     "post_processor.special_tokens has no ids for %s",
		                     file_quote(quoted, json_str(id), json_bytes(id)));
	json_each(x, ids) {
		int32_t token =
			json_is(x, JSON_INT) && x->i >= 0 && x->i < v->n ? (int32_t)x->i : -1;
		if (token < 0)
			return hf_vocab_fail(v, INFER_EFORMAT, err,
			                     "post_processor.special_tokens: the ids of %s must be "
			                     "ids of tokens",
			                     file_quote(quoted, json_str(id), json_bytes(id)));
		buf_put(to, &token, sizeof token);
	}
	return INFER_OK;
}

static void put_added_ids(struct hf_vocab *v, const char *key, const struct buf *b)
{
	if (b->len)
		gguf_write_array(v->d->keys, key, INFER_META_I32, b->len / sizeof(int32_t), b->at,
		                 b->len);
}

/* Write a template that GGUF's flags cannot express: several tokens on a side of a text. */
static int put_post_template(struct hf_vocab *v, const struct json *o, infer_error *err)
{
	const struct json *list = json_get(o, "processors"), *single = json_get(o, "single");
	struct buf side[2];
	int rc = INFER_OK, after = 0;

	if (json_equals(json_get(o, "type"), "Sequence"))
		json_each(x, list)
			TRY(put_post_template(v, x, err));
	if (!json_equals(json_get(o, "type"), "TemplateProcessing"))
		return INFER_OK;
	buf_init(&side[0], MEM_TOK);
	buf_init(&side[1], MEM_TOK);
	json_each(x, single) {
		if (json_get(x, "Sequence"))
			after++;
		else if (!rc)
			rc = put_special(v, json_get(o, "special_tokens"), x, &side[after > 0],
			                 err);
	}
	if (!rc && after != 1)
		rc = hf_vocab_fail(v, INFER_EUNSUP, err,
		                   "post_processor.single must have one sequence, not %d", after);
	if (!rc && (side[0].bad || side[1].bad))
		rc = hf_nomem(v->d, err);
	if (!rc && (side[0].len > sizeof(int32_t) || side[1].len > sizeof(int32_t))) {
		put_added_ids(v, OWN("prefix"), &side[0]);
		put_added_ids(v, OWN("suffix"), &side[1]);
	}
	buf_fini(&side[0]);
	buf_fini(&side[1]);
	return rc;
}

/* ---- all of them */

static int put_bpe(struct hf_vocab *v, uint32_t n, infer_error *err)
{
	struct gguf_write *w = v->d->keys;

	if (v->bytes)
		TRY(put_merge_scores(v, n, err));
	gguf_write_array(w, KEY("merges"), INFER_META_STR, v->n_merges, v->merges.at,
	                 v->merges.len);
	return INFER_OK;
}

/* Write the keys that the converter adds for encoders. */
static int put_encoder(struct hf_vocab *v, infer_error *err)
{
	const struct json *config = v->d->text_config ? v->d->text_config : v->d->config;
	int64_t types = 1;

	TRY(jread_i64(config, "type_vocab_size", &types, 0, INT32_MAX, "config.json", err));
	gguf_write_u32(v->d->keys, KEY("token_type_count"), (uint32_t)types);
	return INFER_OK;
}

static int put_unigram(struct hf_vocab *v, uint32_t n, infer_error *err)
{
	struct gguf_write *w = v->d->keys;
	const struct json *clean = json_get(v->d->tokenizer_config, "clean_up_tokenization_spaces"),
			  *prefix = json_get(v->d->tokenizer_config, "add_prefix_space");

	TRY(put_scores(v, n, err));
	gguf_write_bool(w, KEY("add_space_prefix"), !json_is(prefix, JSON_FALSE));
	TRY(put_encoder(v, err));
	gguf_write_bool(w, KEY("remove_extra_whitespaces"), json_is(clean, JSON_TRUE));
	return INFER_OK;
}

static int write_tokenizer_keys(struct hf_vocab *v, infer_error *err)
{
	static const char *const model[] = { "gpt2", "t5", "bert" };
	struct gguf_write *w = v->d->keys;
	int plain;
	const char *pre = hf_form(v, &plain);
	uint32_t n;

	TRY(hf_vocab_size(v->d, v->n, &n, err));
	if (n < v->n)
		return hf_vocab_fail(v, INFER_EFORMAT, err,
		                     "a token has id %u, but vocab_size is %u in config.json",
		                     v->n - 1, n);
	if (n > HF_TOKENS_MAX)
		return hf_fail(v->d, "config.json", INFER_EUNSUP, err,
		               "vocab_size is %u, and more than %d are not supported", n,
		               HF_TOKENS_MAX);
	const char *name = v->kind != HF_BPE || !v->bytes ? model[v->kind]
	                   : is_gemma4(v)                 ? "gemma4"
	                                                  : "llama";
	gguf_write_str(w, KEY("model"), name, strlen(name));
	gguf_write_str(w, KEY("pre"), pre, strcspn(pre, " "));
	TRY(put_vocab_tokens(v, n, err));
	TRY(v->kind == HF_BPE       ? put_bpe(v, n, err)
	    : v->kind == HF_UNIGRAM ? put_unigram(v, n, err)
	                            : put_encoder(v, err));
	TRY(put_post_template(v, v->post, err));
	put_bert_keys(w, v->norm);
	if (v->norm)
		TRY(put_normalizer_keys(v, plain, err));
	if (plain)
		return INFER_OK;
	put_own_text(v, OWN("pre_tokenizer"), v->pre_tokenizer);
	put_own_text(v, OWN("decoder"), v->decoder);
	TRY(put_own_model(v, err));
	return put_own_added(v, err);
}

int hf_tokenizer(struct hf_dir *d, infer_error *err)
{
	struct hf_vocab v = { 0 };
	int rc = hf_vocab_read(&v, d, err);

	if (!rc)
		rc = write_tokenizer_keys(&v, err);
	if (!rc) {
		d->added =
			(struct hf_text){ "tokenizer.json", v.added_tokens.at, v.added_tokens.len };
		d->post_processor = (struct hf_text){ "tokenizer.json", v.post_processor.at,
			                              v.post_processor.len };
	}
	hf_vocab_fini(&v);
	return rc;
}
