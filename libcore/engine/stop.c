/* engine/stop.c - stop strings in a stream of text, independent of how tokens divide it */
#include "engine/stop.h"
#include <infer/status.h>

#include <string.h>

static void find_borders(struct stop_string *s)
{
	int32_t k = 0;

	for (int32_t i = 1; i < s->len; i++) {
		while (k && s->at[i] != s->at[k])
			k = s->border[k - 1];
		k += s->at[i] == s->at[k];
		s->border[i] = k;
	}
}

int stop_init(struct stop *s, struct arena *a, const struct infer_str *strings, int32_t n)
{
	*s = (struct stop){ .n = n, .met = -1 };
	if (!n)
		return INFER_OK;
	s->strings = arena_alloc(a, (size_t)n, sizeof *s->strings);
	for (int32_t i = 0; i < n && !a->bad; i++) {
		struct stop_string *t = &s->strings[i];

		*t = (struct stop_string){ .at = arena_strndup(a, strings[i].at, strings[i].len),
			                   .len = (int32_t)strings[i].len };
		t->border = arena_alloc(a, strings[i].len, sizeof *t->border);
		if (a->bad)
			break;
		find_borders(t);
		if (t->len > s->longest)
			s->longest = t->len;
	}
	s->held = arena_alloc(a, (size_t)s->longest, 1);
	return a->bad ? INFER_ENOMEM : INFER_OK;
}

/* Advance every automaton by one byte; *held: the longest prefix that matches.  Returns the
 * longest complete match. */
static int32_t advance_automata(struct stop *s, char c, int32_t *held)
{
	int32_t whole = 0;

	*held = 0;
	for (int32_t i = 0; i < s->n; i++) {
		struct stop_string *t = &s->strings[i];

		while (t->state && (t->state == t->len || t->at[t->state] != c))
			t->state = t->border[t->state - 1];
		t->state += t->at[t->state] == c;
		if (t->state == t->len && t->len > whole) {
			whole = t->len;
			s->met = i;
		}
		if (t->state > *held)
			*held = t->state;
	}
	return whole;
}

/* Output the first n bytes of the held text followed by `bytes`. */
static void put_held(struct stop *s, const char *bytes, size_t n, struct buf *out)
{
	size_t from_held = n < (size_t)s->n_held ? n : (size_t)s->n_held;

	buf_put(out, s->held, from_held);
	memmove(s->held, s->held + from_held, (size_t)s->n_held - from_held);
	s->n_held -= (int32_t)from_held;
	buf_put(out, bytes, n - from_held);
}

int stop_put(struct stop *s, const char *bytes, size_t n, struct buf *out)
{
	int32_t held = s->n_held, whole;
	size_t total = (size_t)s->n_held + n, free_bytes, from;

	if (s->over)
		return 1;
	if (!s->n || !n) {
		buf_put(out, bytes, n);
		return 0;
	}
	for (size_t i = 0; i < n; i++) {
		whole = advance_automata(s, bytes[i], &held);
		if (whole) {
			put_held(s, bytes,
			         (size_t)s->n_held + i + 1 - (s->keep ? 0 : (size_t)whole), out);
			s->n_held = 0;
			return s->over = 1;
		}
	}
	free_bytes = total - (size_t)held;
	from = free_bytes > (size_t)s->n_held ? free_bytes - (size_t)s->n_held : 0;
	put_held(s, bytes, free_bytes, out);
	memcpy(s->held + s->n_held, bytes + from, n - from);
	s->n_held = held;
	return 0;
}

void stop_flush(struct stop *s, struct buf *out)
{
	if (s->n_held)
		buf_put(out, s->held, (size_t)s->n_held);
	s->n_held = 0;
}

const uint64_t *stop_others(struct stop *s, const uint64_t *allowed, int32_t n_vocab)
{
	const int32_t n = (n_vocab + 63) / 64;
	uint64_t *both = s->others + n, any = 0;

	if (!allowed)
		return s->others;
	for (int32_t i = 0; i < n; i++)
		any |= both[i] = s->others[i] & allowed[i];
	return any ? both : allowed;
}
