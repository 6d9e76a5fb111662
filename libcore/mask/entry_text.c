/* mask/entry_text.c - entries of strings, names, numbers and texts: follow the texts of a trie from a state of
 * an automaton. */
#include "mask/inner.h"
#include "base/err.h"
#include "automata/work.h"

#include <string.h>

enum { LOOKS = 32, CHAIN = 128, SMALL_TABLE = 4096, LONG_WAY = 256 };

/* Facts about a state.  safe: number of plain characters, whichever they are, that can follow;
 * exact: 1: no more can follow; loops: groups of characters that stay in the state. */
struct bound {
	uint32_t state;
	uint16_t loops;
	uint8_t safe, exact;
};

enum { BOUNDS = 64 };

struct text_walk {
	struct entry_builder *f;
	const struct dfa *d;
	enum entry_kind kind;
	struct bound bound[BOUNDS]; /* a direct-mapped cache, by state */
};

/* Return the state to which all n classes lead, or NOWHERE. *live, *dead: 1 if one leads there */
static uint32_t only_successor(const uint32_t *next, uint32_t n, int *live, int *dead)
{
	int same = 1;

	*live = *dead = 0;
	for (uint32_t c = 0; c < n && !(*live && *dead); c++) {
		*live |= dfa_live(next[c]);
		*dead |= !dfa_live(next[c]);
		same &= next[c] == next[0];
	}
	return same ? next[0] : NOWHERE;
}

static void find_safe(const struct dfa *d, struct bound *b)
{
	uint32_t state = b->state;

	for (; b->safe < LOOKS; b->safe++) {
		uint32_t to;
		int live, dead;

		if (d->flags[state] & DFA_ALL) {
			b->safe = TRIE_ANY - 1;
			return;
		}
		to = only_successor(d->next + (size_t)state * d->n_classes, d->n_classes, &live,
		                    &dead);
		if (dead) {
			b->exact = !live;
			return;
		}
		if (to == NOWHERE) {
			b->safe++;
			return;
		}
		state = to;
	}
}

uint16_t text_loops(const struct dfa *d, uint32_t state)
{
	const uint32_t *next = d->next + (size_t)state * d->n_classes;
	unsigned leave = 0;

	for (uint32_t c = 0x20; c < 0x7f; c++)
		if (c != '"' && c != '\\' && next[d->ascii[c]] != state)
			leave |= 1u << trie_group((uint8_t)c);
	if (next[dfa_class(d, 0x80)] != state)
		leave |= 1;
	for (uint32_t i = d->n_ranges; i-- && d->from[i] > 0x80 && !(leave & 1);)
		leave |= next[d->range_class[i]] != state;
	return (uint16_t)~leave;
}

static const struct bound *get_bound(struct text_walk *w, uint32_t state)
{
	struct bound *b = w->bound + state % BOUNDS;

	if (b->state == state)
		return b;
	*b = (struct bound){ .state = state };
	if (w->kind != ENTRY_NUMBER) {
		find_safe(w->d, b);
		b->loops = text_loops(w->d, state);
	}
	return b;
}

enum text_kind text_kind(const struct dfa *d, uint32_t state, uint32_t longest, uint32_t *accepts,
                         uint32_t *n)
{
	int live, dead;

	*accepts = d->flags[state] & DFA_ACCEPT;
	for (*n = 0; *n <= longest; ++*n) {
		if ((uint32_t)(d->flags[state] & DFA_ACCEPT) != *accepts || *n > LONG_WAY)
			return TEXT_IRREGULAR;
		if (d->flags[state] & DFA_ALL)
			return TEXT_FREE;
		state = only_successor(d->next + (size_t)state * d->n_classes, d->n_classes, &live,
		                       &dead);
		if (!live)
			return TEXT_COUNTED;
		if (dead || state == NOWHERE)
			return TEXT_IRREGULAR;
	}
	return TEXT_FREE;
}

/* True if no live state leads to the dead one. */
static int never_dies(const struct dfa *d)
{
	const size_t n = (size_t)d->n_states * d->n_classes;

	if (n > SMALL_TABLE)
		return 0;
	for (size_t i = d->n_classes; i < n; i++)
		if (!dfa_live(d->next[i]))
			return 0;
	return 1;
}

struct at {
	uint32_t state;
	struct decoder dec;
	uint32_t chars;   /* plain characters that began so far */
	struct span span; /* of the characters that follow */
	uint8_t all;      /* any character can follow */
};

/* Advance by one byte.  Returns DECODE_QUOTE if the item may end after it. */
static enum decoded step_text_byte(const struct text_walk *w, const struct at *from, struct at *to,
                                   uint8_t b)
{
	const struct dfa *d = w->d;
	const enum entry_kind kind = w->kind;
	enum decoded got;
	uint32_t cp = b;

	*to = *from;
	to->chars += (b & 0xc0) != 0x80;
	if (kind == ENTRY_NUMBER)
		got = b < 0x80 ? DECODE_CHAR : DECODE_BAD;
	else if (kind == ENTRY_TEXT)
		got = decode_utf8(&to->dec, b, &cp);
	else if (!from->dec.mode && b >= 0x20 && b < 0x80 && b != '"' && b != '\\')
		got = DECODE_CHAR;
	else
		got = step_decode(w->f->k->m, &to->dec, b, &cp);
	if (got == DECODE_QUOTE)
		return dfa_accepts(d, from->state) && !from->span.least ? got : DECODE_BAD;
	if (got == DECODE_BAD || !from->span.most)
		return DECODE_BAD;
	if (got == DECODE_MORE)
		return step_can_continue(d, from->state, &to->dec, span_after(from->span))
		               ? got
		               : DECODE_BAD;
	to->state = dfa_step(d, from->state, cp);
	to->span = span_after(from->span);
	return dfa_spans(d, to->state, to->span) ? got : DECODE_BAD;
}

/* Allow the tokens below a node without a walk if lengths or groups decide; else return 0. */
static int allow_below(struct text_walk *w, const struct at *from, const struct trie_node *x)
{
	const struct trie *t = w->f->t;
	const uint32_t end = t->node[x->skip].first;
	uint32_t most = from->span.most;
	int exact = 1; /* no more than `most` characters can follow */
	const struct bound *b;

	if (from->dec.mode || x->height == TRIE_ANY || w->kind == ENTRY_NUMBER ||
	    !w->f->from->simple)
		return 0;
	b = get_bound(w, from->state);
	if (!from->all && (x->groups & ~b->loops)) {
		exact = b->exact || b->safe >= most;
		most = b->safe < most ? b->safe : most;
	}
	if (x->height <= most) {
		builder_allow(w->f, x->first, end);
		return 1;
	}
	if (!exact || t->chars[x->first] == TRIE_ANY)
		return 0;
	for (uint32_t i = x->first; i < end; i++)
		if (t->chars[i] <= from->chars + most)
			builder_allow_token(w->f, t->id[i]);
	return 1;
}

/* successors of a state by groups of plain characters */
struct ways {
	uint32_t live, dead; /* groups that lead to a live, to the dead state */
	uint32_t to;         /* the live state; NOWHERE: none */
	int split;           /* 1: there is more than one live state */
};

static void add_way(struct ways *w, uint32_t to, uint8_t byte)
{
	if (!dfa_live(to)) {
		w->dead |= 1u << trie_group(byte);
		return;
	}
	w->split |= w->to != NOWHERE && w->to != to;
	w->to = to;
	w->live |= 1u << trie_group(byte);
}

/* Return the groups that a state accepts if all of them lead to one state, *to; else 0. */
static uint32_t accepted_groups(const struct dfa *d, uint32_t state, uint32_t *to)
{
	const uint32_t *next = d->next + (size_t)state * d->n_classes;
	struct ways w = { .to = NOWHERE };

	for (uint32_t c = 0x20; c < 0x7f; c++)
		if (c != '"' && c != '\\')
			add_way(&w, next[d->ascii[c]], (uint8_t)c);
	add_way(&w, next[dfa_class(d, 0x80)], 0x80);
	for (uint32_t i = d->n_ranges; i-- && d->from[i] > 0x80;)
		add_way(&w, next[d->range_class[i]], 0x80);
	*to = w.to;
	return w.split || w.live & w.dead ? 0 : w.live;
}

/* Allow the plain texts of these groups of at most n characters. */
static void allow_kinds(struct text_walk *w, uint32_t groups, uint32_t n)
{
	const struct trie *t = w->f->t;

	for (uint32_t i = 0; i < t->n_kinds; i++)
		for (uint32_t k = t->kind[i].first;
		     !(t->kind[i].groups & ~groups) && k < t->kind[i + 1].first &&
		     t->kind_chars[k] <= n;
		     k++)
			builder_allow_token(w->f, t->kind_id[k]);
}

/* Allow the plain texts of some groups up to a length if no others are accepted; else return 0. */
static int allow_groups(struct text_walk *w, uint32_t state)
{
	const uint32_t most = w->f->from->span.most;
	uint32_t to, n = 0, groups = accepted_groups(w->d, state, &to);

	if (!groups)
		return 0;
	for (; n < CHAIN && to != state; n++) {
		uint32_t more;

		state = to;
		more = accepted_groups(w->d, state, &to);
		if (to == NOWHERE)
			break;
		if (more != groups)
			return 0;
	}
	if (n == CHAIN)
		return 0;
	n = to == NOWHERE ? n + 1 : TRIE_ANY;
	allow_kinds(w, groups, n < most ? n : most);
	return 1;
}

/* Allow all plain texts at once if lengths or groups decide; only other texts are then walked. */
static void allow_plain(struct text_walk *w, const struct at *from)
{
	struct mask *k = w->f->k;
	const struct trie *t = w->f->t;
	const struct bound *b = get_bound(w, from->state);
	const int all = from->all || b->safe >= TRIE_ANY - 1, any = from->span.most == DFA_FAR;
	uint32_t most = from->span.most;

	if (!t->special || from->dec.mode || w->kind == ENTRY_NUMBER || !w->f->from->simple)
		return;
	if (!all && (b->exact || b->safe >= most))
		most = b->safe < most ? b->safe : most;
	else if (!all && allow_groups(w, from->state))
		most = NOWHERE;
	else if (!all || (!any && most >= TRIE_ANY - 1))
		return;
	if (most < TRIE_LEVELS - 1 || most == DFA_FAR) {
		most = most == DFA_FAR ? TRIE_LEVELS - 1 : most;
		memcpy(k->scratch, t->plain + (size_t)most * t->words, t->words * sizeof *t->plain);
		memset(k->touched, 0xff, (t->words / 64 + 1) * sizeof *k->touched);
	} else if (most != NOWHERE) {
		allow_kinds(w, UINT32_MAX, most);
	}
	w->f->t = t->special;
}

static int walk_texts(struct text_walk *w, struct at *at)
{
	struct entry_builder *f = w->f;

	for (uint32_t i = 1; i < f->t->n_nodes;) {
		const struct trie_node *x = f->t->node + i;
		const struct at *from = at + x->depth - 1;

		if (!builder_charge(f, 1))
			return builder_too_long(f);
		if (allow_below(w, from, x)) {
			i = x->skip;
			continue;
		}
		switch (step_text_byte(w, from, at + x->depth, x->byte)) {
		case DECODE_BAD:
			i = x->skip;
			continue;
		case DECODE_QUOTE:
			if (w->kind != ENTRY_NAME)
				builder_allow(f, x->first, x[1].first);
			TRY(builder_add_exit(f, i, NOWHERE));
			i = x->skip;
			continue;
		default:
			builder_allow(f, x->first, x[1].first);
			if (w->kind == ENTRY_NUMBER && dfa_accepts(w->d, at[x->depth].state))
				TRY(builder_add_exit(f, i, NOWHERE));
			i++;
		}
	}
	return INFER_OK;
}

int build_text_entry(struct entry_builder *f)
{
	const struct entry_key *key = &f->e->key;
	struct at *at = slab_alloc(&f->k->slab, (size_t)f->t->longest + 1, sizeof *at);
	struct text_walk w = { .f = f, .d = f->from->text, .kind = (enum entry_kind)key->kind };
	int rc;

	if (!at)
		return err_nomem(f->err);
	at[0] = (struct at){ .state = f->from->state,
		             .dec = { key->d[1], key->d[2] },
		             .span = f->from->span };
	if (key->kind == ENTRY_NUMBER)
		f->e->may_leave = dfa_accepts(w.d, at[0].state);
	else
		at[0].all = f->from->free || never_dies(w.d);
	allow_plain(&w, at);
	rc = walk_texts(&w, at);
	slab_free(&f->k->slab, at);
	return rc;
}
