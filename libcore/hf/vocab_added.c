/* hf/vocab_added.c - added tokens of tokenizer.json and tokenizer_config.json. */
#include "base/err.h"
#include "hf/vocab.h"

#include <string.h>

/* Limit in bytes of a token's entry. */
enum { ENTRY_MAX = 1 << 16 };

/* Position of an entry, for messages: file, member and index. */
struct entry {
	struct hf_vocab *v;
	const char *file, *member;
	unsigned at;
	infer_error *err;
};

/* Read the flags and the content of an entry.  The caller sets its id. */
static int read_entry(const struct entry *e, const struct json *o, struct hf_added *a)
{
	static const char *const flag[] = { "lstrip", "rstrip", "single_word", "normalized",
		                            "special" };
	const struct json *content = json_get(o, "content"), *id = json_get(o, "id"),
			  *type = json_get(o, "__type");
	char quoted[FILE_QUOTE];

	json_each(m, o) {
		int known = m == content || m == id || m == type;
		for (unsigned i = 0; i < sizeof flag / sizeof *flag; i++)
			if (m->key_n == strlen(flag[i]) && !memcmp(m->key, flag[i], m->key_n)) {
				known = json_is_bool(m);
				a->flags |= (unsigned)json_is(m, JSON_TRUE) << i;
			}
		if (!known)
			return hf_fail(
				e->v->d, e->file, INFER_EUNSUP, e->err,
				"%s[%u]: the member %s is not supported, or not true or false",
				e->member, e->at, file_quote(quoted, m->key, m->key_n));
	}
	if (!json_bytes(content) || a->id < 0 || a->id >= HF_TOKENS_MAX)
		return hf_fail(e->v->d, e->file, INFER_EFORMAT, e->err,
		               "%s[%u] must have a content and an id of 0 ... %d", e->member, e->at,
		               HF_TOKENS_MAX - 1);
	a->content.at = arena_strndup(&e->v->d->brief, content->s, content->n);
	a->content.len = content->n;
	return a->content.at ? INFER_OK : hf_nomem(e->v->d, e->err);
}

/* Add an added token to the vocabulary.  replace: an entry with the same id and content gets the
 * new flags; otherwise a second entry is an error. */
static int place_added(const struct entry *e, const struct hf_added *a, int replace)
{
	struct hf_vocab *v = e->v;
	int32_t at = hf_vocab_find(v, a->content.at, a->content.len), old = -1;
	uint32_t id = (uint32_t)a->id;
	char quoted[FILE_QUOTE];

	file_quote(quoted, a->content.at, a->content.len);
	if (at >= 0 && (uint32_t)at != id)
		return hf_fail(v->d, e->file, INFER_EFORMAT, e->err,
		               "%s[%u]: %s has id %u, but id %u in model.vocab", e->member, e->at,
		               quoted, id, (uint32_t)at);
	if (id < v->n && v->piece[id].s)
		old = v->piece[id].added;
	if (old >= 0 && replace && v->added[old].content.len == a->content.len &&
	    !memcmp(v->added[old].content.at, a->content.at, a->content.len)) {
		v->added[old].flags = a->flags;
		return INFER_OK;
	}
	if (old >= 0)
		return hf_fail(v->d, e->file, INFER_EFORMAT, e->err,
		               "%s[%u]: two tokens have id %u", e->member, e->at, id);
	if (at < 0)
		TRY(hf_vocab_piece(v, id, a->content, e->member, e->err));
	if (!(v->n_added & (v->n_added - 1))) {
		struct hf_added *to = mem_realloc(
			MEM_TOK, v->added, v->n_added ? 2 * (size_t)v->n_added : 1, sizeof *to);
		if (!to)
			return hf_nomem(e->v->d, e->err);
		v->added = to;
	}
	v->piece[id].added = (int32_t)v->n_added;
	v->added[v->n_added++] = *a;
	return INFER_OK;
}

/* Read "added_tokens": [{"id": 5, "content": ...}, ...], one tree at a time. */
static int read_list(struct hf_vocab *v, infer_error *err)
{
	struct entry e = { v, v->scan.name, "added_tokens", 0, err };
	struct hf_scan s = v->scan;
	struct arena tree;
	int more, rc = INFER_OK;

	if (!v->added_tokens.at)
		return INFER_OK;
	s.at = v->added_tokens.at;
	s.end = s.at + v->added_tokens.len;
	s.member = "added_tokens";
	TRY(hf_scan_take(&s, '[', err));
	arena_init(&tree, MEM_TOK);
	for (; !rc; e.at++) {
		struct hf_added a = { 0 };
		struct infer_str value;
		const struct json *o, *id;
		rc = hf_scan_more(&s, ']', !e.at, &more, err);
		if (rc || !more)
			break;
		rc = hf_scan_value(&s, &value, err);
		if (!rc)
			rc = hf_scan_tree(&s, value, ENTRY_MAX, "added_tokens", &tree, &o, err);
		if (!rc) {
			id = json_get(o, "id");
			a.id = json_is(id, JSON_INT) && id->i >= 0 && id->i < HF_TOKENS_MAX
			               ? (int32_t)id->i
			               : -1;
			rc = read_entry(&e, o, &a);
		}
		if (!rc)
			rc = place_added(&e, &a, 0);
		arena_reset(&tree);
	}
	arena_fini(&tree);
	return rc;
}

/* Parse the id in a key; -1: not an id. */
static int32_t parse_decoder_id(const char *s, size_t n)
{
	int32_t id = 0;

	for (size_t i = 0; i < n; i++) {
		if (s[i] < '0' || s[i] > '9' || id >= HF_TOKENS_MAX)
			return -1;
		id = id * 10 + (s[i] - '0');
	}
	return n ? id : -1;
}

int hf_vocab_added(struct hf_vocab *v, infer_error *err)
{
	static const char key[] = "added_tokens_decoder";
	struct entry e = { v, "tokenizer_config.json", key, 0, err };
	const struct json *more = json_get(v->d->tokenizer_config, key);

	TRY(read_list(v, err));
	if (more && !json_is_null(more) && !json_is_object(more))
		return hf_fail(v->d, e.file, INFER_EFORMAT, err, "%s must be an object", key);
	json_each(o, more) {
		struct hf_added a = { .id = parse_decoder_id(o->key, o->key_n) };
		e.at = a.id < 0 ? 0 : (unsigned)a.id;
		TRY(read_entry(&e, o, &a));
		TRY(place_added(&e, &a, 1));
	}
	return INFER_OK;
}
