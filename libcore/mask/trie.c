/* mask/trie.c - texts in the order of their bytes, and the tree of their beginnings. */
#include "mask/trie.h"
#include "base/err.h"

#include <stdlib.h>
#include <string.h>

/* -- order ---------------------------------------------------------------------------------- */

struct sorted {
	uint64_t key; /* the first eight bytes, zeros behind the end */
	struct trie_text text;
};

static int by_bytes(const void *x, const void *y)
{
	const struct trie_text *a = &((const struct sorted *)x)->text,
			       *b = &((const struct sorted *)y)->text;
	const int cmp = memcmp(a->at, b->at, a->n < b->n ? a->n : b->n);

	if (cmp)
		return cmp;
	return a->n != b->n ? (a->n > b->n) - (a->n < b->n) : (a->id > b->id) - (a->id < b->id);
}

static uint64_t key_of(const struct trie_text *t)
{
	uint64_t key = 0;

	for (uint32_t i = 0; i < 8; i++)
		key = key << 8 | (i < t->n ? (uint8_t)t->at[i] : 0);
	return key;
}

/* By one byte of the keys; what is equal stays in its order. */
static void pass(struct sorted *to, const struct sorted *from, uint32_t n, unsigned shift)
{
	uint32_t at[256] = { 0 }, sum = 0;

	for (uint32_t i = 0; i < n; i++)
		at[from[i].key >> shift & 255]++;
	for (int b = 0; b < 256; b++) {
		const uint32_t k = at[b];

		at[b] = sum;
		sum += k;
	}
	for (uint32_t i = 0; i < n; i++)
		to[at[from[i].key >> shift & 255]++] = from[i];
}

static void sort(struct sorted *s, struct sorted *spare, uint32_t n)
{
	if (n < 256) {
		qsort(s, n, sizeof *s, by_bytes);
		return;
	}
	for (unsigned shift = 0; shift < 64; shift += 16) {
		pass(spare, s, n, shift);
		pass(s, spare, n, shift + 8);
	}
	for (uint32_t i = 0, k; i < n; i = k) {
		for (k = i + 1; k < n && s[k].key == s[i].key;)
			k++;
		if (k - i > 1)
			qsort(s + i, k - i, sizeof *s, by_bytes);
	}
}

static int order(struct trie *t, infer_error *err)
{
	struct sorted *s = slab_alloc(t->slab, (size_t)t->n_texts + 1, 2 * sizeof *s);

	if (!s)
		return err_nomem(err);
	for (uint32_t i = 0; i < t->n_texts; i++)
		s[i] = (struct sorted){ key_of(t->text + i), t->text[i] };
	sort(s, s + t->n_texts, t->n_texts);
	for (uint32_t i = 0; i < t->n_texts; i++)
		t->text[i] = s[i].text;
	slab_free(t->slab, s);
	return INFER_OK;
}

/* -- nodes ---------------------------------------------------------------------------------- */

static uint32_t common(const struct trie_text *a, const struct trie_text *b)
{
	uint32_t i = 0;

	while (i < a->n && i < b->n && a->at[i] == b->at[i])
		i++;
	return i;
}

/* Below the node that is open at each depth; each is closed when one comes that is not below it. */
static void fill(struct trie *t, uint32_t *open)
{
	uint32_t n = 1, depth = 0;

	t->node[0] = (struct trie_node){ 0 };
	open[0] = 0;
	for (uint32_t i = 0; i < t->n_texts; i++) {
		const struct trie_text *x = t->text + i;
		const uint32_t shared = i ? common(x - 1, x) : 0;

		for (; depth > shared; depth--)
			t->node[open[depth]].skip = n;
		while (depth < x->n) {
			t->node[n] =
				(struct trie_node){ 0, i, depth + 1, (uint8_t)x->at[depth], 0 };
			open[++depth] = n++;
		}
	}
	for (; depth; depth--)
		t->node[open[depth]].skip = n;
	t->node[0].skip = n;
	t->node[n] = (struct trie_node){ .skip = n, .first = t->n_texts };
	for (uint32_t i = 1; i < n; i = t->node[i].skip)
		t->begin[t->node[i].byte] = i;
}

/* -- characters ----------------------------------------------------------------------------- */

enum { QUOTE = 1, TWO_QUOTES = 2, BACKSLASH = 4 };

/* what a character still needs, the bounds of its next byte, the characters so far, what there was
 * among them */
struct part {
	uint8_t need, lo, hi, chars, marks;
};

unsigned trie_group(uint8_t b)
{
	static const char own[] = " _-./@:,'()";
	const char *at;

	if (b >= 0x80)
		return 0;
	if (b >= 'a' && b <= 'z')
		return 1;
	if (b >= 'A' && b <= 'Z')
		return 2;
	if (b >= '0' && b <= '9')
		return 3;
	at = b ? strchr(own, b) : NULL;
	return at ? 5 + (unsigned)(at - own) : 4;
}

static uint8_t marks(uint8_t before, uint8_t b)
{
	if (b == '"')
		return before | (before & QUOTE ? TWO_QUOTES : QUOTE);
	return b == '\\' ? before | BACKSLASH : before;
}

static struct part lead(uint8_t b)
{
	if (b < 0xe0)
		return (struct part){ 1, 0x80, 0xbf, 0, 0 };
	if (b < 0xf0)
		return (struct part){ 2, b == 0xe0 ? 0xa0 : 0x80, b == 0xed ? 0x9f : 0xbf, 0, 0 };
	return (struct part){ 3, b == 0xf0 ? 0x90 : 0x80, b == 0xf4 ? 0x8f : 0xbf, 0, 0 };
}

/* 1: the byte begins a character; 0: it goes on; TRIE_ANY */
static uint8_t begins(const struct part *before, struct part *after, uint8_t b)
{
	*after = (struct part){ .chars = TRIE_ANY };
	if (before->need) {
		if (b < before->lo || b > before->hi)
			return TRIE_ANY;
		*after = (struct part){ (uint8_t)(before->need - 1), 0x80, 0xbf, before->chars, 0 };
		return 0;
	}
	if (b < 0x20 || b == '"' || b == '\\' || (b >= 0x7f && b < 0xc2) || b >= 0xf5)
		return TRIE_ANY;
	*after = b < 0x80 ? (struct part){ 0 } : lead(b);
	after->chars = before->chars + (before->chars < TRIE_ANY);
	return 1;
}

/* part, tall, groups: [longest + 2] */
static void measure(struct trie *t, struct part *part, uint8_t *tall, uint16_t *groups)
{
	part[0] = (struct part){ 0 };
	for (uint32_t i = 1; i < t->n_nodes; i++) {
		struct trie_node *x = t->node + i;

		x->tall = begins(part + x->depth - 1, part + x->depth, x->byte);
		part[x->depth].marks = marks(part[x->depth - 1].marks, x->byte);
		x->groups = x->tall == 1 ? (uint16_t)(1u << trie_group(x->byte)) : 0;
		for (uint32_t k = x->first; k < x[1].first; k++) {
			t->chars[k] = part[x->depth].chars;
			t->n_quoted += (part[x->depth].marks & TWO_QUOTES) != 0;
			t->n_escaped +=
				(part[x->depth].marks & (QUOTE | BACKSLASH)) == (QUOTE | BACKSLASH);
		}
	}
	memset(tall, 0, t->longest + 2);
	memset(groups, 0, (t->longest + 2) * sizeof *groups);
	for (uint32_t i = t->n_nodes; i--;) {
		struct trie_node *x = t->node + i;
		const unsigned below = tall[x->depth + 1], sum = below + x->tall;

		x->tall = sum < TRIE_ANY ? (uint8_t)sum : TRIE_ANY;
		tall[x->depth + 1] = 0;
		x->groups |= groups[x->depth + 1];
		groups[x->depth + 1] = 0;
		groups[x->depth] |= x->groups;
		if (x->tall > tall[x->depth])
			tall[x->depth] = x->tall;
	}
}

static int has_two_quotes(const struct trie_text *x)
{
	const char *q = memchr(x->at, '"', x->n);

	return q && memchr(q + 1, '"', x->n - (size_t)(q + 1 - x->at));
}

static int has_quote_escape(const struct trie_text *x)
{
	return memchr(x->at, '"', x->n) && memchr(x->at, '\\', x->n);
}

/* The n texts that are so. */
static int list(const struct trie *t, int (*of)(const struct trie_text *x), uint32_t **to,
                uint32_t n, infer_error *err)
{
	uint32_t got = 0;

	*to = slab_alloc(t->slab, (size_t)n + 1, sizeof **to);
	if (!*to)
		return err_nomem(err);
	for (uint32_t i = 0; i < t->n_texts && got < n; i++)
		if (of(t->text + i))
			(*to)[got++] = i;
	return INFER_OK;
}

/* -- all ------------------------------------------------------------------------------------ */

static int build(struct trie *t, infer_error *err)
{
	uint64_t nodes = 1;
	uint16_t *groups;
	uint32_t *open;

	TRY(order(t, err));
	for (uint32_t i = 0; i < t->n_texts; i++) {
		nodes += t->text[i].n - (i ? common(t->text + i - 1, t->text + i) : 0);
		t->longest = t->text[i].n > t->longest ? t->text[i].n : t->longest;
	}
	if (nodes >= UINT32_MAX || t->longest >= UINT32_MAX - 2)
		return err_set(err, INFER_EUNSUP, "the vocabulary is too large");
	t->n_nodes = (uint32_t)nodes;
	t->node = slab_alloc(t->slab, nodes + 1, sizeof *t->node);
	t->id = slab_alloc(t->slab, (size_t)t->n_texts + 1, sizeof *t->id);
	t->chars = slab_alloc(t->slab, (size_t)t->n_texts + 1, 1);
	/* for each depth */
	open = slab_alloc(t->slab, (size_t)t->longest + 2, 3 * sizeof *open);
	if (!t->node || !open || !t->chars || !t->id) {
		slab_free(t->slab, open);
		return err_nomem(err);
	}
	for (uint32_t i = 0; i < t->n_texts; i++)
		t->id[i] = t->text[i].id;
	fill(t, open);
	/* the first two words of each depth for struct part */
	groups = (uint16_t *)(open + 2 * (t->longest + 2));
	measure(t, (struct part *)open, (uint8_t *)(groups + t->longest + 2), groups);
	slab_free(t->slab, open);
	TRY(list(t, has_two_quotes, &t->quoted, t->n_quoted, err));
	TRY(list(t, has_quote_escape, &t->escaped, t->n_escaped, err));
	t->bytes = sizeof *t + (nodes + 1) * sizeof *t->node +
	           t->n_texts * (sizeof *t->text + sizeof *t->id + 1) +
	           ((uint64_t)t->n_quoted + t->n_escaped) * sizeof *t->quoted;
	return INFER_OK;
}

int trie_make(struct trie *t, struct trie_text *text, uint32_t n, struct slab *slab,
              infer_error *err)
{
	int rc;

	*t = (struct trie){ .slab = slab, .n_texts = n, .text = text };
	rc = build(t, err);
	if (rc)
		trie_fini(t);
	return rc;
}

/* What is not plain becomes a trie of its own: the rest of a vocabulary is looked up. */
static int make_odd(struct trie *t, infer_error *err)
{
	struct trie_text *text;
	uint32_t n = 0, k = 0;

	for (uint32_t i = 0; i < t->n_texts; i++)
		n += t->chars[i] == TRIE_ANY;
	t->odd = slab_zalloc(t->slab, 1, sizeof *t->odd);
	text = slab_alloc(t->slab, (size_t)n + 1, sizeof *text);
	if (!t->odd || !text) {
		slab_free(t->slab, text);
		return err_nomem(err);
	}
	for (uint32_t i = 0; i < t->n_texts; i++)
		if (t->chars[i] == TRIE_ANY)
			text[k++] = t->text[i];
	return trie_make(t->odd, text, n, t->slab, err);
}

static uint16_t groups_of(const struct trie_text *x, const uint16_t group[256])
{
	uint16_t groups = 0;

	for (uint32_t i = 0; i < x->n; i++)
		groups |= group[(uint8_t)x->at[i]];
	return groups;
}

struct kinded {
	uint32_t key, id; /* groups, characters */
};

static int by_key(const void *x, const void *y)
{
	const struct kinded *a = x, *b = y;

	if (a->key != b->key)
		return (a->key > b->key) - (a->key < b->key);
	return (a->id > b->id) - (a->id < b->id);
}

/* The same by 12 bits of the keys at a time, which are 24. */
static void sort_kinds(struct kinded *s, struct kinded *spare, uint32_t n)
{
	enum { BITS = 12 };
	struct kinded *from = s, *to = spare;

	if (n < 1u << BITS) {
		qsort(s, n, sizeof *s, by_key);
		return;
	}
	for (unsigned shift = 0; shift < 2 * BITS; shift += BITS) {
		uint32_t at[1 << BITS] = { 0 }, sum = 0;

		for (uint32_t i = 0; i < n; i++)
			at[from[i].key >> shift & ((1u << BITS) - 1)]++;
		for (uint32_t b = 0; b < 1u << BITS; b++) {
			const uint32_t k = at[b];

			at[b] = sum;
			sum += k;
		}
		for (uint32_t i = 0; i < n; i++)
			to[at[from[i].key >> shift & ((1u << BITS) - 1)]++] = from[i];
		to = from;
		from = from == s ? spare : s;
	}
}

static void list_kinds(struct trie *t, const struct kinded *s, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (!i || s[i].key >> 8 != s[i - 1].key >> 8)
			t->kind[t->n_kinds++] = (struct trie_kind){ s[i].key >> 8, i };
		t->kind_id[i] = s[i].id;
		t->kind_chars[i] = (uint8_t)s[i].key;
	}
	t->kind[t->n_kinds] = (struct trie_kind){ 0, n };
}

static int make_kinds(struct trie *t, infer_error *err)
{
	struct kinded *s = slab_alloc(t->slab, (size_t)t->n_texts + 1, 2 * sizeof *s);
	uint16_t group[256];
	uint32_t n = 0;

	t->kind = slab_alloc(t->slab, (size_t)t->n_texts + 1, sizeof *t->kind);
	t->kind_id = slab_alloc(t->slab, (size_t)t->n_texts + 1, sizeof *t->kind_id);
	t->kind_chars = slab_alloc(t->slab, (size_t)t->n_texts + 1, 1);
	if (!s || !t->kind || !t->kind_id || !t->kind_chars) {
		slab_free(t->slab, s);
		return err_nomem(err);
	}
	for (int b = 0; b < 256; b++)
		group[b] = (uint16_t)(1u << trie_group((uint8_t)b));
	for (uint32_t i = 0; i < t->n_texts; i++)
		if (t->chars[i] != TRIE_ANY)
			s[n++] = (struct kinded){
				(uint32_t)groups_of(t->text + i, group) << 8 | t->chars[i], t->id[i]
			};
	sort_kinds(s, s + t->n_texts, n);
	list_kinds(t, s, n);
	slab_free(t->slab, s);
	return INFER_OK;
}

int trie_split(struct trie *t, uint32_t words, infer_error *err)
{
	const uint32_t last = TRIE_LEVELS - 1;

	t->words = words;
	t->plain = slab_zalloc(t->slab, (size_t)words + 1, TRIE_LEVELS * sizeof *t->plain);
	if (!t->plain)
		return err_nomem(err);
	for (uint32_t i = 0; i < t->n_texts; i++) {
		const uint32_t chars = t->chars[i], id = t->id[i];

		if (chars != TRIE_ANY)
			t->plain[(size_t)(chars < last ? chars : last) * words + id / 64] |=
				UINT64_C(1) << id % 64;
	}
	for (size_t i = words; i < (size_t)TRIE_LEVELS * words; i++)
		t->plain[i] |= t->plain[i - words];
	TRY(make_kinds(t, err));
	return make_odd(t, err);
}

uint32_t trie_begin(const struct trie *t, uint32_t i, const uint8_t may[256])
{
	if (i >= t->n_nodes)
		return i;
	for (uint32_t b = t->node[i].byte; b < 256; b++)
		if (may[b] && t->begin[b])
			return t->begin[b];
	return t->n_nodes;
}

uint32_t trie_find(const struct trie *t, const char *bytes, uint32_t n)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < n; i++) {
		const uint32_t end = t->node[at].skip;

		for (at++; at < end && t->node[at].byte != (uint8_t)bytes[i];)
			at = t->node[at].skip;
		if (at == end)
			return 0;
	}
	return at;
}

void trie_fini(struct trie *t)
{
	slab_free(t->slab, t->node);
	slab_free(t->slab, t->text);
	slab_free(t->slab, t->quoted);
	slab_free(t->slab, t->escaped);
	slab_free(t->slab, t->chars);
	slab_free(t->slab, t->id);
	slab_free(t->slab, t->plain);
	slab_free(t->slab, t->kind);
	slab_free(t->slab, t->kind_id);
	slab_free(t->slab, t->kind_chars);
	if (t->odd)
		trie_fini(t->odd);
	slab_free(t->slab, t->odd);
	*t = (struct trie){ 0 };
}
