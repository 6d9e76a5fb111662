/* tests/fuzz/walk.h - random texts that a grammar admits: a beginning that is admitted can be
 * continued or may end, and a copy of a place is that place. */
#ifndef TESTS_FUZZ_WALK_H
#define TESTS_FUZZ_WALK_H
#include <string.h>
#include "base/err.h"
#include "ir/match.h"

enum { WALK_STEPS = 60, WALK_TRIES = 256 };

/* One more byte, of those that are admitted one at random.  0: the walk ends here. */
static int walk_on(struct match *m, struct match_state *at, uint64_t *dice, int lexed)
{
	struct match_state next = { 0 };
	int live = 0, rc = INFER_OK;

	*dice = *dice * 6364136223846793005u + 1442695040888963407u;
	for (int i = 0; i < WALK_TRIES && !live && !rc; i++) {
		/* every byte once: 167 has no factor in common with 256 */
		uint8_t byte = (uint8_t)(*dice >> 56) + (uint8_t)(i * 167);

		must(!match_copy(m, &next, at, NULL) && match_same(&next, at));
		rc = match_byte(m, &next, byte, NULL);
		must(rc == INFER_OK || rc == INFER_EUNSUP);
		live = !rc && match_live(&next);
	}
	if (live)
		must(!match_copy(m, at, &next, NULL));
	match_drop(m, &next);
	/* terminals that are read together may leave no way on */
	must(live || rc || match_may_end(m, at) || lexed);
	return live;
}

static void walk(const struct grammar *g, uint64_t dice)
{
	static const struct budget most = { 1 << 16, 16 << 20 };
	struct match_state at = { 0 };
	struct match *m;

	must(!match_new(&m, g, MATCH_TIDY, &most, NULL));
	int rc = match_begin(m, &at, NULL);
	must(!rc || rc == INFER_EUNSUP);
	must(rc || match_live(&at) || ir_is_none(g));
	for (int i = 0; match_live(&at) && i < WALK_STEPS && walk_on(m, &at, &dice, g->lexed); i++)
		;
	match_drop(m, &at);
	match_free(m);
}

/* What was compiled, or refused in one line, under a budget whose bytes were `bytes`. */
static void walk_all(struct grammar *g, int rc, const infer_error *err, struct budget *left,
                     uint64_t bytes)
{
	must(rc == INFER_OK || rc == INFER_EINVAL || rc == INFER_EUNSUP);
	must(!rc == !!g);
	must(!rc || (*err->message && !strchr(err->message, '\n') && err->code == rc));
	for (uint64_t i = 0; g && i < 4; i++)
		walk(g, i);
	ir_drop(g, left);
	must(left->bytes == bytes);
}
#endif
