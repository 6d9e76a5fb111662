/* tok/pretok_form.c - expressions of tokenizer.json: compare with the list, and translate for
 * PCRE2. */
#include "base/buf.h"
#include "base/err.h"
#include "base/utf8.h"
#include "tok/pretok.h"

#include <string.h>

#define SHORT "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
static const char group[] = "(?:" SHORT ")?";

/* Read the code point of \x{..} at s; returns its length, or 0. */
static size_t escaped(const char *s, size_t n, uint32_t *cp)
{
	size_t at = 3;

	*cp = 0;
	if (n < 5 || memcmp(s, "\\x{", 3))
		return 0;
	for (; at < n && s[at] != '}'; at++) {
		int letter = s[at] | 32;
		int digit = s[at] >= '0' && s[at] <= '9'     ? s[at] - '0'
		            : letter >= 'a' && letter <= 'f' ? letter - 'a' + 10
		                                             : -1;
		if (digit < 0 || *cp > 0xfffff)
			return 0;
		*cp = *cp * 16 + (uint32_t)digit;
	}
	return at < n ? at + 1 : 0;
}

/* Append a pattern in canonical form. */
static void put_form(struct buf *b, const char *s, size_t n)
{
	for (size_t at = 0; at < n;) {
		char utf8[4];
		uint32_t cp;
		size_t k = escaped(s + at, n - at, &cp);
		if (k) {
			buf_put(b, utf8, (size_t)utf8_put(utf8, cp));
			at += k;
		} else if (n - at >= sizeof group - 1 && !memcmp(s + at, group, sizeof group - 1)) {
			buf_puts(b, SHORT "?");
			at += sizeof group - 1;
		} else if (n - at >= 3 &&
		           (!memcmp(s + at, "]?+", 3) || !memcmp(s + at, "]++", 3))) {
			/* the item before is a class that shares no character with the next item */
			buf_put(b, s + at, 2);
			at += 3;
		} else if (n - at >= 6 && !memcmp(s + at, "\\p{sc:", 6)) {
			buf_puts(b, "\\p{");
			at += 6;
		} else {
			buf_putc(b, s[at++]);
		}
	}
}

int pretok_same(const char *a, const char *b, size_t b_n)
{
	struct buf x, y;

	buf_init(&x, MEM_TOK);
	buf_init(&y, MEM_TOK);
	put_form(&x, a, strlen(a));
	put_form(&y, b, b_n);
	int same = !x.bad && !y.bad && x.len == y.len && (!x.len || !memcmp(x.at, y.at, x.len));
	buf_fini(&x);
	buf_fini(&y);
	return same;
}

const struct pretok_stage *pretok_stage_find(const char *s, size_t n)
{
	const struct pretok *p;

	for (size_t i = 0; (p = pretok_at(i)); i++)
		for (int k = 0; k < PRETOK_STAGES && p->stage[k].pattern; k++)
			if (pretok_same(p->stage[k].pattern, s, n))
				return &p->stage[k];
	return NULL;
}

/* True if both engines parse a group that begins with "(?" in the same way. */
static int group_known(const char *s, size_t n)
{
	static const char *const known[] = { "(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>", "(?i:" };

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (n >= strlen(known[i]) && !memcmp(s, known[i], strlen(known[i])))
			return 1;
	return 0;
}

/* Return the construct at s that the two engines parse differently, or NULL. */
static const char *foreign(const char *s, size_t n, int in_class)
{
	int more = n > 1;

	if (*s == '\\') {
		if (!more)
			return "a backslash at the end";
		if (in_class && strchr("SDPAzZ", s[1]))
			return "a negated class or a place in brackets";
		if ((s[1] >= 'a' && s[1] <= 'z') || (s[1] >= 'A' && s[1] <= 'Z') ||
		    (s[1] >= '0' && s[1] <= '9'))
			return strchr("sSdDpPrntfxAzZ", s[1]) ? NULL : "an escape";
		return NULL;
	}
	if (in_class)
		return *s == '['                     ? "brackets in brackets"
		       : more && !memcmp(s, "&&", 2) ? "&& in brackets"
		                                     : NULL;
	if (*s == '(' && more && s[1] == '?' && !group_known(s, n))
		return "a group";
	if (*s == '{' && more && s[1] == ',')
		return "{,n}";
	return *s == '}' && more && s[1] == '+' ? "{n}+" : NULL;
}

/* Return the length of the escape at s, which is copied unchanged. */
static size_t escape_bytes(const char *s, size_t n)
{
	const char *close = n > 2 && s[2] == '{' && strchr("pPx", s[1]) ? memchr(s, '}', n) : NULL;

	return close ? (size_t)(close - s) + 1 : 2;
}

int pretok_translate(const char *s, size_t n, char **out, const char **what)
{
	struct buf b;
	int in_class = 0;

	*out = NULL;
	*what = memchr(s, 0, n) ? "U+0000" : NULL;
	buf_init(&b, MEM_TOK);
	for (size_t at = 0; at < n && !*what; at++) {
		*what = foreign(s + at, n - at, in_class);
		if (*what)
			break;
		if (s[at] == '\\') {
			size_t k = escape_bytes(s + at, n - at);
			/* for PCRE2, U+0085 is not white space */
			if (s[at + 1] == 's')
				buf_puts(&b, in_class ? "\\s\\x{85}" : "[\\s\\x{85}]");
			else if (s[at + 1] == 'S')
				buf_puts(&b, "[^\\s\\x{85}]");
			else if (k > 6 && strchr("pP", s[at + 1]) && s[at + 3] != '^')
				/* a name longer than a category is a script; PCRE2 then uses
				 * Script_Extensions by default */
				buf_printf(&b, "\\%c{sc:%.*s", s[at + 1], (int)k - 3, s + at + 3);
			else
				buf_put(&b, s + at, k);
			at += k - 1;
			continue;
		}
		if (s[at] == '[' && !in_class)
			in_class = 1;
		else if (s[at] == ']')
			in_class = 0;
		buf_putc(&b, s[at]);
	}
	if (*what) {
		buf_fini(&b);
		return INFER_EUNSUP;
	}
	*out = buf_take(&b, NULL);
	return *out ? INFER_OK : INFER_ENOMEM;
}
