/* tests/unit/follow.h - a JSON value written as text, and a text followed through a
 * grammar. */
#ifndef TESTS_FOLLOW_H
#define TESTS_FOLLOW_H
#include "base/buf.h"
#include "base/err.h"
#include "base/jwrite.h"
#include "ir/match.h"

/* Whole: how far; less: the first byte that is not admitted. */
__attribute__((unused)) static int follow(const struct grammar *g, enum match_spaces spaces,
                                          const char *s, size_t n, size_t *taken, infer_error *err)
{
	const struct budget most = { 1 << 22, 1 << 26 };
	struct match_state at = { 0 };
	struct match *m;
	int rc, whole = 0;

	*taken = 0;
	if (match_new(&m, g, spaces, &most, err))
		return -1;
	rc = match_begin(m, &at, err);
	for (; !rc && *taken < n && match_live(&at); ++*taken) {
		rc = match_byte(m, &at, (uint8_t)s[*taken], err);
		if (!rc && !match_live(&at))
			break;
	}
	if (!rc)
		whole = *taken == n && match_may_end(m, &at);
	match_drop(m, &at);
	match_free(m);
	return rc ? -1 : whole;
}

/* compact, or with a space behind each comma and colon */
__attribute__((unused)) static void write_spaced(struct buf *b, const struct json *v, int spaced)
{
	struct jwrite w;
	size_t i = 0;

	if (!json_is_array(v) && !json_is_object(v)) {
		struct json one = *v;

		one.key = NULL;
		one.next = NULL;
		jw_init(&w, b);
		jw_value(&w, NULL, &one);
		return;
	}
	buf_put(b, json_is_array(v) ? "[" : "{", 1);
	json_each(e, v) {
		if (i++)
			buf_put(b, ", ", spaced ? 2 : 1);
		if (json_is_object(v)) {
			jw_init(&w, b);
			jw_strn(&w, NULL, e->key, e->key_n);
			buf_put(b, ": ", spaced ? 2 : 1);
		}
		write_spaced(b, e, spaced);
	}
	buf_put(b, json_is_array(v) ? "]" : "}", 1);
}
#endif
