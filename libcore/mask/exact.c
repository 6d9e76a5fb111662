/* mask/exact.c - check the texts of a trie byte by byte, without entries. */
#include "mask/query.h"
#include "base/err.h"

/* up to this number, texts are checked without an entry even if q->recall */
enum { FEW = 64 };

int charge_query(struct mask_query *q, uint64_t n)
{
	if (n > q->left->steps)
		return err_set(q->err, INFER_EUNSUP,
		               "a mask of the vocabulary needs too many steps");
	q->left->steps -= n;
	return INFER_OK;
}

int is_costly(const struct mask_query *q, uint32_t n) { return q->recall && n > FEW; }

int fill_state_exact(struct mask_query *q, const struct trie *t, const struct match_state *at)
{
	if (is_costly(q, t->n_texts))
		return INFER_EAGAIN;
	return vocab_walk(t, q->m, at, q->bits, q->left, q->err);
}

int fill_exact(struct mask_query *q, const struct trie *t, struct stack_item *top)
{
	const struct match_state at = { 1, 0, &top };

	return fill_state_exact(q, t, &at);
}

int check_text(struct mask_query *q, const struct trie_text *x, struct stack_item *top, int *takes)
{
	struct match_state first = { 1, 0, &top }, at = { 0 };
	int rc = match_copy(q->m, &at, &first, q->err);

	for (uint32_t i = 0; i < x->n && !rc && match_live(&at); i++) {
		rc = charge_query(q, (uint64_t)at.n + 1);
		if (!rc)
			rc = match_byte(q->m, &at, (uint8_t)x->at[i], q->err);
	}
	*takes = !rc && match_live(&at);
	match_drop(q->m, &at);
	return rc;
}
