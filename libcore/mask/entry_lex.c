/* mask/entry_lex.c - entries of terminals: follow the texts of a trie through all terminals of a state. */
#include "mask/inner.h"
#include "base/err.h"
#include "automata/work.h"

#include <string.h>

enum { LOOPS = 64 };

/* a terminal that can continue: its number in the set, and its state */
struct live {
	uint32_t number, state;
};

/* the terminals after each depth: live[at ... at + n) */
struct level {
	uint32_t at, n;
	struct decoder dec;
};

struct lex_walk {
	struct entry_builder *f;
	const struct stack_item *set;
	struct level *level; /* [longest + 1] */
	struct live *live;
	uint32_t cap_live, n_terminals, words;
	uint64_t *bits; /* [words] scratch */
	struct loops {
		const struct dfa *d;
		uint32_t state;
		uint16_t groups; /* text_loops */
	} loops[LOOPS];          /* a direct-mapped cache, by state */
};

static const struct dfa *terminal_dfa(const struct lex_walk *w, uint32_t i)
{
	return w->f->k->g->plain[w->set->data[SET_FIRST + SET_WORDS * i]];
}

static uint32_t terminal_flags(const struct lex_walk *w, uint32_t i)
{
	return w->set->data[SET_FIRST + SET_WORDS * i + 1];
}

/* Set w->bits to the terminals of a level that may end; lazy: those that end at once.  Returns 0: none */
static int find_complete(struct lex_walk *w, const struct level *l, int lazy)
{
	int some = 0;

	memset(w->bits, 0, w->words * sizeof *w->bits);
	for (uint32_t i = l->at; i < l->at + l->n && !l->dec.mode; i++) {
		const uint32_t k = w->live[i].number;

		if (!dfa_accepts(terminal_dfa(w, k), w->live[i].state) ||
		    (lazy && !(terminal_flags(w, k) & LEX_IS_LAZY)))
			continue;
		bit_set(w->bits, k);
		some = 1;
	}
	return some;
}

/* Find or add the set w->bits. */
static int intern_set(struct lex_walk *w, uint32_t *number)
{
	struct entry_builder *f = w->f;
	struct entry *e = f->e;
	uint64_t *bits;

	for (*number = 0; *number < e->n_lex_sets; ++*number)
		if (!memcmp(e->lex_set[*number].bits, w->bits, w->words * sizeof *w->bits))
			return INFER_OK;
	if (!builder_charge(f, e->n_lex_sets))
		return builder_too_long(f);
	TRY(builder_grow(f, &e->lex_set, &f->cap_lex_sets, e->n_lex_sets + 1, sizeof *e->lex_set));
	bits = slab_alloc(&f->k->slab, w->words, sizeof *bits);
	if (!bits)
		return err_nomem(f->err);
	memcpy(bits, w->bits, w->words * sizeof *bits);
	e->lex_set[e->n_lex_sets++].bits = bits;
	e->bytes += w->words * sizeof *bits + sizeof *e->lex_set;
	return INFER_OK;
}

/* Advance the terminals of a level by a byte. */
static int step_level(struct lex_walk *w, const struct level *from, struct level *to, uint8_t b)
{
	enum decoded got;
	uint32_t cp;

	*to = (struct level){ from->at + from->n, 0, from->dec };
	TRY(builder_grow(w->f, &w->live, &w->cap_live, to->at + from->n, sizeof *w->live));
	got = decode_utf8(&to->dec, b, &cp);
	for (uint32_t i = from->at; i < from->at + from->n; i++) {
		struct live x = w->live[i];
		const struct dfa *d = terminal_dfa(w, x.number);

		if (got == DECODE_CHAR)
			x.state = dfa_step(d, x.state, cp);
		if (got == DECODE_CHAR   ? dfa_live(x.state)
		    : got == DECODE_MORE ? step_can_continue(d, x.state, &to->dec, SPAN_ANY)
		                         : 0)
			w->live[to->at + to->n++] = x;
	}
	return INFER_OK;
}

/* True if the only terminal stays in its state for all characters of these groups. */
static int is_loop(struct lex_walk *w, const struct live *x, uint16_t groups)
{
	const struct dfa *d = terminal_dfa(w, x->number);
	struct loops *l = w->loops + x->state % LOOPS;

	if (l->d != d || l->state != x->state)
		*l = (struct loops){ d, x->state, text_loops(d, x->state) };
	return !(groups & ~l->groups);
}

/* True if whatever plain characters of these groups follow continue a terminal and end none at once. */
static int is_endless(struct lex_walk *w, const struct level *l, uint16_t groups)
{
	int all = 0;

	if (l->n == 1 && !l->dec.mode &&
	    !(terminal_flags(w, w->live[l->at].number) & LEX_IS_LAZY) &&
	    is_loop(w, w->live + l->at, groups))
		return 1;

	for (uint32_t i = l->at; i < l->at + l->n; i++) {
		const uint32_t k = w->live[i].number;

		if (terminal_flags(w, k) & LEX_IS_LAZY)
			return 0;
		all |= terminal_dfa(w, k)->flags[w->live[i].state] & DFA_ALL;
	}
	return all && !l->dec.mode;
}

/* Record that terminals end before the last byte of node i, if any may. */
static int end_before(struct lex_walk *w, const struct level *from, uint32_t i)
{
	uint32_t set;

	if (!find_complete(w, from, 0))
		return INFER_OK;
	TRY(intern_set(w, &set));
	TRY(builder_add_exit(w->f, i, set));
	w->f->exit[w->f->n_exits - 1].before = 1;
	return INFER_OK;
}

/* Visit node i.  *below: 1 if terminals continue after it */
static int visit_node(struct lex_walk *w, uint32_t i, int *below)
{
	struct entry_builder *f = w->f;
	const struct trie_node *x = f->t->node + i;
	const struct level *from = w->level + x->depth - 1;
	struct level *to = w->level + x->depth;
	uint32_t set;

	*below = 0;
	if (!builder_charge(f, from->n + 1))
		return builder_too_long(f);
	if (x->height != TRIE_ANY && is_endless(w, from, x->groups)) {
		builder_allow(f, x->first, f->t->node[x->skip].first);
		f->e->continues[x->byte] |= x->depth == 1;
		return INFER_OK;
	}
	TRY(step_level(w, from, to, x->byte));
	if (!to->n) /* terminals that end before the first byte: e->leave */
		return x->depth > 1 ? end_before(w, from, i) : INFER_OK;
	builder_allow(f, x->first, x[1].first);
	f->e->continues[x->byte] |= x->depth == 1;
	if (find_complete(w, to, 1)) {
		TRY(intern_set(w, &set));
		return builder_add_exit(f, i, set);
	}
	*below = 1;
	return INFER_OK;
}

/* List the tokens whose first byte continues a terminal, if there are many. */
static int list_begun(struct lex_walk *w)
{
	const struct entry_builder *f = w->f;
	const struct trie *t = f->t;
	struct entry *e = f->e;

	if (!e->may_leave || t->n_texts < f->k->words)
		return INFER_OK;
	e->begun = slab_zalloc(&f->k->slab, f->k->words, sizeof *e->begun);
	if (!e->begun)
		return err_nomem(f->err);
	e->bytes += f->k->words * sizeof *e->begun;
	for (int b = 0; b < 256; b++) {
		const struct trie_node *x = t->node + t->begin[b];

		for (uint32_t i = x->first;
		     e->continues[b] && t->begin[b] && i < t->node[x->skip].first; i++)
			bit_set(e->begun, t->id[i]);
	}
	return INFER_OK;
}

static int walk_terminals(struct lex_walk *w)
{
	struct entry_builder *f = w->f;
	struct entry *e = f->e;
	struct level *l = w->level;

	for (uint32_t i = 0; i < w->n_terminals; i++)
		w->live[i] = (struct live){ i, w->set->data[SET_FIRST + SET_WORDS * i + 2] };
	*l = (struct level){ 0, w->n_terminals, { w->set->data[SET_MODE], w->set->data[SET_ACC] } };
	if (find_complete(w, l, 0)) {
		TRY(intern_set(w, &e->leave));
		e->may_leave = 1;
	}
	for (uint32_t i = 1; i < f->t->n_nodes;) {
		int below;

		TRY(visit_node(w, i, &below));
		i = below ? i + 1 : f->t->node[i].skip;
	}
	return list_begun(w);
}

int build_lex_entry(struct entry_builder *f)
{
	struct slab *slab = &f->k->slab;
	struct lex_walk w = { .f = f, .set = f->from->stack };
	int rc;

	w.n_terminals = lex_set_size(w.set);
	w.words = (w.n_terminals + 63) / 64;
	w.level = slab_alloc(slab, (size_t)f->t->longest + 1, sizeof *w.level);
	w.bits = slab_alloc(slab, (size_t)w.words + 1, sizeof *w.bits);
	f->e->continues = slab_zalloc(slab, 256, 1);
	f->e->bytes += 256;
	rc = w.level && w.bits && f->e->continues ? INFER_OK : err_nomem(f->err);
	if (!rc)
		rc = builder_grow(f, &w.live, &w.cap_live, w.n_terminals + 1, sizeof *w.live);
	if (!rc)
		rc = walk_terminals(&w);
	slab_free(slab, w.level);
	slab_free(slab, w.bits);
	slab_free(slab, w.live);
	return rc;
}
