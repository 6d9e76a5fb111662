/* schema/memo.c - memoised operations on automata. */
#include "schema/compile.h"
#include "base/err.h"
#include "base/rng.h"

#include <stdlib.h>
#include <string.h>

/* An operation on automata, or on words, and its result. */
struct memo {
	enum memo_op op;
	const struct dfa *a, *b, *d; /* d: the result */
	uint32_t n;
	const struct dfa_word *words; /* [n]; bytes belong to the document or the arena */
};

static uint32_t fold_hash(uint64_t h) { return (uint32_t)(h ^ h >> 32); }

uint32_t schema_hash(const void *bytes, size_t n, uint64_t seed)
{
	return fold_hash(rng_hash(seed, n ? bytes : "", n));
}

/* Find the slot of an operation, or the free slot for it. Addresses differ from run to run, so
 * probes do not count as steps. */
static struct htab_slot *memo_find(const struct schema *c, const struct memo *like, uint32_t hash)
{
	struct htab_slot *s = htab_find(&c->by_memo, hash);

	for (; s->index != NOWHERE; s = htab_next(&c->by_memo, s)) {
		const struct memo *m = c->memo + s->index;
		uint32_t same = 0;

		if (s->hash != hash || m->op != like->op || m->a != like->a || m->b != like->b ||
		    m->n != like->n)
			continue;
		while (same < m->n && m->words[same].n == like->words[same].n &&
		       (!m->words[same].n ||
		        !memcmp(m->words[same].at, like->words[same].at, m->words[same].n)))
			same++;
		if (same == m->n)
			break;
	}
	return s;
}

static int run_operation(struct schema *c, struct dfa **d, const struct memo *m)
{
	struct budget *left = c->w.left;

	switch (m->op) {
	case MEMO_AND:
		return dfa_and(d, m->a, m->b, left, c->w.err);
	case MEMO_OR:
		return dfa_or(d, m->a, m->b, left, c->w.err);
	case MEMO_MINUS:
		return dfa_minus(d, m->a, m->b, left, c->w.err);
	case MEMO_NOT:
		return m->a ? dfa_not(d, m->a, left, c->w.err) : dfa_all(d, left, c->w.err);
	case MEMO_WORDS:
		break;
	}
	return dfa_words(d, m->words, m->n, left, c->w.err);
}

/* Return the result of an operation, which is run if it is new. */
static int memoise(struct schema *c, struct memo *m, uint32_t hash, const struct dfa **out)
{
	struct htab_slot *s = memo_find(c, m, hash);
	struct dfa *d;

	if (s->index != NOWHERE) {
		*out = c->memo[s->index].d;
		return INFER_OK;
	}
	TRY(run_operation(c, &d, m));
	TRY(schema_own(c, d, &m->d));
	*out = m->d;
	TRY(work_grow(&c->w, &c->memo, &c->cap_memo, c->n_memo + 1, sizeof *c->memo));
	c->memo[c->n_memo] = *m;
	return htab_insert(&c->w, &c->by_memo, s, hash, c->n_memo++);
}

int schema_memo(struct schema *c, enum memo_op op, const struct dfa *a, const struct dfa *b,
                const struct dfa **out)
{
	struct memo m = { .op = op, .a = a, .b = b };
	const void *const operands[] = { a, b };

	TRY(work_steps(&c->w, 1));
	return memoise(c, &m, fold_hash(rng_hash((uint64_t)op, operands, sizeof operands)), out);
}

static int compare_words(const void *a, const void *b)
{
	const struct dfa_word *x = a, *y = b;
	const size_t n = x->n < y->n ? x->n : y->n;
	const int cmp = n ? memcmp(x->at, y->at, n) : 0;

	return cmp ? cmp : (x->n > y->n) - (x->n < y->n);
}

/* Words in another order give the same automaton. */
int schema_words(struct schema *c, const struct dfa_word *words, size_t n, int neg,
                 const struct dfa **out)
{
	struct memo m = { .op = MEMO_WORDS, .n = (uint32_t)n };
	uint64_t hash = n, bytes = 0;
	struct dfa_word *own;

	TRY(work_alloc(&c->w, &own, n + 1, sizeof *own));
	if (n)
		memcpy(own, words, n * sizeof *own);
	if (n > 1)
		qsort(own, n, sizeof *own, compare_words);
	m.words = own;
	for (size_t i = 0; i < n; i++) {
		hash = rng_hash(hash, own[i].n ? own[i].at : "", own[i].n);
		bytes += own[i].n;
	}
	TRY(work_steps(&c->w, bytes + 16 * n));
	TRY(memoise(c, &m, fold_hash(hash), out));
	return neg ? schema_memo(c, MEMO_NOT, *out, NULL, out) : INFER_OK;
}

int schema_unite(struct schema *c, const struct dfa **d, const struct dfa *more)
{
	if (*d)
		return schema_memo(c, MEMO_OR, *d, more, d);
	*d = more;
	return INFER_OK;
}

int schema_complement(struct schema *c, const struct dfa **d)
{
	return schema_memo(c, MEMO_NOT, *d, NULL, d);
}
