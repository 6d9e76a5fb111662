/* tok/added.c - where a text holds added tokens: the automaton of Aho+ 1975 over their last bytes
 * first, run from the end of the text to its front.  So what it knows at a byte is the longest
 * token that begins there, in linear time, however long the tokens are. */
#include "base/err.h"
#include "base/mem.h"
#include "tok/key.h"

#include <string.h>

static int is_added(const struct infer_tokenizer *t, uint32_t i)
{
	return t->piece.at[i].len &&
	       (t->kind[i] == TOK_USER || t->kind[i] == TOK_CONTROL || t->kind[i] == TOK_UNKNOWN);
}

/* The slot of the node that byte c leads to from node `from`, or the empty slot for it. */
static uint32_t *slot_of(const struct infer_tokenizer *t, uint32_t from, unsigned char c)
{
	const struct tok_added *a = &t->added;
	uint32_t j = tok_pair_hash(t->secret, from, c) & a->mask;

	while (a->slot[j] && (a->node[a->slot[j]].parent != from || a->node[a->slot[j]].c != c))
		j = (j + 1) & a->mask;
	return &a->slot[j];
}

/* The transition from a node by c, along failure links if the node has none. */
static inline uint32_t follow(const struct infer_tokenizer *t, uint32_t at, unsigned char c)
{
	for (;; at = t->added.node[at].fail) {
		uint32_t to = !at ? t->added.last[c] : *slot_of(t, at, c);
		if (to || !at)
			return to;
	}
}

static void put(struct infer_tokenizer *t, uint32_t id)
{
	const unsigned char *s = (const unsigned char *)t->piece.base + t->piece.at[id].at;
	struct tok_added *a = &t->added;
	uint32_t at = 0;

	for (uint32_t k = t->piece.at[id].len; k--;) {
		uint32_t *slot = at ? slot_of(t, at, s[k]) : &a->last[s[k]];
		if (!*slot) {
			a->node[a->n] =
				(struct tok_node){ .parent = at, .c = s[k], .any = -1, .user = -1 };
			*slot = a->n++;
		}
		at = *slot;
	}
	a->node[at].any = (int32_t)id;
	if (t->kind[id] == TOK_USER)
		a->node[at].user = (int32_t)id;
}

/* All nodes except the first in the order of their depth, so that a node follows its parent; NULL:
 * out of memory. */
static uint32_t *by_depth(const struct tok_added *a)
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

/* A node whose own string is not a token takes the result of its failure link. */
static int fail_links(struct infer_tokenizer *t)
{
	struct tok_added *a = &t->added;
	uint32_t *order = by_depth(a);

	for (uint32_t i = 0; order && i + 1 < a->n; i++) {
		struct tok_node *v = &a->node[order[i]];
		v->fail = v->parent ? follow(t, a->node[v->parent].fail, v->c) : 0;
		int end = v->user >= 0 && t->flag[v->user] & TOK_EOG;
		if (a->content)
			a->content[order[i]] = v->user >= 0 && !end ? v->user : a->content[v->fail];
		v->any = v->any < 0 ? a->node[v->fail].any : v->any;
		v->user = v->user < 0 ? a->node[v->fail].user : v->user;
	}
	mem_free(order);
	return order ? INFER_OK : INFER_ENOMEM;
}

int tok_added_new(struct infer_tokenizer *t)
{
	struct tok_added *a = &t->added;
	size_t bytes = 0, slots = 16;
	int ends = 0;

	for (uint32_t i = 0; i < t->piece.n; i++)
		if (is_added(t, i)) {
			bytes += t->piece.at[i].len;
			ends |= t->kind[i] == TOK_USER && t->flag[i] & TOK_EOG;
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
	a->node[0] = (struct tok_node){ .any = -1, .user = -1 }; /* no token ends so */
	a->n = 1;
	for (uint32_t i = 0; i < t->piece.n; i++)
		if (is_added(t, i))
			put(t, i);
	if (ends && !(a->content = mem_alloc(MEM_TOK, a->n, sizeof *a->content)))
		return INFER_ENOMEM;
	if (ends)
		a->content[0] = -1;
	return fail_links(t);
}

void tok_added_free(struct tok_added *a)
{
	mem_free(a->node);
	mem_free(a->content);
	mem_free(a->slot);
}

static size_t len_of(const struct infer_tokenizer *t, int32_t id)
{
	return id < 0 ? 0 : t->piece.at[id].len;
}

void tok_added_find(const struct infer_tokenizer *t, const char *s, size_t n,
                    const unsigned char *content, uint32_t flags, struct tok_ids *out)
{
	const struct tok_added *a = &t->added;
	const int special = (flags & INFER_ENCODE_SPECIAL) != 0;
	/* two states: one for control tokens, which cannot extend into content, and one for the
	 * others */
	uint32_t any = 0, user = 0;

	for (size_t i = a->n > 1 ? n : 0; i--;) {
		unsigned char c = (unsigned char)s[i];
		if (!(any | user | a->last[c]))
			continue;
		any = special && !(content && content[i]) ? follow(t, any, c) : 0;
		user = !special || content ? follow(t, user, c) : 0;
		int32_t id = a->node[any].any,
			other = content && a->content ? a->content[user] : a->node[user].user;
		if (len_of(t, other) > len_of(t, id))
			id = other;
		if (id >= 0) {
			tok_push(out, (int32_t)i);
			tok_push(out, id);
		}
	}
}
