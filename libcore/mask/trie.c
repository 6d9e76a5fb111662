/* mask/trie.c - build a trie of token texts, and its tables of plain tokens. */
#include "mask/trie.h"
#include "base/err.h"

#include <stdlib.h>
#include <string.h>

/* -- order ---------------------------------------------------------------------------------- */

struct sorted {
	uint64_t key; /* the first eight bytes, padded with zeros */
	struct trie_text text;
};

static int compare_texts(const void *x, const void *y)
{
	const struct trie_text *a = &((const struct sorted *)x)->text,
			       *b = &((const struct sorted *)y)->text;
	const int cmp = memcmp(a->at, b->at, a->n < b->n ? a->n : b->n);

	if (cmp)
		return cmp;
	return a->n != b->n ? (a->n > b->n) - (a->n < b->n) : (a->id > b->id) - (a->id < b->id);
}

static uint64_t first_bytes(const struct trie_text *t)
{
	uint64_t key = 0;

	for (uint32_t i = 0; i < 8; i++)
		key = key << 8 | (i < t->n ? (uint8_t)t->at[i] : 0);
	return key;
}

/* One pass of a radix sort, stable: by the byte of the keys at `shift`. */
static void sort_pass(struct sorted *to, const struct sorted *from, uint32_t n, unsigned shift)
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

static void sort_sorted(struct sorted *s, struct sorted *spare, uint32_t n)
{
	if (n < 256) {
		qsort(s, n, sizeof *s, compare_texts);
		return;
	}
	for (unsigned shift = 0; shift < 64; shift += 16) {
		sort_pass(spare, s, n, shift);
		sort_pass(s, spare, n, shift + 8);
	}
	for (uint32_t i = 0, k; i < n; i = k) {
		for (k = i + 1; k < n && s[k].key == s[i].key;)
			k++;
		if (k - i > 1)
			qsort(s + i, k - i, sizeof *s, compare_texts);
	}
}

static int sort_texts(struct trie *t, infer_error *err)
{
	struct sorted *s = slab_alloc(t->slab, (size_t)t->n_texts + 1, 2 * sizeof *s);

	if (!s)
		return err_nomem(err);
	for (uint32_t i = 0; i < t->n_texts; i++)
		s[i] = (struct sorted){ first_bytes(t->text + i), t->text[i] };
	sort_sorted(s, s + t->n_texts, t->n_texts);
	for (uint32_t i = 0; i < t->n_texts; i++)
		t->text[i] = s[i].text;
	slab_free(t->slab, s);
	return INFER_OK;
}

/* -- nodes ---------------------------------------------------------------------------------- */

static uint32_t common_prefix(const struct trie_text *a, const struct trie_text *b)
{
	uint32_t i = 0;

	while (i < a->n && i < b->n && a->at[i] == b->at[i])
		i++;
	return i;
}

/* Set the nodes of the sorted texts.  open: [longest + 2] the current node of each depth */
static void fill_nodes(struct trie *t, uint32_t *open)
{
	uint32_t n = 1, depth = 0;

	t->node[0] = (struct trie_node){ 0 };
	open[0] = 0;
	for (uint32_t i = 0; i < t->n_texts; i++) {
		const struct trie_text *x = t->text + i;
		const uint32_t shared = i ? common_prefix(x - 1, x) : 0;

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

/* state after a prefix: bytes missing in its last character, bounds of the next byte, characters so
 * far, flags (QUOTE ...) of those */
struct prefix {
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

static uint8_t add_marks(uint8_t before, uint8_t b)
{
	if (b == '"')
		return before | (before & QUOTE ? TWO_QUOTES : QUOTE);
	return b == '\\' ? before | BACKSLASH : before;
}

static struct prefix begin_char(uint8_t b)
{
	if (b < 0xe0)
		return (struct prefix){ 1, 0x80, 0xbf, 0, 0 };
	if (b < 0xf0)
		return (struct prefix){ 2, b == 0xe0 ? 0xa0 : 0x80, b == 0xed ? 0x9f : 0xbf, 0, 0 };
	return (struct prefix){ 3, b == 0xf0 ? 0x90 : 0x80, b == 0xf4 ? 0x8f : 0xbf, 0, 0 };
}

/* Add a byte.  Returns 1 if it begins a plain character, 0 if it continues one, else TRIE_ANY. */
static uint8_t add_byte(const struct prefix *before, struct prefix *after, uint8_t b)
{
	*after = (struct prefix){ .chars = TRIE_ANY };
	if (before->need) {
		if (b < before->lo || b > before->hi)
			return TRIE_ANY;
		*after = (struct prefix){ (uint8_t)(before->need - 1), 0x80, 0xbf, before->chars,
			                  0 };
		return 0;
	}
	if (b < 0x20 || b == '"' || b == '\\' || (b >= 0x7f && b < 0xc2) || b >= 0xf5)
		return TRIE_ANY;
	*after = b < 0x80 ? (struct prefix){ 0 } : begin_char(b);
	after->chars = before->chars + (before->chars < TRIE_ANY);
	return 1;
}

/* Set height and groups of nodes, chars of texts.  part, height, groups: scratch, [longest + 2] */
static void measure_nodes(struct trie *t, struct prefix *part, uint8_t *height, uint16_t *groups)
{
	part[0] = (struct prefix){ 0 };
	for (uint32_t i = 1; i < t->n_nodes; i++) {
		struct trie_node *x = t->node + i;

		x->height = add_byte(part + x->depth - 1, part + x->depth, x->byte);
		part[x->depth].marks = add_marks(part[x->depth - 1].marks, x->byte);
		x->groups = x->height == 1 ? (uint16_t)(1u << trie_group(x->byte)) : 0;
		for (uint32_t k = x->first; k < x[1].first; k++) {
			t->chars[k] = part[x->depth].chars;
			t->n_quoted += (part[x->depth].marks & TWO_QUOTES) != 0;
			t->n_escaped +=
				(part[x->depth].marks & (QUOTE | BACKSLASH)) == (QUOTE | BACKSLASH);
		}
	}
	memset(height, 0, t->longest + 2);
	memset(groups, 0, (t->longest + 2) * sizeof *groups);
	for (uint32_t i = t->n_nodes; i--;) {
		struct trie_node *x = t->node + i;
		const unsigned below = height[x->depth + 1], sum = below + x->height;

		x->height = sum < TRIE_ANY ? (uint8_t)sum : TRIE_ANY;
		height[x->depth + 1] = 0;
		x->groups |= groups[x->depth + 1];
		groups[x->depth + 1] = 0;
		groups[x->depth] |= x->groups;
		if (x->height > height[x->depth])
			height[x->depth] = x->height;
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

/* List the n texts for which `of` is true. */
static int list_texts(const struct trie *t, int (*of)(const struct trie_text *x), uint32_t **to,
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

static int build_trie(struct trie *t, infer_error *err)
{
	uint64_t nodes = 1;
	uint16_t *groups;
	uint32_t *open;

	TRY(sort_texts(t, err));
	for (uint32_t i = 0; i < t->n_texts; i++) {
		nodes += t->text[i].n - (i ? common_prefix(t->text + i - 1, t->text + i) : 0);
		t->longest = t->text[i].n > t->longest ? t->text[i].n : t->longest;
	}
	if (nodes >= UINT32_MAX || t->longest >= UINT32_MAX - 2)
		return err_set(err, INFER_EUNSUP, "the vocabulary is too large");
	t->n_nodes = (uint32_t)nodes;
	t->node = slab_alloc(t->slab, nodes + 1, sizeof *t->node);
	t->id = slab_alloc(t->slab, (size_t)t->n_texts + 1, sizeof *t->id);
	t->chars = slab_alloc(t->slab, (size_t)t->n_texts + 1, 1);
	open = slab_alloc(t->slab, (size_t)t->longest + 2, 3 * sizeof *open);
	if (!t->node || !open || !t->chars || !t->id) {
		slab_free(t->slab, open);
		return err_nomem(err);
	}
	for (uint32_t i = 0; i < t->n_texts; i++)
		t->id[i] = t->text[i].id;
	fill_nodes(t, open);
	/* two words of each depth hold a struct prefix */
	groups = (uint16_t *)(open + 2 * (t->longest + 2));
	measure_nodes(t, (struct prefix *)open, (uint8_t *)(groups + t->longest + 2), groups);
	slab_free(t->slab, open);
	TRY(list_texts(t, has_two_quotes, &t->quoted, t->n_quoted, err));
	TRY(list_texts(t, has_quote_escape, &t->escaped, t->n_escaped, err));
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
	rc = build_trie(t, err);
	if (rc)
		trie_fini(t);
	return rc;
}

/* Build the trie of the texts that are not plain. */
static int make_special(struct trie *t, infer_error *err)
{
	struct trie_text *text;
	uint32_t n = 0, k = 0;

	for (uint32_t i = 0; i < t->n_texts; i++)
		n += t->chars[i] == TRIE_ANY;
	t->special = slab_zalloc(t->slab, 1, sizeof *t->special);
	text = slab_alloc(t->slab, (size_t)n + 1, sizeof *text);
	if (!t->special || !text) {
		slab_free(t->slab, text);
		return err_nomem(err);
	}
	for (uint32_t i = 0; i < t->n_texts; i++)
		if (t->chars[i] == TRIE_ANY)
			text[k++] = t->text[i];
	return trie_make(t->special, text, n, t->slab, err);
}

static uint16_t groups_of(const struct trie_text *x, const uint16_t group[256])
{
	uint16_t groups = 0;

	for (uint32_t i = 0; i < x->n; i++)
		groups |= group[(uint8_t)x->at[i]];
	return groups;
}

struct kinded {
	uint32_t key, id; /* key: groups << 8 | characters */
};

static int compare_kinds(const void *x, const void *y)
{
	const struct kinded *a = x, *b = y;

	if (a->key != b->key)
		return (a->key > b->key) - (a->key < b->key);
	return (a->id > b->id) - (a->id < b->id);
}

/* Sort by key: a radix sort in two passes of 12 bits, or a comparison sort if there are few. */
static void sort_kinds(struct kinded *s, struct kinded *spare, uint32_t n)
{
	enum { BITS = 12 };
	struct kinded *from = s, *to = spare;

	if (n < 1u << BITS) {
		qsort(s, n, sizeof *s, compare_kinds);
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
	return make_special(t, err);
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
	if (t->special)
		trie_fini(t->special);
	slab_free(t->slab, t->special);
	*t = (struct trie){ 0 };
}
