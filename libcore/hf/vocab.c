/* hf/vocab.c - read tokenizer.json, member by member. */
#include "hf/vocab.h"
#include "base/err.h"
#include "base/jread.h"

#include <string.h>

/* Limit in bytes of a member that is parsed into a tree. */
enum { TREE_MAX = 1 << 20 };

int hf_vocab_piece(struct hf_vocab *v, uint64_t id, struct infer_str s, const char *member,
                   infer_error *err)
{
	char quoted[FILE_QUOTE];

	if (id >= HF_TOKENS_MAX)
		return hf_vocab_fail(v, INFER_EUNSUP, err, "%s: %s has id %llu, not 0 ... %d",
		                     member, file_quote(quoted, s.at, s.len),
		                     (unsigned long long)id, HF_TOKENS_MAX - 1);
	if (id >= v->cap) {
		uint32_t cap = v->cap ? v->cap : 1024;
		while (cap <= id)
			cap *= 2;
		struct hf_piece *p = mem_realloc(MEM_TOK, v->piece, cap, sizeof *p);
		if (!p)
			return hf_nomem(v->d, err);
		memset(p + v->cap, 0, (cap - v->cap) * sizeof *p);
		v->piece = p;
		v->cap = cap;
	}
	if (v->piece[id].s)
		return hf_vocab_fail(v, INFER_EFORMAT, err, "%s: two tokens have id %llu", member,
		                     (unsigned long long)id);
	v->piece[id] = (struct hf_piece){ s.at, (uint32_t)s.len, -1 };
	if (id >= v->n)
		v->n = (uint32_t)id + 1;
	return INFER_OK;
}

/* ---- the table of the model's tokens */

/* SLOT_ID: bits of a slot for the id + 1; the other bits are hash bits. */
enum { SLOT_ID = 2 * HF_TOKENS_MAX - 1 };

/* Return the slot of a text, or the empty slot to insert it.  *tag: hash bits for the slot. */
static uint32_t *find_slot(const struct hf_vocab *v, const char *s, size_t n, uint32_t *tag)
{
	uint64_t hash = sip_hash(&v->sip, s, n);
	uint32_t i = (uint32_t)hash & v->mask;

	*tag = (uint32_t)(hash >> 32) & ~(uint32_t)SLOT_ID;
	for (; v->slot[i]; i = (i + 1) & v->mask) {
		const struct hf_piece *p = &v->piece[(v->slot[i] & SLOT_ID) - 1];
		if ((v->slot[i] & ~(uint32_t)SLOT_ID) == *tag && p->n == n && !memcmp(p->s, s, n))
			break;
	}
	return &v->slot[i];
}

/* Allocate a table for n tokens or more, and move the entries of the old one. */
static int grow_table(struct hf_vocab *v, uint32_t n)
{
	uint32_t *old = v->slot, many = v->slot ? v->mask + 1 : 0, size = 1024, tag;

	while (size < 2 * n)
		size *= 2;
	v->slot = mem_zalloc(MEM_TOK, size, sizeof *v->slot);
	if (!v->slot) {
		v->slot = old;
		return INFER_ENOMEM;
	}
	v->mask = size - 1;
	for (uint32_t i = 0; i < many; i++)
		if (old[i]) {
			const struct hf_piece *p = &v->piece[(old[i] & SLOT_ID) - 1];
			uint32_t *to = find_slot(v, p->s, p->n, &tag);
			*to = old[i];
		}
	mem_free(old);
	return INFER_OK;
}

int32_t hf_vocab_find(const struct hf_vocab *v, const char *s, size_t n)
{
	uint32_t tag, at = v->slot ? *find_slot(v, s, n, &tag) : 0;

	return (int32_t)(at & SLOT_ID) - 1;
}

/* Add a token of the model. */
static int add_token(struct hf_vocab *v, uint64_t id, struct infer_str s, infer_error *err)
{
	char quoted[FILE_QUOTE];
	uint32_t tag;

	TRY(hf_vocab_piece(v, id, s, "model.vocab", err));
	if (v->n_model >= v->mask / 2 && grow_table(v, 2 * v->n_model))
		return hf_nomem(v->d, err);
	uint32_t *slot = find_slot(v, s.at, s.len, &tag);
	if (*slot)
		return hf_vocab_fail(v, INFER_EFORMAT, err, "model.vocab: %s is there twice",
		                     file_quote(quoted, s.at, s.len));
	*slot = tag | (uint32_t)(id + 1);
	v->n_model++;
	return INFER_OK;
}

/* Read {"token": id, ...}. */
static int read_vocab_object(struct hf_vocab *v, infer_error *err)
{
	struct hf_scan *s = &v->scan;
	struct infer_str key;
	struct json id;
	char quoted[FILE_QUOTE];
	int more;

	TRY(hf_scan_take(s, '{', err));
	for (int first = 1;; first = 0) {
		TRY(hf_scan_more(s, '}', first, &more, err));
		if (!more)
			return INFER_OK;
		TRY(hf_scan_str(s, &key, err));
		TRY(hf_scan_take(s, ':', err));
		TRY(hf_scan_num(s, &id, err));
		if (id.kind != JSON_INT || id.i < 0)
			return hf_vocab_fail(v, INFER_EFORMAT, err,
			                     "model.vocab: the id of %s must be a whole number",
			                     file_quote(quoted, key.at, key.len));
		TRY(add_token(v, (uint64_t)id.i, key, err));
	}
}

/* Read [["token", score], ...]. */
static int read_vocab_array(struct hf_vocab *v, infer_error *err)
{
	struct hf_scan *s = &v->scan;
	struct infer_str key;
	struct json score;
	uint32_t cap = 0;
	int more;

	TRY(hf_scan_take(s, '[', err));
	for (uint32_t id = 0;; id++) {
		TRY(hf_scan_more(s, ']', !id, &more, err));
		if (!more)
			return INFER_OK;
		TRY(hf_scan_take(s, '[', err));
		TRY(hf_scan_str(s, &key, err));
		TRY(hf_scan_take(s, ',', err));
		TRY(hf_scan_num(s, &score, err));
		TRY(hf_scan_take(s, ']', err));
		TRY(add_token(v, id, key, err));
		if (id == cap) {
			cap = cap ? 2 * cap : 1024;
			double *to = mem_realloc(MEM_TOK, v->score, cap, sizeof *to);
			if (!to)
				return hf_nomem(v->d, err);
			v->score = to;
		}
		v->score[id] = json_double(&score);
	}
}

static int add_merge(struct hf_vocab *v, struct infer_str a, struct infer_str b, infer_error *err)
{
	uint64_t n = a.len + 1 + b.len;

	if (!a.len || !b.len)
		return hf_vocab_fail(v, INFER_EFORMAT, err, "model.merges[%llu] must be a pair",
		                     (unsigned long long)v->n_merges);
	/* GGUF stores a merge as "a b", and readers split it at the first space */
	if (memchr(a.at + 1, ' ', a.len - 1))
		return hf_vocab_fail(v, INFER_EUNSUP, err,
		                     "model.merges[%llu]: a space after the first character of "
		                     "the left part is not supported",
		                     (unsigned long long)v->n_merges);
	buf_put(&v->merges, &n, sizeof n);
	buf_put(&v->merges, a.at, a.len);
	buf_putc(&v->merges, ' ');
	buf_put(&v->merges, b.at, b.len);
	v->n_merges++;
	return v->merges.bad ? hf_nomem(v->d, err) : INFER_OK;
}

/* Read ["a b", ...] or [["a", "b"], ...]. */
static int read_merges(struct hf_vocab *v, infer_error *err)
{
	struct hf_scan *s = &v->scan;
	struct infer_str a, b;
	int more;

	TRY(hf_scan_take(s, '[', err));
	/* an upper bound; pages that are not written take no memory */
	buf_reserve(&v->merges, (size_t)(s->end - s->at));
	for (int first = 1;; first = 0) {
		TRY(hf_scan_more(s, ']', first, &more, err));
		if (!more)
			return INFER_OK;
		if (hf_scan_is(s, '[')) {
			s->at++;
			TRY(hf_scan_str(s, &a, err));
			TRY(hf_scan_take(s, ',', err));
			TRY(hf_scan_str(s, &b, err));
			TRY(hf_scan_take(s, ']', err));
		} else {
			TRY(hf_scan_str(s, &a, err));
			const char *space = a.len ? memchr(a.at, ' ', a.len) : NULL;
			size_t left = space ? (size_t)(space - a.at) : a.len;
			b = (struct infer_str){ a.at + left + 1, space ? a.len - left - 1 : 0 };
			a.len = left;
			if (b.len && memchr(b.at, ' ', b.len))
				b.len = 0; /* not two parts: an error below */
		}
		TRY(add_merge(v, a, b, err));
	}
}

/* Read the members of "model". */
static int read_model(struct hf_vocab *v, infer_error *err)
{
	struct hf_scan *s = &v->scan;
	int more, n = 0;

	s->member = "model";
	TRY(hf_scan_take(s, '{', err));
	buf_putc(&v->options, '{');
	for (int first = 1;; first = 0) {
		struct infer_str key, value;
		TRY(hf_scan_more(s, '}', first, &more, err));
		if (!more)
			break;
		hf_scan_is(s, '"');
		const char *from = s->at;
		TRY(hf_scan_str(s, &key, err));
		TRY(hf_scan_take(s, ':', err));
		int is_vocab = key.len == 5 && !memcmp(key.at, "vocab", 5);
		int is_merges = key.len == 6 && !memcmp(key.at, "merges", 6);
		if ((is_vocab && v->has_vocab++) || (is_merges && v->has_merges++))
			return hf_scan_fail(s, err, "a member is there twice");
		s->member = is_vocab ? "model.vocab" : is_merges ? "model.merges" : "model";
		if (is_vocab) {
			TRY(hf_scan_is(s, '[') ? read_vocab_array(v, err)
			                       : read_vocab_object(v, err));
		} else if (is_merges) {
			TRY(read_merges(v, err));
		} else {
			TRY(hf_scan_value(s, &value, err));
			if (n++)
				buf_putc(&v->options, ',');
			buf_put(&v->options, from, (size_t)(s->at - from));
		}
		s->member = "model";
	}
	s->member = NULL;
	buf_putc(&v->options, '}');
	return v->options.bad ? hf_nomem(v->d, err) : INFER_OK;
}

static int is_null(struct infer_str s) { return s.len == 4 && !memcmp(s.at, "null", 4); }

static int read_tokenizer_members(struct hf_vocab *v, infer_error *err)
{
	const struct {
		const char *name;
		struct infer_str *to;
	} known[] = {
		{ "added_tokens", &v->added_tokens },
		{ "normalizer", &v->normalizer },
		{ "pre_tokenizer", &v->pre_tokenizer },
		{ "post_processor", &v->post_processor },
		{ "decoder", &v->decoder },
		/* settings of batches, without effect on the ids of a text */
		{ "version", NULL },
		{ "truncation", NULL },
		{ "padding", NULL },
		{ "model", NULL },
	};
	enum { KNOWN = sizeof known / sizeof *known, MODEL = KNOWN - 1 };
	struct hf_scan *s = &v->scan;
	unsigned seen = 0;
	int more;

	TRY(hf_scan_take(s, '{', err));
	for (int first = 1;; first = 0) {
		struct infer_str key, value;
		char quoted[FILE_QUOTE];
		unsigned i = 0;
		TRY(hf_scan_more(s, '}', first, &more, err));
		if (!more)
			break;
		TRY(hf_scan_str(s, &key, err));
		TRY(hf_scan_take(s, ':', err));
		while (i < KNOWN &&
		       (strlen(known[i].name) != key.len || memcmp(known[i].name, key.at, key.len)))
			i++;
		if (i == KNOWN || seen >> i & 1)
			return hf_vocab_fail(v, i == KNOWN ? INFER_EUNSUP : INFER_EFORMAT, err,
			                     "the member %s is %s",
			                     file_quote(quoted, key.at, key.len),
			                     i == KNOWN ? "not supported" : "there twice");
		seen |= 1u << i;
		if (i == MODEL) {
			TRY(read_model(v, err));
			continue;
		}
		TRY(hf_scan_value(s, &value, err));
		if (known[i].to && !is_null(value))
			*known[i].to = value;
	}
	if (hf_scan_is(s, 0) || s->at < s->end)
		return hf_scan_fail(s, err, "text after the end");
	if (!v->has_vocab || !v->n)
		return hf_vocab_fail(v, INFER_EFORMAT, err, "model.vocab is %s",
		                     v->has_vocab ? "empty" : "missing");
	return INFER_OK;
}

/* Find the kind of the model and check its members: unknown ones are refused. */
static int read_model_kind(struct hf_vocab *v, infer_error *err)
{
	static const char *const name[] = { "BPE", "Unigram", "WordPiece" };
	const struct json *type = json_get(v->model, "type");
	const struct json *dropout = json_get(v->model, "dropout");
	char quoted[FILE_QUOTE];
	unsigned i = 0;

	/* old files have no type */
	if (!type && v->score)
		i = HF_UNIGRAM;
	else if (!type)
		i = v->has_merges ? HF_BPE : HF_WORDPIECE;
	else
		while (i < 3 && !json_equals(type, name[i]))
			i++;
	if (i == 3)
		return hf_vocab_fail(v, INFER_EUNSUP, err, "model.type %s is not supported",
		                     file_quote(quoted, json_str(type), json_bytes(type)));
	v->kind = (enum hf_model)i;
	if ((v->kind == HF_UNIGRAM) != (v->score != NULL))
		return hf_vocab_fail(
			v, INFER_EFORMAT, err,
			"model.vocab must be an array of pairs for Unigram, else an object");
	if ((v->kind == HF_BPE) != v->has_merges)
		return hf_vocab_fail(v, INFER_EFORMAT, err, "model.merges %s for %s",
		                     v->has_merges ? "is not expected" : "is missing", name[i]);
	if (dropout && !json_is_null(dropout) && json_double(dropout) != 0)
		return hf_vocab_fail(v, INFER_EUNSUP, err, "model.dropout must be 0");
	const struct json *unk = json_get(v->model, "unk_id"),
			  *prefix = json_get(v->model, "continuing_subword_prefix");
	v->bytes = json_is(json_get(v->model, "byte_fallback"), JSON_TRUE);
	v->unk = json_is(unk, JSON_INT) ? unk->i : -1;
	v->prefix = (struct infer_str){ prefix ? json_str(prefix) : "##",
		                        prefix ? json_bytes(prefix) : 2 };
	return INFER_OK;
}

int hf_vocab_read(struct hf_vocab *v, struct hf_dir *d, infer_error *err)
{
	struct infer_str options;

	v->d = d;
	buf_init(&v->options, MEM_TOK);
	buf_init(&v->merges, MEM_TOK);
	sip_draw(&v->sip);
	/* an entry with its merge takes at least 80 bytes of the text */
	if (grow_table(v, (uint32_t)(d->tokenizer.n / 80 % HF_TOKENS_MAX)))
		return hf_nomem(v->d, err);
	TRY(hf_scan_open(&v->scan, d, &d->tokenizer, err));
	TRY(read_tokenizer_members(v, err));
	TRY(hf_vocab_added(v, err));
	options = (struct infer_str){ v->options.at, v->options.len };
	TRY(hf_scan_tree(&v->scan, options, TREE_MAX, "model", &d->brief, &v->model, err));
	TRY(hf_scan_tree(&v->scan, v->normalizer, TREE_MAX, "normalizer", &d->brief, &v->norm,
	                 err));
	TRY(hf_scan_tree(&v->scan, v->pre_tokenizer, TREE_MAX, "pre_tokenizer", &d->brief, &v->pre,
	                 err));
	TRY(hf_scan_tree(&v->scan, v->post_processor, TREE_MAX, "post_processor", &d->brief,
	                 &v->post, err));
	TRY(hf_scan_tree(&v->scan, v->decoder, TREE_MAX, "decoder", &d->brief, &v->decode, err));
	return read_model_kind(v, err);
}

void hf_vocab_fini(struct hf_vocab *v)
{
	buf_fini(&v->options);
	buf_fini(&v->merges);
	mem_free(v->slot);
	mem_free(v->piece);
	mem_free(v->score);
	mem_free(v->added);
}
