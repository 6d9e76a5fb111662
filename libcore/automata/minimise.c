/* automata/minimise.c - equivalent states.  For a finite language: in reverse topological order, by
 * hashing rows.  Else by refining two partitions: of states into blocks, and of transitions into
 * cords, which have one label and lead to one block. */
#include "automata/minimise.h"

/* A refinable partition of 0 ... n - 1: the elements of set s are elem[first[s] .. past[s]); the first
 * marked[s] of them are marked. */
struct partition {
	uint32_t n_sets, n_touched;
	uint32_t *elem, *at; /* elem[at[e]] == e */
	uint32_t *set;       /* [n] the set of an element */
	uint32_t *first, *past, *marked, *touched;
};

static int partition_init(struct work *w, struct partition *p, uint32_t n)
{
	TRY(work_steps(w, (uint64_t)n * 4));
	TRY(work_alloc(w, &p->elem, n, sizeof *p->elem));
	TRY(work_alloc(w, &p->at, n, sizeof *p->at));
	TRY(work_alloc(w, &p->set, n, sizeof *p->set));
	TRY(work_alloc(w, &p->first, n, sizeof *p->first));
	TRY(work_alloc(w, &p->past, n, sizeof *p->past));
	TRY(work_alloc(w, &p->marked, n, sizeof *p->marked));
	TRY(work_alloc(w, &p->touched, n, sizeof *p->touched));
	for (uint32_t i = 0; i < n; i++)
		p->elem[i] = p->at[i] = i;
	p->n_sets = n > 0;
	if (n)
		p->past[0] = n;
	return INFER_OK;
}

static void mark_element(struct partition *p, uint32_t e)
{
	uint32_t s = p->set[e], i = p->at[e], j = p->first[s] + p->marked[s];

	p->elem[i] = p->elem[j];
	p->at[p->elem[i]] = i;
	p->elem[j] = e;
	p->at[e] = j;
	if (!p->marked[s]++)
		p->touched[p->n_touched++] = s;
}

/* Split each set with marked elements into marked and others; the smaller part is the new set. */
static void split_marked(struct partition *p)
{
	while (p->n_touched) {
		uint32_t s = p->touched[--p->n_touched], j = p->first[s] + p->marked[s],
			 z = p->n_sets;

		if (j == p->past[s]) {
			p->marked[s] = 0;
			continue;
		}
		if (p->marked[s] <= p->past[s] - j) {
			p->first[z] = p->first[s];
			p->past[z] = p->first[s] = j;
		} else {
			p->past[z] = p->past[s];
			p->first[z] = p->past[s] = j;
		}
		for (uint32_t i = p->first[z]; i < p->past[z]; i++)
			p->set[p->elem[i]] = z;
		p->marked[s] = p->marked[z] = 0;
		p->n_sets++;
	}
}

/* Sort the indices of keys[0 .. m) by key: those with key k < n are list[begin[k] .. begin[k + 1]). */
static int sort_by_key(struct work *w, const uint32_t *keys, uint32_t m, uint32_t n,
                       uint32_t **begin, uint32_t **list)
{
	TRY(work_steps(w, (uint64_t)m * 2 + n));
	TRY(work_alloc(w, begin, (uint64_t)n + 2, sizeof **begin));
	TRY(work_alloc(w, list, m, sizeof **list));
	uint32_t *b = *begin + 1;

	for (uint32_t i = 0; i < m; i++)
		b[keys[i] + 1]++;
	for (uint32_t k = 0; k < n; k++)
		b[k + 1] += b[k];
	for (uint32_t i = 0; i < m; i++)
		(*list)[b[keys[i]]++] = i;
	return INFER_OK;
}

/* Partition the transitions by label. */
static int partition_by_label(struct work *w, struct partition *c, const struct partial *p)
{
	uint32_t *begin, *list;

	TRY(partition_init(w, c, p->m));
	TRY(sort_by_key(w, p->label, p->m, p->n_labels, &begin, &list));
	c->n_sets = 0;
	for (uint32_t k = 0; k < p->n_labels; k++) {
		uint32_t z = c->n_sets;

		if (begin[k] == begin[k + 1])
			continue;
		c->first[z] = begin[k];
		c->past[z] = begin[k + 1];
		for (uint32_t i = begin[k]; i < begin[k + 1]; i++) {
			c->elem[i] = list[i];
			c->at[list[i]] = i;
			c->set[list[i]] = z;
		}
		c->n_sets++;
	}
	return INFER_OK;
}

/* -- finite languages ----------------------------------------------------------------------- */

/* Set row: the transitions of state s are row[s] ... row[s + 1] - 1. */
static int index_rows(struct work *w, const struct partial *p, uint32_t **row)
{
	TRY(work_steps(w, (uint64_t)p->n + p->m));
	TRY(work_alloc(w, row, (uint64_t)p->n + 1, sizeof **row));
	for (uint32_t t = 0; t < p->m; t++)
		(*row)[p->tail[t] + 1]++;
	for (uint32_t s = 0; s < p->n; s++)
		(*row)[s + 1] += (*row)[s];
	return INFER_OK;
}

/* Sort the states topologically, successors first.  *n: number sorted; p->n if there is no cycle */
static int sort_topologically(struct work *w, const struct partial *p, const uint32_t *row,
                              uint32_t *queue, uint32_t *n)
{
	uint32_t *open, *begin, *into;

	*n = 0;
	TRY(work_alloc(w, &open, p->n, sizeof *open));
	for (uint32_t s = 0; s < p->n; s++) {
		open[s] = row[s + 1] - row[s];
		if (!open[s])
			queue[(*n)++] = s;
	}
	if (!*n)
		return INFER_OK;
	TRY(sort_by_key(w, p->head, p->m, p->n, &begin, &into));
	TRY(work_steps(w, p->m));
	for (uint32_t i = 0; i < *n; i++)
		for (uint32_t k = begin[queue[i]]; k < begin[queue[i] + 1]; k++)
			if (!--open[p->tail[into[k]]])
				queue[(*n)++] = p->tail[into[k]];
	return INFER_OK;
}

static uint32_t hash_row(const struct partial *p, const uint32_t *row, const uint32_t *block,
                         uint32_t s)
{
	uint32_t h = p->accept[s];

	for (uint32_t t = row[s]; t < row[s + 1]; t++)
		h = htab_mix(htab_mix(h, p->label[t]), block[p->head[t]]);
	return h;
}

static int equal_rows(const struct partial *p, const uint32_t *row, const uint32_t *block,
                      uint32_t a, uint32_t b)
{
	const uint32_t n = row[a + 1] - row[a];

	if (p->accept[a] != p->accept[b] || row[b + 1] - row[b] != n)
		return 0;
	for (uint32_t t = row[a], u = row[b]; t < row[a + 1]; t++, u++)
		if (p->label[t] != p->label[u] || block[p->head[t]] != block[p->head[u]])
			return 0;
	return 1;
}

/* As minimise; sets *n_blocks to 0 if there is a cycle. */
static int minimise_finite(struct work *w, const struct partial *p, uint32_t *block,
                           uint32_t *n_blocks)
{
	uint32_t *row, *queue, *first, n;
	struct htab classes;

	*n_blocks = 0;
	TRY(index_rows(w, p, &row));
	TRY(work_alloc(w, &queue, p->n, sizeof *queue));
	TRY(sort_topologically(w, p, row, queue, &n));
	if (n < p->n)
		return INFER_OK;
	TRY(work_alloc(w, &first, p->n, sizeof *first));
	TRY(htab_init(w, &classes));
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t s = queue[i], leave = row[s + 1] - row[s],
			       hash = hash_row(p, row, block, s);
		struct htab_slot *e = htab_find(&classes, hash);

		TRY(work_steps(w, 2 * (uint64_t)leave + 1));
		for (; e->index != NOWHERE; e = htab_next(&classes, e)) {
			TRY(work_steps(w, 1));
			if (e->hash == hash && equal_rows(p, row, block, first[e->index], s))
				break;
		}
		block[s] = e->index != NOWHERE ? e->index : *n_blocks;
		if (e->index != NOWHERE)
			continue;
		first[*n_blocks] = s;
		TRY(htab_insert(w, &classes, e, hash, (*n_blocks)++));
	}
	return INFER_OK;
}

int minimise(struct work *w, const struct partial *p, uint32_t *block, uint32_t *n_blocks)
{
	struct partition b = { 0 }, c = { 0 };
	uint32_t *begin, *into, n_b = 1;

	TRY(minimise_finite(w, p, block, n_blocks));
	if (*n_blocks)
		return INFER_OK;
	TRY(partition_init(w, &b, p->n));
	TRY(partition_by_label(w, &c, p));
	TRY(sort_by_key(w, p->head, p->m, p->n, &begin, &into));
	for (uint32_t s = 0; s < p->n; s++)
		if (p->accept[s])
			mark_element(&b, s);
	split_marked(&b);
	for (uint32_t n_c = 0; n_c < c.n_sets; n_c++) {
		TRY(work_steps(w, 4 * (uint64_t)(c.past[n_c] - c.first[n_c]) + 1));
		for (uint32_t i = c.first[n_c]; i < c.past[n_c]; i++)
			mark_element(&b, p->tail[c.elem[i]]);
		split_marked(&b);
		for (; n_b < b.n_sets; n_b++) {
			for (uint32_t i = b.first[n_b]; i < b.past[n_b]; i++) {
				uint32_t s = b.elem[i];

				TRY(work_steps(w, 4 * (uint64_t)(begin[s + 1] - begin[s]) + 1));
				for (uint32_t k = begin[s]; k < begin[s + 1]; k++)
					mark_element(&c, into[k]);
			}
			split_marked(&c);
		}
	}
	for (uint32_t s = 0; s < p->n; s++)
		block[s] = b.set[s];
	*n_blocks = b.n_sets;
	return INFER_OK;
}
