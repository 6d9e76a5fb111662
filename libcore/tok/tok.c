/* tok/tok.c - build a tokenizer's tables, and encode: added tokens first, then the text between
 * them by the kind of vocabulary. */
#include "tok/again.h"
#include "tok/key.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/sip.h"
#include "tok/merge.h"
#include "tok/pipe.h"

#include <string.h>

#define MODEL(x) extern const struct tok_model tok_##x;
#include "tok/model_list.h"
#undef MODEL

const struct tok_model *tok_model_find(const char *name, size_t n)
{
	static const struct tok_model *const list[] = {
#define MODEL(x) &tok_##x,
#include "tok/model_list.h"
#undef MODEL
	};

	for (size_t i = 0; i < sizeof list / sizeof *list; i++)
		if (strlen(list[i]->gguf) == n && !memcmp(list[i]->gguf, name, n))
			return list[i];
	return NULL;
}

static int hex_digit(unsigned char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	                              : -1;
}

int tok_byte_of(const char *s, size_t n)
{
	if (n != 6 || memcmp(s, "<0x", 3) || s[5] != '>' || hex_digit((unsigned char)s[3]) < 0 ||
	    hex_digit((unsigned char)s[4]) < 0)
		return -1;
	return hex_digit((unsigned char)s[3]) * 16 + hex_digit((unsigned char)s[4]);
}

/* Build the texts of all tokens.  No text is longer than its piece. */
static int build_text(struct infer_tokenizer *t, const char *name, infer_error *err)
{
	uint64_t bytes = 0;
	uint32_t at = 0;

	for (uint32_t i = 0; i < t->piece.n; i++)
		bytes += t->piece.at[i].len;
	if (bytes > UINT32_MAX)
		return err_set(err, INFER_EUNSUP, "%s: key tokenizer.ggml.tokens: %llu bytes", name,
		               (unsigned long long)bytes);
	t->text = mem_alloc(MEM_TOK, bytes + 8, 1);
	t->text_at = mem_alloc(MEM_TOK, (size_t)t->piece.n + 1, sizeof *t->text_at);
	if (!t->text || !t->text_at)
		return err_set(err, INFER_ENOMEM, "%s: no memory for %u tokens", name, t->piece.n);
	for (uint32_t i = 0; i < t->piece.n; i++) {
		const char *s = t->piece.base + t->piece.at[i].at;
		uint32_t n = t->piece.at[i].len;
		t->text_at[i] = at;
		if (n > t->max_len)
			t->max_len = n;
		if (t->model->longest && n > t->model->longest)
			return err_set(err, INFER_EUNSUP,
			               "%s: key tokenizer.ggml.tokens: token %u has %u bytes; at "
			               "most %u are supported",
			               name, i, n, t->model->longest);
		if (t->kind[i] == TOK_BYTE) {
			int b = tok_byte_of(s, n);
			if (b < 0)
				return err_set(err, INFER_EFORMAT,
				               "%s: key tokenizer.ggml.tokens: token %u is of "
				               "the byte type, so it must be "
				               "<0x00> ... <0xFF>",
				               name, i);
			t->byte_id[b] = (int32_t)i;
			t->text[at++] = (char)b;
		} else if (t->kind[i] == TOK_NORMAL || t->kind[i] == TOK_UNUSED ||
		           (t->kind[i] == TOK_USER && t->pipe && t->raw)) {
			at += (uint32_t)t->model->text(t, s, n, t->text + at);
		} else {
			memcpy(t->text + at, s, n);
			at += n;
		}
	}
	t->text_at[t->piece.n] = at;
	return INFER_OK;
}

int tok_build(struct infer_tokenizer *t, struct tok_source *src, infer_error *err)
{
	struct sip_key key[2];

	sip_draw(&key[0]);
	sip_draw(&key[1]);
	t->secret[0] = key[0].a;
	t->secret[1] = key[0].b | 1;
	t->secret[2] = key[1].a | 1;
	memset(t->byte_id, -1, sizeof t->byte_id);
	TRY(build_text(t, src->name, err));
	if (tok_map_new(&t->map, t->piece.n))
		return err_set(err, INFER_ENOMEM, "%s: no memory for %u tokens", src->name,
		               t->piece.n);
	t->duplicates = tok_map_fill(&t->map, &t->piece, t->secret);
	return t->model->open(t, src, err);
}

/* Return the unknown token, or -1 if it has another meaning: in files of byte-level BPE it is the
 * end of text, because the key is required. */
static int32_t find_unknown(const struct infer_tokenizer *t)
{
	static const int other[] = {
		TOK_BOS, TOK_EOS, TOK_EOT, TOK_EOM, TOK_SEP, TOK_MASK, TOK_CLS
	};
	int32_t id = t->id[TOK_UNK];

	if (id < 0 || t->flag[id] & TOK_EOG || (t->pre && t->kind[id] == TOK_CONTROL))
		return -1;
	for (size_t i = 0; i < sizeof other / sizeof *other; i++)
		if (t->id[other[i]] == id)
			return -1;
	return id;
}

int tok_settle(struct infer_tokenizer *t)
{
	t->unk = find_unknown(t);
	for (uint32_t i = 0; i < t->piece.n; i++)
		if (t->flag[i] & TOK_EOG && t->kind[i] != TOK_CONTROL && t->kind[i] != TOK_UNKNOWN)
			t->ends_in_text = 1;
	return t->pipe ? pipe_settle(t) : tok_added_new(&t->added, t);
}

void infer_tokenizer_close(infer_tokenizer **out)
{
	struct infer_tokenizer *t = *out;

	if (!t)
		return;
	if (t->model)
		t->model->close(t);
	tok_added_free(&t->added);
	pipe_free(t->pipe);
	mem_free(t->map.slot);
	mem_free(t->text);
	mem_free(t->text_at);
	mem_free(t->piece.at);
	mem_free(t->kind);
	mem_free(t->flag);
	mem_free(t->score);
	mem_free(t->around);
	mem_free(t);
	*out = NULL;
}

void tok_push(struct tok_ids *ids, int32_t id)
{
	if (ids->n == ids->cap && !ids->bad) {
		size_t cap = ids->cap ? 2 * ids->cap : 32;
		int32_t *at = mem_realloc(MEM_TOK, ids->at, cap, sizeof *at);
		ids->bad = !at;
		if (at) {
			ids->at = at;
			ids->cap = cap;
		}
	}
	if (!ids->bad)
		ids->at[ids->n++] = id;
}

void tok_fallback(struct tok_run *r, const char *s, size_t n)
{
	const struct infer_tokenizer *t = r->t;

	if (t->pipe) {
		pipe_fallback(r, s, n);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		int32_t id = tok_byte(r, (unsigned char)s[i]);
		if (id >= 0) {
			tok_push(&r->ids, id);
		} else if (t->unk < 0) {
			/* some byte-level vocabularies lack the bytes that UTF-8 never uses:
			 * replace them by U+FFFD */
			for (int k = 0; k < 3; k++)
				if ((id = tok_byte(r, "\xef\xbf\xbd"[k] & 255)) >= 0)
					tok_push(&r->ids, id);
				else
					r->lost = 1;
			r->lost_byte = (unsigned char)s[i];
		} else if (r->unk_end !=
		           r->ids.n) { /* one unknown token covers a whole run of unknown bytes */
			tok_push(&r->ids, t->unk);
			r->unk_end = r->ids.n;
		}
	}
}

int tok_word_get(struct tok_run *r, const char *s, size_t n, struct tok_word **slot)
{
	*slot = NULL;
	if (!r->word || n > sizeof r->word->key)
		return 0;
	struct tok_key k;
	tok_key(r->t->secret, &k, s, n, r->end);
	struct tok_word *w = &r->word[k.hash & r->word_mask];
	if (!w->n || w->hash != k.hash || w->len != n || memcmp(w->key, s, n)) {
		*slot = w;
		w->hash = k.hash;
		w->n = 0;
		return 0;
	}
	for (int i = 0; i < w->n; i++)
		tok_push(&r->ids, w->id[i]);
	return 1;
}

void tok_word_put(struct tok_run *r, struct tok_word *slot, const char *s, size_t n, size_t from)
{
	size_t k = r->ids.n - from;

	/* do not cache words with unknown tokens, which may be fused with the token before */
	if (!slot || r->ids.bad || !k || k > sizeof slot->id / sizeof *slot->id ||
	    (r->unk_end != SIZE_MAX && r->unk_end >= from))
		return;
	slot->len = (uint8_t)n;
	slot->n = (uint8_t)k;
	memcpy(slot->key, s, n);
	memcpy(slot->id, r->ids.at + from, k * sizeof *slot->id);
}

/* Encode the text between added tokens. */
static int encode_between(struct tok_run *r, const char *s, size_t n, const unsigned char *content,
                          int first, infer_error *err)
{
	(void)first;
	r->no_end = content && r->t->ends_in_text && memchr(content, 1, n);
	return r->t->model->encode(r, s, n, err);
}

static void new_word_cache(struct tok_run *r, size_t n)
{
	uint32_t lines = 64;

	if (n < 512)
		return;
	while (lines < 32768 && lines < n / 16)
		lines *= 2;
	/* without memory for this cache, encoding works without it */
	r->word = mem_zalloc(MEM_TOK, lines, sizeof *r->word);
	r->word_mask = lines - 1;
}

int infer_encode(const infer_tokenizer *t, const char *text, size_t n, uint32_t flags,
                 int32_t **ids, size_t *n_ids, infer_error *err)
{
	return tok_encode(t, text, n, NULL, flags, ids, n_ids, err);
}

/* Free everything except the ids. */
static void free_run(struct tok_run *r)
{
	mem_free(r->word);
	mem_free(r->left);
	mem_free(r->added.at);
	mem_free(r->part);
	merge_free(r->merge);
	buf_fini(&r->text);
	pipe_run_free(r->pipe);
}

static void push_if(struct tok_ids *ids, int on, int32_t id)
{
	if (on && id >= 0)
		tok_push(ids, id);
}

/* Append the tokens before a text. */
static void push_before(struct tok_ids *ids, const struct infer_tokenizer *t)
{
	push_if(ids, t->add_bos && !t->around, t->id[TOK_BOS]);
	for (uint32_t i = 0; t->around && i < t->n_before; i++)
		tok_push(ids, t->around[i]);
}

/* Append the tokens after a text.  another 1: a second text follows. */
static void push_after(struct tok_ids *ids, const struct infer_tokenizer *t, int another)
{
	int ends = t->add_eos && t->id[TOK_EOS] >= 0;

	for (uint32_t i = 0; t->around && i < t->n_after; i++)
		tok_push(ids, t->around[t->n_before + i]);
	if (t->around)
		return;
	push_if(ids, ends, t->id[TOK_EOS]);
	push_if(ids, t->add_sep && (another || !ends), t->id[TOK_SEP]);
}

/* Encode text and append its ids to r->ids. */
static int encode_text(struct tok_run *r, const char *text, size_t n, const unsigned char *content,
                       uint32_t flags, infer_error *err)
{
	const infer_tokenizer *t = r->t;
	int rc;

	if (flags & INFER_ENCODE_ADD)
		push_before(&r->ids, t);
	rc = t->pipe ? pipe_encode(r, text, n, content, flags, err)
	             : tok_added_split(r, &t->added, &r->added, text, n, content, flags,
	                               encode_between, err);
	if (flags & INFER_ENCODE_ADD)
		push_after(&r->ids, t, 0);
	if (!rc && r->lost)
		rc = err_set(err, INFER_EUNSUP,
		             "the vocabulary has no token for byte 0x%02x, no unknown token and "
		             "none for U+FFFD",
		             r->lost_byte);
	if (!rc && r->ids.bad)
		rc = err_set(err, INFER_ENOMEM, "no memory for the ids of %zu bytes of text", n);
	return rc;
}

int infer_encode_pair(const infer_tokenizer *t, struct infer_str a, struct infer_str b,
                      int32_t **ids, size_t *n_ids, size_t *second, infer_error *err)
{
	struct tok_ids all = { 0 };
	int rc = INFER_OK;
	int32_t *part;
	size_t n;

	*ids = NULL;
	*n_ids = *second = 0;
	push_before(&all, t);
	for (int i = 0; i < 2 && !rc; i++) {
		rc = infer_encode(t, i ? b.at : a.at, i ? b.len : a.len, 0, &part, &n, err);
		for (size_t k = 0; k < n && !rc; k++)
			tok_push(&all, part[k]);
		if (!rc)
			infer_ids_free(part);
		push_after(&all, t, !i);
		if (!i)
			*second = all.n;
	}
	if (!rc && all.bad)
		rc = err_set(err, INFER_ENOMEM, "no memory for the ids of %zu bytes of text",
		             a.len + b.len);
	if (rc) {
		mem_free(all.at);
		return rc;
	}
	*ids = all.at;
	*n_ids = all.n;
	return INFER_OK;
}

int tok_encode(const infer_tokenizer *t, const char *text, size_t n, const unsigned char *content,
               uint32_t flags, int32_t **ids, size_t *n_ids, infer_error *err)
{
	struct tok_run r = { .t = t, .unk_end = SIZE_MAX };
	int rc;

	*ids = NULL;
	*n_ids = 0;
	if (n > INT32_MAX / 4)
		return err_set(err, INFER_EINVAL, "a text of %zu bytes is more than %d", n,
		               INT32_MAX / 4);
	buf_init(&r.text, MEM_TOK);
	if (!content || !t->ends_in_text) /* otherwise the ids of a word depend on content */
		new_word_cache(&r, n);
	rc = encode_text(&r, text, n, content, flags, err);
	free_run(&r);
	if (rc) {
		mem_free(r.ids.at);
		return rc;
	}
	*ids = r.ids.at;
	*n_ids = r.ids.n;
	return INFER_OK;
}

/* ---- many texts in the same memory ---- */

int tok_run_new(struct tok_run **out, const infer_tokenizer *t, size_t most, infer_error *err)
{
	/* a byte may become the three bytes of U+FFFD; a symbol may have two heap entries */
	const size_t n_ids = 3 * most + 3;
	struct tok_run *r = mem_zalloc(MEM_TOK, 1, sizeof *r);
	int bad;

	*out = NULL;
	if (!r)
		return err_set(err, INFER_ENOMEM, "no memory to encode");
	r->t = t;
	buf_init(&r->text, MEM_TOK);
	bad = buf_reserve(&r->text, 3 * most + 16) || merge_room(&r->merge, 3 * most) ||
	      merge_heap(r->merge, 6 * most);
	r->ids.at = mem_alloc(MEM_TOK, n_ids, sizeof *r->ids.at);
	r->added.at = mem_alloc(MEM_TOK, n_ids, sizeof *r->added.at);
	if (bad || !r->ids.at || !r->added.at) {
		tok_run_free(r);
		return err_set(err, INFER_ENOMEM, "no memory to encode");
	}
	r->ids.cap = r->added.cap = n_ids;
	*out = r;
	return INFER_OK;
}

int tok_run_text(struct tok_run *r, const char *text, size_t n, const int32_t **ids, size_t *n_ids,
                 infer_error *err)
{
	int rc;

	r->ids.n = 0;
	r->ids.bad = r->added.bad = r->lost = 0;
	r->unk_end = SIZE_MAX;
	buf_clear(&r->text);
	rc = encode_text(r, text, n, NULL, 0, err);
	*ids = r->ids.at;
	*n_ids = rc ? 0 : r->ids.n;
	return rc;
}

void tok_run_free(struct tok_run *r)
{
	if (!r)
		return;
	free_run(r);
	mem_free(r->ids.at);
	mem_free(r);
}

void infer_ids_free(int32_t *ids) { mem_free(ids); }
