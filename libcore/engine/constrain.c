/* engine/constrain.c - data that the constrained requests of an engine share: the vocabulary, token masks,
 * and encodings of forced bytes */
#include "engine/constrain.h"
#include "engine/mask_worker.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/rng.h"
#include "tok/again.h"

#include <string.h>

enum { SPELLINGS = 512, CONTROL = 3, UNKNOWN = 2, UNUSED = 5 };

void constraints_bytes(const struct constraints *c, int32_t id, const char **at, size_t *n,
                       int *control)
{
	struct infer_token_info info;

	*at = NULL;
	*n = 0;
	*control = 0;
	if (infer_token_info(c->tok, id, &info, NULL) || info.eog || info.kind == UNKNOWN ||
	    info.kind == UNUSED)
		return;
	*control = info.kind == CONTROL;
	(void)infer_token_bytes(c->tok, id, INFER_DECODE_SPECIAL, at, n, NULL);
}

/* Return the size of the bytes of all control tokens, with a 0xff before each. */
static size_t control_bytes(const struct constraints *c, int32_t n)
{
	size_t all = 0, bytes;
	const char *at;
	int control;

	for (int32_t id = 0; id < n; id++) {
		constraints_bytes(c, id, &at, &bytes, &control);
		all += control && bytes ? bytes + 1 : 0;
	}
	return all;
}

static void fill_tokens(struct constraints *c, struct vocab_token *to, int32_t n, char *room)
{
	size_t bytes;
	int control;

	for (int32_t id = 0; id < n; id++) {
		const char *at;
		size_t line = 0;

		constraints_bytes(c, id, &at, &bytes, &control);
		if (infer_token_is_eog(c->tok, id))
			c->ends[c->n_ends++] = id;
		to[id] = (struct vocab_token){ at, (uint32_t)bytes };
		while (!control && line < bytes && at[line] == '\n')
			line++;
		if (bytes && line == bytes)
			c->newlines[c->n_newlines++] = id;
		if (!control || !bytes)
			continue;
		*room = (char)0xff;
		memcpy(room + 1, at, bytes);
		to[id] = (struct vocab_token){ room, (uint32_t)bytes + 1 };
		room += bytes + 1;
	}
}

static int build_vocabulary(struct constraints *c, infer_error *err)
{
	int32_t n = infer_tokenizer_count(c->tok);
	struct vocab_token *tokens;
	char *room;
	int rc;

	if (n > c->n_vocab)
		n = c->n_vocab;
	c->spellings = mem_zalloc(MEM_ENGINE, SPELLINGS, sizeof *c->spellings);
	c->ends = mem_alloc(MEM_ENGINE, (size_t)n, sizeof *c->ends);
	c->newlines = mem_alloc(MEM_ENGINE, (size_t)n, sizeof *c->newlines);
	tokens = mem_alloc(MEM_ENGINE, (size_t)n, sizeof *tokens);
	room = mem_alloc(MEM_ENGINE, control_bytes(c, n), 1);
	if (!c->spellings || !c->ends || !c->newlines || !tokens || !room) {
		rc = err_nomem(err);
	} else {
		fill_tokens(c, tokens, n, room);
		rc = vocab_new(&c->vocab, tokens, (uint32_t)n, err);
		if (!rc)
			rc = tok_run_new(&c->run, c->tok, FORCED_KEY, err);
	}
	mem_free(tokens);
	mem_free(room);
	return rc;
}

int constraints_new(struct constraints **out, const infer_tokenizer *tok, int32_t n_vocab,
                    infer_error *err)
{
	struct constraints *c = mem_zalloc(MEM_ENGINE, 1, sizeof *c);
	int rc;

	*out = NULL;
	if (!c)
		return err_nomem(err);
	rc = pthread_mutex_init(&c->lock, NULL);
	if (rc) {
		mem_free(c);
		return err_errno(err, rc, "cannot make a lock");
	}
	c->tok = tok;
	c->n_vocab = n_vocab;
	rc = build_vocabulary(c, err);
	if (rc) {
		constraints_free(c);
		return rc;
	}
	c->mask_worker = mask_worker_new();
	*out = c;
	return INFER_OK;
}

void constraints_free(struct constraints *c)
{
	if (!c)
		return;
	mask_worker_free(c->mask_worker);
	while (c->masks) {
		struct shared_mask *k = c->masks;

		must(!k->users);
		c->masks = k->next;
		mask_free(k->mask);
		infer_grammar_free(k->g);
		mem_free(k->tokens);
		mem_free(k);
	}
	vocab_free(c->vocab);
	tok_run_free(c->run);
	mem_free(c->spellings);
	mem_free(c->ends);
	mem_free(c->newlines);
	pthread_mutex_destroy(&c->lock);
	mem_free(c);
}

/* ---- encodings of forced bytes ---- */

/* True if the token is text and does not end generation. */
static int is_text(const struct constraints *c, int32_t id)
{
	const char *at;
	size_t n;
	int control;

	constraints_bytes(c, id, &at, &n, &control);
	return n && !control;
}

/* Return the index in ids of the token that begins at text[from]; n_ids: none does, or the ids are not
 * text. */
static size_t find_from(const struct constraints *c, const int32_t *ids, size_t n_ids,
                        const char *text, size_t n, size_t from)
{
	size_t at = 0, first = n_ids, bytes;
	const char *s;

	for (size_t i = 0; i < n_ids; i++) {
		if (at == from && first == n_ids)
			first = i;
		if (infer_token_bytes(c->tok, ids[i], first == n_ids && !i ? INFER_DECODE_FIRST : 0,
		                      &s, &bytes, NULL) ||
		    bytes > n - at || (bytes && memcmp(s, text + at, bytes) != 0) ||
		    (first < n_ids && !is_text(c, ids[i])))
			return n_ids;
		at += bytes;
	}
	return at == n ? first : n_ids;
}

/* Encode the key and store the ids of the forced bytes; none if the tokenizer cannot encode them. */
static int encode(struct spelling *to, const struct constraints *c, infer_error *err)
{
	const int32_t *ids;
	size_t n, first;
	int rc = tok_run_text(c->run, to->key, to->n_key, &ids, &n, err);

	if (rc)
		return rc == INFER_ENOMEM ? rc : INFER_OK;
	first = find_from(c, ids, n, to->key, to->n_key, to->from);
	to->n_ids = (uint32_t)(n - first < FORCED_TOKENS ? n - first : FORCED_TOKENS);
	if (to->n_ids)
		memcpy(to->ids, ids + first, to->n_ids * sizeof *ids);
	return INFER_OK;
}

int32_t constraints_spell(struct constraints *c, int32_t last, const char *bytes, uint32_t n,
                          int cut, int32_t *ids, infer_error *err)
{
	struct spelling s = { 0 }, *slot;
	const char *before;
	size_t n_before;
	int control, known, rc = INFER_OK;

	constraints_bytes(c, last, &before, &n_before, &control);
	if (control || n_before > FORCED_KEY - FORCED_BYTES)
		n_before = 0;
	if (n_before)
		memcpy(s.key, before, n_before);
	memcpy(s.key + n_before, bytes, n);
	s.from = (uint32_t)n_before;
	s.n_key = s.from + n;
	slot = c->spellings + rng_hash(n_before, s.key, s.n_key) % SPELLINGS;
	pthread_mutex_lock(&c->lock);
	known = slot->from == s.from && slot->n_key == s.n_key &&
	        !memcmp(slot->key, s.key, s.n_key);
	if (!known)
		rc = encode(&s, c, err);
	if (!known && !rc)
		*slot = s;
	else if (known)
		s = *slot;
	pthread_mutex_unlock(&c->lock);
	if (rc)
		return -1;
	memcpy(ids, s.ids, s.n_ids * sizeof *ids);
	return (int32_t)s.n_ids - (cut && s.n_ids);
}
