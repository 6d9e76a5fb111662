/* mask/past.c - bytes that the grammar forces, and states to go back to. */
#include "mask/mask.h"
#include "base/err.h"
#include "base/mem.h"

/* If exactly one byte is accepted, set *byte and advance *at; else set *one to 0. */
static int forced_byte(struct match *m, struct match_state *at, struct match_state *try, char *byte,
                       int *one, infer_error *err)
{
	struct match_state next = { 0 };
	int rc = INFER_OK, n = 0;

	for (int b = 0; b < 256 && n < 2 && !rc; b++) {
		rc = match_copy(m, try, at, err);
		if (!rc)
			rc = match_byte(m, try, (uint8_t)b, err);
		if (rc || !match_live(try))
			continue;
		if (!n++) {
			*byte = (char)b;
			next = *try;
			*try = (struct match_state){ 0 };
		}
	}
	*one = !rc && n == 1;
	if (*one) {
		match_drop(m, at);
		*at = next;
	} else {
		match_drop(m, &next);
	}
	return rc;
}

int mask_forced(struct match *m, const struct match_state *at, char *bytes, uint32_t cap,
                uint32_t *n, infer_error *err)
{
	struct match_state here = { 0 }, try = { 0 };
	int rc = match_copy(m, &here, at, err), one = 1, waits = 0;
	uint32_t got = 0;

	*n = 0;
	while (!rc && one && got < cap && !match_may_end(m, &here)) {
		rc = match_wants(m, &here, NULL, &waits, err);
		one = !waits;
		if (!rc && one)
			rc = forced_byte(m, &here, &try, bytes + got, &one, err);
		got += !rc && one;
	}
	match_drop(m, &here);
	match_drop(m, &try);
	if (!rc)
		*n = got;
	return rc;
}

static int reserve_past(struct mask_past *past, infer_error *err)
{
	const uint32_t cap = past->cap ? past->cap * 2 : 32;
	struct match_state *at;

	if (past->n < past->cap)
		return INFER_OK;
	if (past->cap > UINT32_MAX / 2)
		return err_set(err, INFER_EUNSUP, "the text is too long");
	at = mem_realloc(MEM_GRAMMAR, past->at, cap, sizeof *at);
	if (!at)
		return err_nomem(err);
	past->at = at;
	past->cap = cap;
	return INFER_OK;
}

int mask_take(struct mask_past *past, struct match *m, struct match_state *at, const char *bytes,
              uint32_t n, int *takes, infer_error *err)
{
	struct match_state to = { 0 };
	int rc = reserve_past(past, err);

	*takes = 0;
	if (!rc)
		rc = match_copy(m, &to, at, err);
	for (uint32_t i = 0; i < n && !rc && match_live(&to); i++)
		rc = match_byte(m, &to, (uint8_t)bytes[i], err);
	if (rc || !match_live(&to)) {
		match_drop(m, &to);
		return rc;
	}
	past->at[past->n++] = *at;
	*at = to;
	*takes = 1;
	return INFER_OK;
}

void mask_back(struct mask_past *past, struct match *m, struct match_state *at, uint32_t n)
{
	for (; n && past->n; n--) {
		match_drop(m, at);
		*at = past->at[--past->n];
	}
}

void mask_past_drop(struct mask_past *past, struct match *m)
{
	while (past->n)
		match_drop(m, past->at + --past->n);
	mem_free(past->at);
	*past = (struct mask_past){ 0 };
}
