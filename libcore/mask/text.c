/* mask/text.c - what one automaton says about a trie: strings, names, numbers, texts. */
#include "mask/inner.h"
#include "base/err.h"
#include "automata/work.h"

#include <string.h>

enum { LOOKS = 32, CHAIN = 128, SMALL_TABLE = 4096, LONG_WAY = 256 };

/* What is known of a state.  safe: so many plain characters certainly leave a way on, whichever
 * they are, at most as many as a node is tall; exact: one more leaves none.  loops: the groups of
 * characters that do not leave the state. */
struct bound {
	uint32_t state;
	uint16_t loops;
	uint8_t safe, exact;
};

enum { BOUNDS = 64 };

struct walk {
	struct finder *f;
	const struct dfa *d;
	enum form form;
	struct bound bound[BOUNDS]; /* by the last bits of the state, the ones last asked */
};

/* Where all of n classes lead, or NOWHERE; *live: some lead on, *dead: some do not. */
static uint32_t only_way(const uint32_t *next, uint32_t n, int *live, int *dead)
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
		to = only_way(d->next + (size_t)state * d->n_classes, d->n_classes, &live, &dead);
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

static void find_loops(const struct dfa *d, struct bound *b)
{
	const uint32_t *next = d->next + (size_t)b->state * d->n_classes;
	unsigned leave = 0;

	for (uint32_t c = 0x20; c < 0x7f; c++)
		if (c != '"' && c != '\\' && next[d->ascii[c]] != b->state)
			leave |= 1u << trie_group((uint8_t)c);
	if (next[dfa_class(d, 0x80)] != b->state)
		leave |= 1;
	for (uint32_t i = d->n_ranges; i-- && d->from[i] > 0x80 && !(leave & 1);)
		leave |= next[d->range_class[i]] != b->state;
	b->loops = (uint16_t)~leave;
}

static const struct bound *bound_of(struct walk *w, uint32_t state)
{
	struct bound *b = w->bound + state % BOUNDS;

	if (b->state == state)
		return b;
	*b = (struct bound){ .state = state };
	if (w->form != FORM_NUMBER) {
		find_safe(w->d, b);
		find_loops(w->d, b);
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
			return TEXT_OWN;
		if (d->flags[state] & DFA_ALL)
			return TEXT_FREE;
		state = only_way(d->next + (size_t)state * d->n_classes, d->n_classes, &live,
		                 &dead);
		if (!live)
			return TEXT_COUNTED;
		if (dead || state == NOWHERE)
			return TEXT_OWN;
	}
	return TEXT_FREE;
}

/* Whether no state that can be reached has a way to the end of all. */
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
	uint32_t chars; /* that began so far, as the trie counts them */
	uint8_t all;    /* all goes on */
};

/* Behind one byte.  DECODE_QUOTE: the frame may end behind it */
static enum decoded step(const struct walk *w, const struct at *from, struct at *to, uint8_t b)
{
	const struct dfa *d = w->d;
	const enum form form = w->form;
	enum decoded got;
	uint32_t cp = b;

	*to = *from;
	to->chars += (b & 0xc0) != 0x80;
	if (form == FORM_NUMBER)
		got = b < 0x80 ? DECODE_CHAR : DECODE_BAD;
	else if (form == FORM_TEXT)
		got = decode_utf8(&to->dec, b, &cp);
	else if (!from->dec.mode && b >= 0x20 && b < 0x80 && b != '"' && b != '\\')
		got = DECODE_CHAR;
	else
		got = step_decode(w->f->k->m, &to->dec, b, &cp);
	if (got == DECODE_QUOTE)
		return dfa_accepts(d, from->state) ? DECODE_QUOTE : DECODE_BAD;
	if (got == DECODE_MORE)
		return step_can_continue(d, from->state, &to->dec) ? got : DECODE_BAD;
	if (got == DECODE_BAD)
		return got;
	to->state = dfa_step(d, from->state, cp);
	if (!dfa_live(to->state))
		return DECODE_BAD;
	return got;
}

/* Take all tokens below a node if they are allowed whatever their bytes are. */
static int take_below(struct walk *w, const struct at *from, const struct trie_node *x)
{
	const struct trie *t = w->f->t;
	const uint32_t end = t->node[x->skip].first;
	const struct bound *b;

	if (from->dec.mode || x->tall == TRIE_ANY || w->form == FORM_NUMBER)
		return 0;
	b = bound_of(w, from->state);
	if (from->all || x->tall <= b->safe || !(x->groups & ~b->loops)) {
		finder_take(w->f, x->first, end);
		return 1;
	}
	if (!b->exact || t->chars[x->first] == TRIE_ANY)
		return 0;
	for (uint32_t i = x->first; i < end; i++)
		if (t->chars[i] <= from->chars + b->safe)
			finder_set(w->f, t->id[i]);
	return 1;
}

/* Where the groups of plain characters lead. */
struct ways {
	uint32_t live, dead, to; /* groups; to: NOWHERE, none is live */
	int split;               /* to more than one state */
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

/* The groups that a state admits, if all of them lead to the same state, *to; else 0. */
static uint32_t admitted(const struct dfa *d, uint32_t state, uint32_t *to)
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

/* Take the plain texts where every character is of the same groups, up to a number of them. */
static int take_groups(struct walk *w, uint32_t state)
{
	const struct trie *t = w->f->t;
	uint32_t to, n = 0, groups = admitted(w->d, state, &to);

	if (!groups)
		return 0;
	for (; n < CHAIN && to != state; n++) {
		uint32_t more;

		state = to;
		more = admitted(w->d, state, &to);
		if (to == NOWHERE)
			break;
		if (more != groups)
			return 0;
	}
	if (n == CHAIN)
		return 0;
	n = to == NOWHERE ? n + 1 : TRIE_ANY;
	for (uint32_t i = 0; i < t->n_kinds; i++)
		for (uint32_t k = t->kind[i].first;
		     !(t->kind[i].groups & ~groups) && k < t->kind[i + 1].first &&
		     t->kind_chars[k] <= n;
		     k++)
			finder_set(w->f, t->kind_id[k]);
	return 1;
}

/* Take the plain texts without looking at each, where they only count; the others are left. */
static void take_plain(struct walk *w, const struct at *from)
{
	struct mask *k = w->f->k;
	const struct trie *t = w->f->t;
	const struct bound *b = bound_of(w, from->state);
	const int all = from->all || b->safe >= TRIE_ANY - 1;

	if (!t->odd || from->dec.mode || w->form == FORM_NUMBER)
		return;
	if (all || b->exact) {
		memcpy(k->scratch, t->plain + (size_t)(all ? TRIE_LEVELS - 1 : b->safe) * t->words,
		       t->words * sizeof *t->plain);
		memset(k->touched, 0xff, (t->words / 64 + 1) * sizeof *k->touched);
	} else if (!take_groups(w, from->state)) {
		return;
	}
	w->f->t = t->odd;
}

static int walk(struct walk *w, struct at *at)
{
	struct finder *f = w->f;

	for (uint32_t i = 1; i < f->t->n_nodes;) {
		const struct trie_node *x = f->t->node + i;
		const struct at *from = at + x->depth - 1;

		if (!finder_charge(f, 1))
			return finder_too_long(f);
		if (take_below(w, from, x)) {
			i = x->skip;
			continue;
		}
		switch (step(w, from, at + x->depth, x->byte)) {
		case DECODE_BAD:
			i = x->skip;
			continue;
		case DECODE_QUOTE:
			if (w->form != FORM_NAME)
				finder_take(f, x->first, x[1].first);
			TRY(finder_exit(f, i, NOWHERE));
			i = x->skip;
			continue;
		default:
			finder_take(f, x->first, x[1].first);
			if (w->form == FORM_NUMBER && dfa_accepts(w->d, at[x->depth].state))
				TRY(finder_exit(f, i, NOWHERE));
			i++;
		}
	}
	return INFER_OK;
}

int walk_text(struct finder *f)
{
	const struct mask_key *key = &f->e->key;
	struct at *at = slab_alloc(&f->k->slab, (size_t)f->t->longest + 1, sizeof *at);
	struct walk w = { .f = f, .d = f->from->text, .form = (enum form)key->form };
	int rc;

	if (!at)
		return err_nomem(f->err);
	at[0] = (struct at){ .state = f->from->state, .dec = { key->d[1], key->d[2] } };
	if (key->form == FORM_NUMBER)
		f->e->may_leave = dfa_accepts(w.d, at[0].state);
	else
		at[0].all = f->from->free || never_dies(w.d);
	take_plain(&w, at);
	rc = walk(&w, at);
	slab_free(&f->k->slab, at);
	return rc;
}
