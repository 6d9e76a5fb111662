/* tests/fuzz/regex.c - any bytes as a regular expression: refused in one line, or an automaton for
 * which the laws hold: with its complement it is nothing and everything, twice complemented it is
 * itself, the whole match is the search between ^ and $, a shortest member is accepted.
 * Input: the pattern. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "base/err.h"
#include "base/utf8.h"
#include "automata/regex.h"
#include "../unit/automata/equal.h"

enum { STEPS = 3000000, BYTES = 64 << 20 };

/* NULL: refused, which is said in one line. */
static struct dfa *compile(const char *s, size_t n, enum regex_how how, int *rc)
{
	struct budget left = { STEPS, BYTES };
	infer_error err = { 0 };
	struct dfa *d;

	*rc = regex_dfa(&d, s, n, how, &left, &err);
	must(*rc == INFER_OK || *rc == INFER_EINVAL || *rc == INFER_EUNSUP);
	must(!*rc == !!d && left.bytes + (d ? d->bytes : 0) == BYTES);
	must(!*rc || (*err.message && !strchr(err.message, '\n') && err.code == *rc));
	return d;
}

/* A shortest member is accepted. */
static void shortest(const struct dfa *d)
{
	enum { MOST = 400 };
	uint32_t state = d->start;
	char text[4 * MOST];
	size_t len = 0;

	if (dfa_is_none(d) || d->least[state] > MOST)
		return;
	for (uint32_t i = 0; d->least[state]; i++) {
		const uint32_t to = dfa_step(d, state, d->from[i]);

		if (d->least[to] >= d->least[state])
			continue;
		len += (size_t)utf8_put(text + len, d->from[i]);
		state = to;
		i = UINT32_MAX;
	}
	must(dfa_match(d, text, len));
}

static void laws(const struct dfa *d)
{
	struct budget left = { STEPS * 8, BYTES * 2 };
	struct dfa *n = NULL, *both = NULL, *any = NULL, *again = NULL;

	if (!dfa_not(&n, d, &left, NULL) && !dfa_and(&both, d, n, &left, NULL) &&
	    !dfa_or(&any, d, n, &left, NULL) && !dfa_not(&again, n, &left, NULL)) {
		must(dfa_is_none(both));
		must(dfa_is_all(any));
		must(dfa_equal(again, d));
	}
	dfa_drop(n, &left);
	dfa_drop(both, &left);
	dfa_drop(any, &left);
	dfa_drop(again, &left);
	must(left.bytes == BYTES * 2);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *tight = malloc(size + !size), *framed = malloc(size + 6);
	struct dfa *d, *whole, *search;
	int rc;

	if (!tight || !framed)
		abort();
	memcpy(tight, data, size);
	d = compile(tight, size, REGEX_SEARCH, &rc);
	if (d) {
		laws(d);
		shortest(d);
		memcpy(framed, "^(?:", 4);
		memcpy(framed + 4, tight, size);
		memcpy(framed + 4 + size, ")$", 2);
		whole = compile(tight, size, REGEX_WHOLE, &rc);
		search = compile(framed, size + 6, REGEX_SEARCH, &rc);
		must(!whole || !search || dfa_equal(whole, search));
		if (whole)
			shortest(whole);
		dfa_free(whole);
		dfa_free(search);
	} else if (rc == INFER_EINVAL) {
		whole = compile(tight, size, REGEX_WHOLE, &rc);
		must(!whole && rc == INFER_EINVAL);
	}
	dfa_free(d);
	free(tight);
	free(framed);
	return 0;
}
