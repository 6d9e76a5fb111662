/* tok/added.c - find added tokens in a text: the automaton of Aho+ 1975 over the reversed tokens,
 * run from the end of the text to its start.  The state at a byte gives the longest token that
 * begins there.  Linear time, for tokens of any length. */
#include "base/err.h"
#include "base/mem.h"
#include "text/unicode.h"
#include "tok/key.h"

#include <string.h>

static int is_added(const struct infer_tokenizer *t, uint32_t i)
{
	return t->piece.at[i].len &&
	       (t->kind[i] == TOK_USER || t->kind[i] == TOK_CONTROL || t->kind[i] == TOK_UNKNOWN);
}

/* Return the slot of the child of node `from` with byte c, or the empty slot to insert it. */
static uint32_t *slot_of(const struct tok_added *a, const struct infer_tokenizer *t, uint32_t from,
                         unsigned char c)
{
	uint32_t j = tok_pair_hash(t->secret, from, c) & a->mask;

	while (a->slot[j] && (a->node[a->slot[j]].parent != from || a->node[a->slot[j]].c != c))
		j = (j + 1) & a->mask;
	return &a->slot[j];
}

/* Return the node for byte c after node `at`, along failure links if it is not a child of `at`. */
static inline uint32_t next_node(const struct tok_added *a, const struct infer_tokenizer *t,
                                 uint32_t at, unsigned char c)
{
	for (;; at = a->node[at].fail) {
		uint32_t to = !at ? a->last[c] : *slot_of(a, t, at, c);
		if (to || !at)
			return to;
	}
}

static void insert_entry(struct tok_added *a, const struct infer_tokenizer *t, uint32_t i)
{
	const unsigned char *s = (const unsigned char *)a->entry[i].s;
	uint32_t at = 0;

	for (uint32_t k = a->entry[i].n; k--;) {
		uint32_t *slot = at ? slot_of(a, t, at, s[k]) : &a->last[s[k]];
		if (!*slot) {
			a->node[a->n] =
				(struct tok_node){ .parent = at, .c = s[k], .any = -1, .user = -1 };
			*slot = a->n++;
		}
		at = *slot;
	}
	a->node[at].any = (int32_t)i;
	if (t->kind[a->entry[i].id] == TOK_USER)
		a->node[at].user = (int32_t)i;
}

/* Return all nodes except the root, sorted by depth: parents first.  NULL: no memory. */
static uint32_t *sort_by_depth(const struct tok_added *a)
{
	uint32_t most = 0, *order = mem_alloc(MEM_TOK, a->n, sizeof *order),
		 *depth = mem_zalloc(MEM_TOK, a->n, sizeof *depth), *first = NULL;

	for (uint32_t i = 1; depth && i < a->n; i++) {
		depth[i] = depth[a->node[i].parent] + 1;
		most = depth[i] > most ? depth[i] : most;
	}
	if (order && depth)
		first = mem_zalloc(MEM_TOK, (size_t)most + 2, sizeof *first);
	if (first) {
		for (uint32_t i = 1; i < a->n; i++)
			first[depth[i] + 1]++;
		for (uint32_t d = 1; d < most + 2; d++)
			first[d] += first[d - 1];
		for (uint32_t i = 1; i < a->n; i++)
			order[first[depth[i]]++] = i;
	} else {
		mem_free(order);
		order = NULL;
	}
	mem_free(depth);
	mem_free(first);
	return order;
}

/* Set the failure links.  Nodes that are not tokens copy the tokens of their failure link. */
static int set_fail_links(struct tok_added *a, const struct infer_tokenizer *t)
{
	uint32_t *order = sort_by_depth(a);

	for (uint32_t i = 0; order && i + 1 < a->n; i++) {
		struct tok_node *v = &a->node[order[i]];
		v->fail = v->parent ? next_node(a, t, a->node[v->parent].fail, v->c) : 0;
		int end = v->user >= 0 && t->flag[a->entry[v->user].id] & TOK_EOG;
		if (a->content)
			a->content[order[i]] = v->user >= 0 && !end ? v->user : a->content[v->fail];
		v->any = v->any < 0 ? a->node[v->fail].any : v->any;
		v->user = v->user < 0 ? a->node[v->fail].user : v->user;
	}
	mem_free(order);
	return order ? INFER_OK : INFER_ENOMEM;
}

int tok_added_of(struct tok_added *a, const struct infer_tokenizer *t, struct tok_entry *entry,
                 uint32_t n)
{
	size_t bytes = 0, slots = 16;
	int ends = 0;

	a->entry = entry;
	a->n_entries = n;
	for (uint32_t i = 0; i < n; i++) {
		bytes += entry[i].n;
		ends |= t->kind[entry[i].id] == TOK_USER && t->flag[entry[i].id] & TOK_EOG;
	}
	if (!bytes)
		return INFER_OK;
	while (slots < 2 * bytes)
		slots *= 2;
	a->node = mem_alloc(MEM_TOK, bytes + 1, sizeof *a->node);
	a->slot = slots <= UINT32_MAX ? mem_zalloc(MEM_TOK, slots, sizeof *a->slot) : NULL;
	a->mask = (uint32_t)(slots - 1);
	if (!a->node || !a->slot)
		return INFER_ENOMEM;
	a->node[0] =
		(struct tok_node){ .any = -1, .user = -1 }; /* the empty string is not a token */
	a->n = 1;
	for (uint32_t i = 0; i < n; i++)
		insert_entry(a, t, i);
	if (ends && !(a->content = mem_alloc(MEM_TOK, a->n, sizeof *a->content)))
		return INFER_ENOMEM;
	if (ends)
		a->content[0] = -1;
	return set_fail_links(a, t);
}

int tok_added_new(struct tok_added *a, const struct infer_tokenizer *t)
{
	struct tok_entry *entry;
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->piece.n; i++)
		n += (uint32_t)is_added(t, i);
	if (!n)
		return INFER_OK;
	entry = mem_alloc(MEM_TOK, n, sizeof *entry);
	if (!entry)
		return INFER_ENOMEM;
	n = 0;
	for (uint32_t i = 0; i < t->piece.n; i++)
		if (is_added(t, i))
			entry[n++] = (struct tok_entry){ t->piece.base + t->piece.at[i].at,
				                         t->piece.at[i].len, (int32_t)i };
	return tok_added_of(a, t, entry, n);
}

void tok_added_free(struct tok_added *a)
{
	mem_free(a->entry);
	mem_free(a->node);
	mem_free(a->content);
	mem_free(a->slot);
}

static size_t len_of(const struct tok_added *a, int32_t i) { return i < 0 ? 0 : a->entry[i].n; }

void tok_added_find(const struct tok_added *a, const struct infer_tokenizer *t, const char *s,
                    size_t n, const unsigned char *content, uint32_t flags, struct tok_ids *out)
{
	const int special = (flags & INFER_ENCODE_SPECIAL) != 0;
	/* any: automaton state for all tokens, reset in content, where control tokens must not
	 * match; user: state for user-defined tokens */
	uint32_t any = 0, user = 0;

	for (size_t i = a->n > 1 ? n : 0; i--;) {
		unsigned char c = (unsigned char)s[i];
		if (!(any | user | a->last[c]))
			continue;
		any = special && !(content && content[i]) ? next_node(a, t, any, c) : 0;
		user = !special || content ? next_node(a, t, user, c) : 0;
		int32_t it = a->node[any].any,
			other = content && a->content ? a->content[user] : a->node[user].user;
		if (len_of(a, other) > len_of(a, it))
			it = other;
		if (it >= 0) {
			tok_push(out, (int32_t)i);
			tok_push(out, it);
		}
	}
}

/* ---- text between added tokens */

/* Return the start of the character that ends before `at`. */
static size_t prev_char(const char *s, size_t at)
{
	size_t from = at - 1;
	uint32_t cp;

	while (from && at - from < 4 && ((unsigned char)s[from] & 0xc0) == 0x80)
		from--;
	return from + unicode_next(s + from, at - from, &cp) == at ? from : at - 1;
}

static uint32_t char_at(const char *s, size_t n)
{
	uint32_t cp;

	unicode_next(s, n, &cp);
	return cp;
}

/* True if text[at .. end) is a whole word. */
static int is_whole_word(const char *s, size_t n, size_t at, size_t end)
{
	return (!at || !unicode_is_word(char_at(s + prev_char(s, at), at - prev_char(s, at)))) &&
	       (end == n || !unicode_is_word(char_at(s + end, n - end)));
}

static size_t strip_left(const char *s, size_t from, size_t at)
{
	while (at > from &&
	       unicode_set(char_at(s + prev_char(s, at), at - prev_char(s, at))) & UNI_SPACE)
		at = prev_char(s, at);
	return at;
}

static size_t strip_right(const char *s, size_t n, size_t at)
{
	uint32_t cp;

	while (at < n) {
		size_t len = unicode_next(s + at, n - at, &cp);
		if (!(unicode_set(cp) & UNI_SPACE))
			break;
		at += len;
	}
	return at;
}

int tok_added_split(struct tok_run *r, const struct tok_added *a, struct tok_ids *found,
                    const char *s, size_t n, const unsigned char *content, uint32_t flags,
                    tok_part *fn, infer_error *err)
{
	const struct infer_tokenizer *t = r->t;
	/* text before `from` is done; matches begin at `next` or later */
	size_t from = 0, next = 0;

	found->n = 0;
	tok_added_find(a, t, s, n, content, flags, found);
	if (found->bad)
		return err_set(err, INFER_ENOMEM,
		               "no memory for the added tokens of %zu bytes of text", n);
	for (size_t i = found->n; i; i -= 2) {
		const struct tok_entry *e = &a->entry[found->at[i - 1]];
		size_t at = (size_t)found->at[i - 2], end = at + e->n;
		if (at < next)
			continue;
		if (t->flag[e->id] & TOK_WORD && !is_whole_word(s, n, at, end)) {
			next = end;
			continue;
		}
		next = end;
		if (t->flag[e->id] & TOK_LSTRIP && at > from)
			at = strip_left(s, from, at);
		if (at > from)
			TRY(fn(r, s + from, at - from, content ? content + from : NULL, !from,
			       err));
		tok_push(&r->ids, e->id);
		/* this token may begin with white space that the token before it absorbed */
		if (end > from)
			from = t->flag[e->id] & TOK_RSTRIP ? strip_right(s, n, end) : end;
	}
	return from == n ? INFER_OK
	                 : fn(r, s + from, n - from, content ? content + from : NULL, !from, err);
}
