/* hf/scan.c - read a JSON text token by token. */
#include "hf/scan.h"
#include "base/err.h"
#include "base/jread.h"
#include "base/utf8.h"

#include <string.h>

int hf_scan_fail(const struct hf_scan *s, infer_error *err, const char *why)
{
	return hf_fail(s->d, s->name, INFER_EFORMAT, err, "%s%sbyte %zu: %s",
	               s->member ? s->member : "", s->member ? ", " : "", (size_t)(s->at - s->text),
	               s->at == s->end ? "the text ends too early" : why);
}

int hf_scan_open(struct hf_scan *s, struct hf_dir *d, const struct hf_text *t, infer_error *err)
{
	*s = (struct hf_scan){ d, t->name, NULL, t->at, t->at, t->at + t->n };
	if (t->n >= UINT32_MAX)
		return hf_fail(d, t->name, INFER_EFORMAT, err, "the file has %zu bytes", t->n);
	s->at += utf8_check(t->at, t->n);
	if (s->at < s->end)
		return hf_scan_fail(s, err, "the text is not UTF-8");
	s->at = t->at;
	return INFER_OK;
}

static void skip_scan_space(struct hf_scan *s)
{
	while (s->at < s->end &&
	       (*s->at == ' ' || *s->at == '\n' || *s->at == '\r' || *s->at == '\t'))
		s->at++;
}

int hf_scan_is(struct hf_scan *s, char c)
{
	skip_scan_space(s);
	return s->at < s->end && *s->at == c;
}

int hf_scan_take(struct hf_scan *s, char c, infer_error *err)
{
	char why[] = "'?' expected";

	if (!hf_scan_is(s, c)) {
		why[1] = c;
		return hf_scan_fail(s, err, why);
	}
	s->at++;
	return INFER_OK;
}

int hf_scan_more(struct hf_scan *s, char close, int first, int *more, infer_error *err)
{
	*more = !hf_scan_is(s, close);
	if (!*more)
		s->at++;
	else if (!first)
		return hf_scan_take(s, ',', err);
	return INFER_OK;
}

/* Find the first quote, backslash or control character of [p, end). */
static const char *skip_plain(const char *p, const char *end)
{
	const uint64_t ones = 0x0101010101010101, tops = 0x8080808080808080;

	for (; end - p >= 8; p += 8) {
		uint64_t w;
		memcpy(&w, p, 8);
		/* only the lowest marked byte is reliable: borrows propagate upwards */
		uint64_t hit = ((w - ones * 0x20) | ((w ^ ones * '"') - ones) |
		                ((w ^ ones * '\\') - ones)) &
		               ~w & tops;
		if (hit)
			return p + __builtin_ctzll(hit) / 8;
	}
	while (p < end && (unsigned char)*p >= 0x20 && *p != '"' && *p != '\\')
		p++;
	return p;
}

/* Skip a string.  *raw: its text with the quotes; *escapes: true if it has escapes. */
static int skip_string(struct hf_scan *s, struct infer_str *raw, int *escapes, infer_error *err)
{
	const char *from = s->at;

	TRY(hf_scan_take(s, '"', err));
	from = s->at - 1;
	for (*escapes = 0;; s->at += 2) {
		s->at = skip_plain(s->at, s->end);
		if (s->at < s->end && *s->at == '"')
			break;
		if (s->end - s->at < 2 || *s->at != '\\')
			return hf_scan_fail(s, err, "a control character in a string");
		*escapes = 1;
	}
	s->at++;
	*raw = (struct infer_str){ from, (size_t)(s->at - from) };
	return INFER_OK;
}

int hf_scan_str(struct hf_scan *s, struct infer_str *out, infer_error *err)
{
	const struct json *v;
	struct infer_str raw;
	int escapes;

	TRY(skip_string(s, &raw, &escapes, err));
	*out = (struct infer_str){ raw.at + 1, raw.len - 2 };
	if (!escapes)
		return INFER_OK;
	if (jread(&v, &s->d->brief, raw.at, raw.len, s->name, NULL)) {
		s->at = raw.at;
		return hf_scan_fail(s, err, "an escape of the string is not valid");
	}
	*out = (struct infer_str){ v->s, v->n };
	return INFER_OK;
}

int hf_scan_num(struct hf_scan *s, struct json *out, infer_error *err)
{
	*out = (struct json){ 0 };
	skip_scan_space(s);
	size_t n = jread_num(out, s->at, (size_t)(s->end - s->at));
	if (!n || !json_is_number(out))
		return hf_scan_fail(s, err, n ? "the number is too large" : "a number expected");
	s->at += n;
	return INFER_OK;
}

/* Skip a number, true, false or null. */
static int skip_word(struct hf_scan *s, infer_error *err)
{
	const char *from = s->at;

	while (s->at < s->end && (strchr("+-.", *s->at) || (*s->at >= '0' && *s->at <= '9') ||
	                          (*s->at >= 'a' && *s->at <= 'z') || *s->at == 'E'))
		s->at++;
	return s->at == from || !*from ? hf_scan_fail(s, err, "a value expected") : INFER_OK;
}

int hf_scan_value(struct hf_scan *s, struct infer_str *out, infer_error *err)
{
	struct infer_str raw;
	int depth = 0, escapes;
	const char *from;

	skip_scan_space(s);
	from = s->at;
	do {
		skip_scan_space(s);
		char c = s->at < s->end ? *s->at : 0;
		if (c == '"') {
			TRY(skip_string(s, &raw, &escapes, err));
		} else if (c == '[' || c == '{') {
			s->at++;
			if (++depth > JREAD_DEPTH)
				return hf_scan_fail(s, err, "nested too deeply");
		} else if (depth && (c == ']' || c == '}')) {
			s->at++;
			depth--;
		} else if (depth && (c == ',' || c == ':')) {
			s->at++;
		} else {
			TRY(skip_word(s, err));
		}
	} while (depth);
	*out = (struct infer_str){ from, (size_t)(s->at - from) };
	return INFER_OK;
}

int hf_scan_tree(const struct hf_scan *s, struct infer_str value, size_t most, const char *member,
                 struct arena *a, const struct json **out, infer_error *err)
{
	infer_error why;

	*out = NULL;
	if (!value.at)
		return INFER_OK;
	if (value.len > most)
		return hf_fail(s->d, s->name, INFER_EUNSUP, err,
		               "%s has %zu bytes, and more than %zu are not supported", member,
		               value.len, most);
	int rc = jread(out, a, value.at, value.len, member, &why);
	return rc ? hf_fail(s->d, s->name, rc, err, "%s", why.message) : INFER_OK;
}
