/* automata/draft.c - from a draft to the minimal automaton: drop states that are unreachable or dead,
 * merge equivalent states, merge equal classes, number both canonically. */
#include "automata/minimise.h"

#include <string.h>

int draft_state(struct work *w, struct draft *m, int accept, uint32_t *state)
{
	uint32_t k = m->classes.n_classes;

	TRY(work_steps(w, k));
	TRY(work_grow(w, &m->next, &m->cap_next, ((uint64_t)m->n + 1) * k, sizeof *m->next));
	TRY(work_grow(w, &m->accept, &m->cap_accept, (uint64_t)m->n + 1, sizeof *m->accept));
	memset(m->next + (size_t)m->n * k, 0xff, k * sizeof *m->next);
	m->accept[m->n] = accept != 0;
	*state = m->n++;
	return INFER_OK;
}

/* Set the transitions of p to those between states with seen[s] == level. */
static int collect_transitions(struct work *w, struct partial *p, const struct draft *m,
                               const uint8_t *seen, uint8_t level)
{
	uint32_t k = m->classes.n_classes;
	uint64_t n = 0;

	TRY(work_steps(w, (uint64_t)m->n * k * 2));
	for (size_t i = 0; i < (size_t)m->n * k; i++)
		n += m->next[i] != NOWHERE && seen[i / k] == level && seen[m->next[i]] == level;
	if (n > INT32_MAX)
		return err_set(w->err, INFER_EUNSUP, "%s needs more than 2^31 transitions",
		               w->what);
	TRY(work_alloc(w, &p->tail, n, sizeof *p->tail));
	TRY(work_alloc(w, &p->label, n, sizeof *p->label));
	TRY(work_alloc(w, &p->head, n, sizeof *p->head));
	p->n_labels = k;
	p->m = 0;
	for (uint32_t s = 0; s < m->n; s++) {
		const uint32_t *row = m->next + (size_t)s * k;

		if (seen[s] != level)
			continue;
		for (uint32_t c = 0; c < k; c++)
			if (row[c] != NOWHERE && seen[row[c]] == level) {
				p->tail[p->m] = s;
				p->label[p->m] = c;
				p->head[p->m++] = row[c];
			}
	}
	return INFER_OK;
}

enum { UNSEEN, REACHABLE, LIVE };
/* Set seen[s]: REACHABLE from the start; LIVE: an accepting state is reachable from s, too. */
static int find_live(struct work *w, const struct draft *m, uint8_t *seen)
{
	struct partial p;
	uint32_t k = m->classes.n_classes, n = 0, *stack, *begin;

	TRY(work_alloc(w, &stack, m->n, sizeof *stack));
	TRY(work_alloc(w, &begin, (uint64_t)m->n + 2, sizeof *begin));
	TRY(work_steps(w, (uint64_t)m->n * k));
	seen[m->start] = REACHABLE;
	stack[n++] = m->start;
	while (n) {
		const uint32_t *row = m->next + (size_t)stack[--n] * k;

		for (uint32_t c = 0; c < k; c++)
			if (row[c] != NOWHERE && !seen[row[c]]) {
				seen[row[c]] = REACHABLE;
				stack[n++] = row[c];
			}
	}
	TRY(collect_transitions(w, &p, m, seen, REACHABLE));
	/* a counting sort by head: p.label[begin[s] .. begin[s + 1]) are the predecessors of s */
	for (uint32_t t = 0; t < p.m; t++)
		begin[p.head[t] + 2]++;
	for (uint32_t s = 1; s <= m->n; s++)
		begin[s + 1] += begin[s];
	for (uint32_t t = 0; t < p.m; t++)
		p.label[begin[p.head[t] + 1]++] = p.tail[t];
	for (uint32_t s = 0; s < m->n; s++)
		if (m->accept[s] && seen[s]) {
			seen[s] = LIVE;
			stack[n++] = s;
		}
	while (n) {
		uint32_t s = stack[--n];

		for (uint32_t t = begin[s]; t < begin[s + 1]; t++)
			if (seen[p.label[t]] == REACHABLE) {
				seen[p.label[t]] = LIVE;
				stack[n++] = p.label[t];
			}
	}
	return INFER_OK;
}

/* the automaton of equivalence classes: states 1 ... n - 1, in any order; 0 is dead */
struct quotient {
	uint32_t n, k, start;
	uint32_t *next; /* [n][k] */
	uint8_t *accept;
};

/* Minimise p.  start: a state of p; NOWHERE: p is empty */
static int minimise_partial(struct work *w, struct quotient *q, const struct partial *p,
                            uint32_t start)
{
	uint32_t *block, n_blocks = 0;

	TRY(work_alloc(w, &block, p->n, sizeof *block));
	if (p->n)
		TRY(minimise(w, p, block, &n_blocks));
	q->n = n_blocks + 1;
	q->k = p->n_labels;
	TRY(work_steps(w, (uint64_t)p->m + p->n));
	TRY(work_alloc(w, &q->next, (uint64_t)q->n * q->k, sizeof *q->next));
	TRY(work_alloc(w, &q->accept, q->n, sizeof *q->accept));
	for (uint32_t s = 0; s < p->n; s++)
		q->accept[block[s] + 1] = p->accept[s];
	for (uint32_t t = 0; t < p->m; t++)
		q->next[(size_t)(block[p->tail[t]] + 1) * q->k + p->label[t]] =
			block[p->head[t]] + 1;
	q->start = start != NOWHERE ? block[start] + 1 : 0;
	return INFER_OK;
}

static int minimise_draft(struct work *w, struct quotient *q, const struct draft *m)
{
	struct partial p = { 0 };
	uint8_t *seen;
	uint32_t *id;

	TRY(work_alloc(w, &seen, m->n, sizeof *seen));
	TRY(work_alloc(w, &id, m->n, sizeof *id));
	TRY(find_live(w, m, seen));
	TRY(collect_transitions(w, &p, m, seen, LIVE));
	TRY(work_alloc(w, &p.accept, m->n, sizeof *p.accept));
	for (uint32_t s = 0; s < m->n; s++)
		if (seen[s] == LIVE) {
			p.accept[p.n] = m->accept[s];
			id[s] = p.n++;
		}
	for (uint32_t t = 0; t < p.m; t++) {
		p.tail[t] = id[p.tail[t]];
		p.head[t] = id[p.head[t]];
	}
	return minimise_partial(w, q, &p, seen[m->start] == LIVE ? id[m->start] : NOWHERE);
}

/* Split the groups of columns by their values in one row; *n: the number of groups. */
static int split_columns(struct work *w, struct htab *t, const uint32_t *row, uint32_t k,
                         uint32_t *group, uint32_t (*key)[2], uint32_t *n)
{
	TRY(work_steps(w, (uint64_t)t->mask + k));
	htab_clear(t);
	*n = 0;
	for (uint32_t c = 0; c < k; c++) {
		uint32_t hash = htab_mix(group[c], row[c]);
		struct htab_slot *e = htab_find(t, hash);

		for (; e->index != NOWHERE; e = htab_next(t, e)) {
			TRY(work_steps(w, 1));
			if (key[e->index][0] == group[c] && key[e->index][1] == row[c])
				break;
		}
		if (e->index == NOWHERE) {
			key[*n][0] = group[c];
			key[*n][1] = row[c];
			group[c] = *n;
			TRY(htab_insert(w, t, e, hash, (*n)++));
		} else {
			group[c] = e->index;
		}
	}
	return INFER_OK;
}

/* Set join[c] to the first class whose column equals that of c. */
static int find_equal_columns(struct work *w, const struct quotient *q, uint32_t *join)
{
	uint32_t n = 1, *group, (*key)[2];
	struct htab t;

	TRY(work_alloc(w, &group, q->k, sizeof *group));
	TRY(work_alloc(w, &key, q->k, sizeof *key));
	TRY(htab_init(w, &t));
	for (uint32_t s = 1; s < q->n && n < q->k; s++) {
		const uint32_t *row = q->next + (size_t)s * q->k;
		uint32_t c = 0;

		TRY(work_steps(w, q->k));
		while (c < q->k && row[c] == row[join[c]])
			c++;
		if (c == q->k)
			continue;
		TRY(split_columns(w, &t, row, q->k, group, key, &n));
		/* groups are numbered by their first column */
		for (uint32_t g = 0, i = 0; i < q->k; i++) {
			if (group[i] == g)
				key[g++][0] = i;
			join[i] = key[group[i]][0];
		}
	}
	return INFER_OK;
}

/* canonical numbers: of classes by their first code point, of states breadth first */
struct numbering {
	uint32_t n_classes, n_ranges, n_states;
	uint32_t *class_at;          /* [n_classes] a class of the quotient with this number */
	uint32_t *from, *of;         /* [n_ranges] */
	uint32_t *state_at, *number; /* quotient state of a number; number of a quotient state */
};

static int number_classes(struct work *w, struct numbering *o, const struct quotient *q,
                          const struct classes *c)
{
	uint32_t *join, *number;

	TRY(work_alloc(w, &join, q->k, sizeof *join));
	TRY(work_alloc(w, &number, q->k, sizeof *number));
	TRY(work_alloc(w, &o->class_at, q->k, sizeof *o->class_at));
	TRY(work_alloc(w, &o->from, c->n, sizeof *o->from));
	TRY(work_alloc(w, &o->of, c->n, sizeof *o->of));
	TRY(find_equal_columns(w, q, join));
	TRY(work_steps(w, c->n));
	memset(number, 0xff, q->k * sizeof *number);
	for (uint32_t i = 0; i < c->n; i++) {
		uint32_t j = join[c->of[i]];

		if (number[j] == NOWHERE) {
			o->class_at[o->n_classes] = j;
			number[j] = o->n_classes++;
		}
		if (o->n_ranges && o->of[o->n_ranges - 1] == number[j])
			continue;
		o->from[o->n_ranges] = c->from[i];
		o->of[o->n_ranges++] = number[j];
	}
	return INFER_OK;
}

static int number_states(struct work *w, struct numbering *o, const struct quotient *q)
{
	TRY(work_alloc(w, &o->state_at, (uint64_t)q->n + 1, sizeof *o->state_at));
	TRY(work_alloc(w, &o->number, q->n, sizeof *o->number));
	TRY(work_steps(w, (uint64_t)q->n * o->n_classes));
	o->n_states = 1; /* the dead state */
	if (q->start) {
		o->state_at[1] = q->start;
		o->number[q->start] = 1;
		o->n_states = 2;
	}
	for (uint32_t i = 1; i < o->n_states; i++)
		for (uint32_t c = 0; c < o->n_classes; c++) {
			uint32_t s = q->next[(size_t)o->state_at[i] * q->k + o->class_at[c]];

			if (!s || o->number[s])
				continue;
			o->state_at[o->n_states] = s;
			o->number[s] = o->n_states++;
		}
	return INFER_OK;
}

static size_t round16(size_t n) { return (n + 15) & ~(size_t)15; }

/* Allocate a dfa, with tables that are zero. */
static int alloc_dfa(struct dfa **out, struct work *w, const struct numbering *o)
{
	const size_t next = round16(sizeof **out),
		     least = round16(next + (size_t)o->n_states * o->n_classes * 4),
		     greatest = round16(least + (size_t)o->n_states * 4),
		     from = round16(greatest + (size_t)o->n_states * 4),
		     of = round16(from + (size_t)o->n_ranges * 4),
		     flags = round16(of + (size_t)o->n_ranges * 2),
		     bytes = flags + round16(o->n_states);
	char *at;

	TRY(work_bytes(w, bytes));
	at = mem_zalloc(MEM_AUTOMATA, 1, bytes);
	if (!at) {
		w->left->bytes += bytes;
		return err_set(w->err, INFER_ENOMEM, "%s: out of memory", w->what);
	}
	*out = (void *)at;
	**out = (struct dfa){
		.n_states = o->n_states,
		.n_classes = o->n_classes,
		.n_ranges = o->n_ranges,
		.start = o->n_states > 1 ? DFA_START : DFA_DEAD,
		.bytes = bytes,
		.next = (void *)(at + next),
		.least = (void *)(at + least),
		.greatest = (void *)(at + greatest),
		.from = (void *)(at + from),
		.range_class = (void *)(at + of),
		.flags = (void *)(at + flags),
	};
	return INFER_OK;
}

/* Fill in the distances to an end.  Every state but 0 is live, so a state has no greatest distance
 * exactly if it reaches a cycle.
 * into[begin[s] .. begin[s + 1])  the transitions to s
 * open                            successors of each state without a greatest distance yet */
static void fill_distances(const struct dfa *d, const struct partial *p, const uint32_t *begin,
                           const uint32_t *into, uint32_t *queue, uint32_t *open)
{
	uint32_t *least = (uint32_t *)d->least, *greatest = (uint32_t *)d->greatest, n = 0;

	memset(least, 0xff, d->n_states * sizeof *least);
	for (uint32_t s = 0; s < d->n_states; s++)
		if (dfa_accepts(d, s)) {
			least[s] = 0;
			queue[n++] = s;
		}
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t t = begin[queue[i]]; t < begin[queue[i] + 1]; t++) {
			uint32_t s = p->tail[into[t]];

			if (least[s] != DFA_FOREVER)
				continue;
			least[s] = least[queue[i]] + 1;
			queue[n++] = s;
		}
	n = 0;
	for (uint32_t s = 1; s < d->n_states; s++) {
		greatest[s] = open[s] ? DFA_FOREVER : 0;
		if (!open[s])
			queue[n++] = s;
	}
	/* queue: states whose successors all have a greatest distance */
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t t = begin[queue[i]]; t < begin[queue[i] + 1]; t++) {
			uint32_t s = p->tail[into[t]];

			if (--open[s])
				continue;
			/* breadth first from the ends: the last successor is the farthest */
			greatest[s] = greatest[queue[i]] + 1;
			queue[n++] = s;
		}
}

static int find_distances(struct work *w, struct dfa *d)
{
	struct partial p = { 0 };
	uint32_t k = d->n_classes, *begin, *into, *queue, *open;
	uint64_t n = (uint64_t)d->n_states * k;

	TRY(work_steps(w, n * 2));
	TRY(work_alloc(w, &begin, (uint64_t)d->n_states + 2, sizeof *begin));
	TRY(work_alloc(w, &queue, d->n_states, sizeof *queue));
	TRY(work_alloc(w, &open, d->n_states, sizeof *open));
	for (size_t i = 0; i < n; i++)
		if (d->next[i] != DFA_DEAD) {
			begin[d->next[i] + 2]++;
			open[i / k]++;
			p.m++;
		}
	TRY(work_steps(w, 2 * (uint64_t)p.m));
	TRY(work_alloc(w, &p.tail, p.m, sizeof *p.tail));
	TRY(work_alloc(w, &into, p.m, sizeof *into));
	for (uint32_t s = 1; s <= d->n_states; s++)
		begin[s + 1] += begin[s];
	p.m = 0;
	for (size_t i = 0; i < n; i++)
		if (d->next[i] != DFA_DEAD) {
			p.tail[p.m] = (uint32_t)(i / k);
			into[begin[d->next[i] + 1]++] = p.m++;
		}
	fill_distances(d, &p, begin, into, queue, open);
	return INFER_OK;
}

static void fill_tables(struct dfa *d, const struct numbering *o, const struct quotient *q)
{
	uint32_t *next = (uint32_t *)d->next, *from = (uint32_t *)d->from;
	uint16_t *of = (uint16_t *)d->range_class;
	uint8_t *flags = (uint8_t *)d->flags;

	for (uint32_t i = 1; i < d->n_states; i++) {
		uint32_t same = 0;

		for (uint32_t c = 0; c < d->n_classes; c++) {
			uint32_t s = q->next[(size_t)o->state_at[i] * q->k + o->class_at[c]];

			next[(size_t)i * d->n_classes + c] = o->number[s];
			same += o->number[s] == i;
		}
		flags[i] = q->accept[o->state_at[i]] ? DFA_ACCEPT : 0;
		if (flags[i] && same == d->n_classes)
			flags[i] |= DFA_ALL;
	}
	for (uint32_t i = 0, r = 0; i < 128; i++) {
		r += r + 1 < o->n_ranges && o->from[r + 1] == i;
		d->ascii[i] = (uint16_t)o->of[r];
	}
	for (uint32_t i = 0; i < o->n_ranges; i++) {
		from[i] = o->from[i];
		of[i] = (uint16_t)o->of[i];
	}
}

static int finish_quotient(struct dfa **out, struct work *w, const struct quotient *q,
                           const struct classes *classes)
{
	struct numbering o = { 0 };
	struct dfa *d = NULL;
	int rc;

	TRY(number_classes(w, &o, q, classes));
	TRY(number_states(w, &o, q));
	TRY(work_steps(w, (uint64_t)o.n_states * o.n_classes));
	TRY(alloc_dfa(&d, w, &o));
	fill_tables(d, &o, q);
	rc = find_distances(w, d);
	if (rc)
		dfa_drop(d, w->left);
	else
		*out = d;
	return rc;
}

int draft_finish(struct dfa **out, struct work *w, const struct draft *m)
{
	struct quotient q = { 0 };

	*out = NULL;
	TRY(minimise_draft(w, &q, m));
	return finish_quotient(out, w, &q, &m->classes);
}

int partial_finish(struct dfa **out, struct work *w, const struct partial *p,
                   const struct classes *classes)
{
	struct quotient q = { 0 };

	*out = NULL;
	TRY(minimise_partial(w, &q, p, p->n ? 0 : NOWHERE));
	return finish_quotient(out, w, &q, classes);
}

/* The dead state and the state that accepts everything swap roles; the automaton stays minimal. */
int complement_finish(struct dfa **out, struct work *w, const struct dfa *a)
{
	const uint32_t all = a->n_states;
	struct quotient q = { .n = a->n_states + 1, .k = a->n_classes };
	struct classes classes;
	uint32_t *to;

	*out = NULL;
	TRY(classes_of(w, &classes, a));
	TRY(work_steps(w, (uint64_t)q.n * q.k));
	TRY(work_alloc(w, &to, q.n, sizeof *to));
	TRY(work_alloc(w, &q.next, (uint64_t)q.n * q.k, sizeof *q.next));
	TRY(work_alloc(w, &q.accept, q.n, sizeof *q.accept));
	for (uint32_t s = 0; s < a->n_states; s++)
		to[s] = s == DFA_DEAD ? all : a->flags[s] & DFA_ALL ? 0 : s;
	for (uint32_t s = 1; s < a->n_states; s++) {
		q.accept[s] = !dfa_accepts(a, s);
		for (size_t i = (size_t)s * q.k; i < (size_t)(s + 1) * q.k; i++)
			q.next[i] = to[a->next[i]];
	}
	q.accept[all] = 1;
	for (uint32_t c = 0; c < q.k; c++)
		q.next[(size_t)all * q.k + c] = all;
	q.start = to[a->start];
	return finish_quotient(out, w, &q, &classes);
}
