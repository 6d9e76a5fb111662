/* tok/merge.c - short words compare all pairs at each merge; longer ones use a heap and a list. */
#include "tok/merge.h"
#include <infer/status.h>
#include "base/mem.h"

#include <string.h>

enum { SHORT = 20 };

int merge_room(struct merge **out, size_t n)
{
	struct merge *m = *out;

	if (!m && !(m = *out = mem_zalloc(MEM_TOK, 1, sizeof *m)))
		return INFER_ENOMEM;
	if (n > m->cap) {
		size_t cap = n < 64 ? 64 : n + n / 4;
		struct merge_sym *sym = mem_realloc(MEM_TOK, m->sym, cap, sizeof *sym);
		if (!sym)
			return INFER_ENOMEM;
		m->sym = sym;
		m->cap = cap;
	}
	m->n = n;
	return INFER_OK;
}

int merge_heap(struct merge *m, size_t n)
{
	struct merge_pair *heap;

	if (n <= m->heap_cap)
		return INFER_OK;
	heap = mem_realloc(MEM_TOK, m->heap, n, sizeof *heap);
	if (!heap)
		return INFER_ENOMEM;
	m->heap = heap;
	m->heap_cap = n;
	return INFER_OK;
}

void merge_free(struct merge *m)
{
	if (!m)
		return;
	mem_free(m->sym);
	mem_free(m->heap);
	mem_free(m);
}

static void run_short(struct merge *m, merge_rank *rank, void *user)
{
	uint32_t key[SHORT];
	int32_t to[SHORT];
	struct merge_sym *s = m->sym;
	size_t n = m->n;

	for (size_t i = 0; i + 1 < n; i++)
		key[i] = rank(user, &s[i], &s[i + 1], &to[i]);
	while (n > 1) {
		size_t b = 0;
		for (size_t i = 1; i + 1 < n; i++)
			b = key[i] < key[b] ? i : b;
		if (key[b] == MERGE_NONE)
			break;
		s[b].id = to[b];
		s[b].len += s[b + 1].len;
		n--;
		memmove(&s[b + 1], &s[b + 2], (n - b - 1) * sizeof *s);
		if (n - b > 1) {
			memmove(&key[b + 1], &key[b + 2], (n - b - 2) * sizeof *key);
			memmove(&to[b + 1], &to[b + 2], (n - b - 2) * sizeof *to);
		}
		if (b)
			key[b - 1] = rank(user, &s[b - 1], &s[b], &to[b - 1]);
		if (b + 1 < n)
			key[b] = rank(user, &s[b], &s[b + 1], &to[b]);
	}
	m->n = n;
}

static int push_pair(struct merge *m, int32_t left, merge_rank *rank, void *user)
{
	const struct merge_sym *l = &m->sym[left];
	struct merge_pair p;

	if (l->next < 0)
		return INFER_OK;
	p.key = rank(user, l, &m->sym[l->next], &p.to);
	if (p.key == MERGE_NONE)
		return INFER_OK;
	p.key = p.key << 32 | (uint32_t)left;
	p.len = l->len + m->sym[l->next].len;
	if (m->heap_n == m->heap_cap && merge_heap(m, m->heap_cap ? 2 * m->heap_cap : 256))
		return INFER_ENOMEM;
	size_t i = m->heap_n++;
	for (; i && m->heap[(i - 1) / 2].key > p.key; i = (i - 1) / 2)
		m->heap[i] = m->heap[(i - 1) / 2];
	m->heap[i] = p;
	return INFER_OK;
}

static struct merge_pair pop_pair(struct merge *m)
{
	struct merge_pair top = m->heap[0], last = m->heap[--m->heap_n];
	size_t i = 0, k;

	while ((k = 2 * i + 1) < m->heap_n) {
		k += k + 1 < m->heap_n && m->heap[k + 1].key < m->heap[k].key;
		if (m->heap[k].key >= last.key)
			break;
		m->heap[i] = m->heap[k];
		i = k;
	}
	m->heap[i] = last;
	return top;
}

static int run_long(struct merge *m, merge_rank *rank, void *user)
{
	struct merge_sym *s = m->sym;
	size_t n = 0;

	m->heap_n = 0;
	for (size_t i = 0; i < m->n; i++) {
		s[i].prev = (int32_t)i - 1;
		s[i].next = i + 1 < m->n ? (int32_t)i + 1 : -1;
	}
	for (size_t i = 0; i + 1 < m->n; i++)
		if (push_pair(m, (int32_t)i, rank, user))
			return INFER_ENOMEM;
	while (m->heap_n) {
		struct merge_pair p = pop_pair(m);
		struct merge_sym *l = &s[(uint32_t)p.key], *r = l->next >= 0 ? &s[l->next] : NULL;
		/* Symbols only grow, so an entry is stale exactly if its length is no longer that
		 * of two neighbours; a symbol merged into its left neighbour has no bytes. */
		if (!l->len || !r || l->len + r->len != p.len)
			continue;
		l->id = p.to;
		l->len = p.len;
		l->next = r->next;
		r->len = 0;
		if (l->next >= 0)
			s[l->next].prev = (int32_t)(uint32_t)p.key;
		if ((l->prev >= 0 && push_pair(m, l->prev, rank, user)) ||
		    push_pair(m, (int32_t)(uint32_t)p.key, rank, user))
			return INFER_ENOMEM;
	}
	for (size_t i = 0; i < m->n; i++)
		if (s[i].len)
			s[n++] = s[i];
	m->n = n;
	return INFER_OK;
}

int merge_run(struct merge *m, merge_rank *rank, void *user)
{
	if (m->n > SHORT)
		return run_long(m, rank, user);
	if (m->n > 1)
		run_short(m, rank, user);
	return INFER_OK;
}
