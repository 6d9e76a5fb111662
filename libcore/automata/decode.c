/* automata/decode.c - incremental decoding of JSON escapes and UTF-8. */
#include "automata/decode.h"

/* Decoder modes.  HEX and LOW_HEX: + digits read.  LOW_...: after a high surrogate, which is in the
 * upper half of acc.  TIDY is or'ed to ESCAPE and HEX. UTF8: + 4 * length + missing bytes */
enum { PLAIN, ESCAPE, HEX, LOW_BACKSLASH = 6, LOW_U, LOW_HEX, TIDY = 32, UTF8 = 64 };
enum { PRINTABLE = 0x20, DEL = 0x7f, HIGH = 0xd800, LOW = 0xdc00, AFTER = 0xe000 };

static int hex_value(uint8_t b)
{
	if (b >= '0' && b <= '9')
		return b - '0';
	b |= 32;
	return b >= 'a' && b <= 'f' ? b - 'a' + 10 : -1;
}

static int add_range(struct dfa_range *r, int n, uint32_t lo, uint32_t hi, uint32_t least,
                     uint32_t most)
{
	lo = lo < least ? least : lo;
	hi = hi > most ? most : hi;
	if (lo > hi)
		return n;
	r[n] = (struct dfa_range){ lo, hi };
	return n + 1;
}

static int utf8_ranges(const struct decoder *d, struct dfa_range *r)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const uint32_t left = (d->mode - UTF8) % 4, length = (d->mode - UTF8) / 4,
		       lo = d->acc << 6 * left, hi = lo | ((UINT32_C(1) << 6 * left) - 1);
	int n = add_range(r, 0, lo, hi, least[length], HIGH - 1);

	return add_range(r, n, lo, hi, least[length] > AFTER ? least[length] : AFTER, DFA_MOST_CP);
}

static uint32_t join_surrogates(uint32_t high, uint32_t low)
{
	return 0x10000 + ((high - HIGH) << 10) + (low - LOW);
}

static int hex_ranges(uint32_t lo, uint32_t hi, uint32_t tidy, struct dfa_range *r)
{
	struct dfa_range h;
	int n = tidy ? add_range(r, 0, lo, hi, 0, PRINTABLE - 1) : 0;

	n = add_range(r, n, lo, hi, tidy ? DEL : 0, HIGH - 1);
	n = add_range(r, n, lo, hi, AFTER, 0xffff);
	if (add_range(&h, 0, lo, hi, HIGH, LOW - 1))
		r[n++] = (struct dfa_range){ join_surrogates(h.lo, LOW),
			                     join_surrogates(h.hi, AFTER - 1) };
	return n;
}

int decode_ranges(const struct decoder *d, struct dfa_range r[DECODE_RANGES])
{
	const uint32_t acc = d->acc & 0xffff, high = d->acc >> 16;
	const uint32_t tidy = d->mode & TIDY, mode = d->mode & ~(uint32_t)TIDY;
	uint32_t left;
	struct dfa_range low;
	int n;

	if (d->mode >= UTF8)
		return utf8_ranges(d, r);
	if (mode == PLAIN || mode == ESCAPE) {
		n = hex_ranges(0, 0xffff, tidy, r);
		n = tidy ? add_range(r, n, '"', '"', 0, DFA_MOST_CP) : n;
		return tidy ? add_range(r, n, '\\', '\\', 0, DFA_MOST_CP) : n;
	}
	if (mode < LOW_BACKSLASH) {
		left = 4 * (4 - (mode - HEX));
		return hex_ranges(acc << left, acc << left | ((UINT32_C(1) << left) - 1), tidy, r);
	}
	left = mode < LOW_HEX ? 16 : 4 * (4 - (mode - LOW_HEX));
	if (!add_range(&low, 0, acc << left, acc << left | ((UINT32_C(1) << left) - 1), LOW,
	               AFTER - 1))
		return 0;
	*r = (struct dfa_range){ join_surrogates(high, low.lo), join_surrogates(high, low.hi) };
	return 1;
}

static enum decoded finish_char(struct decoder *d, uint32_t cp, uint32_t *out)
{
	*d = (struct decoder){ 0 };
	*out = cp;
	return DECODE_CHAR;
}

static enum decoded expect_more(struct decoder *d, uint32_t mode, uint32_t acc)
{
	struct dfa_range r[DECODE_RANGES];

	*d = (struct decoder){ mode, acc };
	return decode_ranges(d, r) ? DECODE_MORE : DECODE_BAD;
}

static enum decoded begin_utf8(struct decoder *d, uint8_t b)
{
	if (b >= 0xc2 && b < 0xe0)
		return expect_more(d, UTF8 + 4 * 2 + 1, b & 31);
	if (b >= 0xe0 && b < 0xf0)
		return expect_more(d, UTF8 + 4 * 3 + 2, b & 15);
	if (b >= 0xf0 && b < 0xf5)
		return expect_more(d, UTF8 + 4 * 4 + 3, b & 7);
	return DECODE_BAD;
}

enum decoded decode_utf8(struct decoder *d, uint8_t b, uint32_t *cp)
{
	if (d->mode == PLAIN)
		return b < 0x80 ? finish_char(d, b, cp) : begin_utf8(d, b);
	if ((b & 0xc0) != 0x80)
		return DECODE_BAD;
	d->acc = d->acc << 6 | (b & 63);
	if ((d->mode - UTF8) % 4 == 1)
		return finish_char(d, d->acc, cp);
	return expect_more(d, d->mode - 1, d->acc);
}

static enum decoded decode_escape(struct decoder *d, uint8_t b, uint32_t *cp)
{
	switch (b) {
	case '"':
	case '\\':
		return finish_char(d, b, cp);
	case '/':
		return d->mode & TIDY ? DECODE_BAD : finish_char(d, b, cp);
	case 'b':
		return finish_char(d, 8, cp);
	case 'f':
		return finish_char(d, 12, cp);
	case 'n':
		return finish_char(d, 10, cp);
	case 'r':
		return finish_char(d, 13, cp);
	case 't':
		return finish_char(d, 9, cp);
	case 'u':
		return expect_more(d, HEX | (d->mode & TIDY), 0);
	default:
		return DECODE_BAD;
	}
}

static enum decoded decode_hex_digit(struct decoder *d, uint8_t b, uint32_t *cp)
{
	const int v = hex_value(b);
	const uint32_t acc = (d->acc & 0xffff) << 4 | (uint32_t)v, high = d->acc & 0xffff0000;
	const uint32_t tidy = d->mode & TIDY, mode = d->mode & ~(uint32_t)TIDY;

	if (v < 0)
		return DECODE_BAD;
	if (mode == LOW_HEX + 3)
		return (acc & 0xfc00) == LOW ? finish_char(d, join_surrogates(high >> 16, acc), cp)
		                             : DECODE_BAD;
	if (mode != HEX + 3)
		return expect_more(d, d->mode + 1, high | acc);
	if (acc >= HIGH && acc < LOW)
		return expect_more(d, LOW_BACKSLASH, acc << 16);
	if ((acc >= LOW && acc < AFTER) || (tidy && acc >= PRINTABLE && acc < DEL))
		return DECODE_BAD;
	return finish_char(d, acc, cp);
}

static enum decoded decode_string(struct decoder *d, uint32_t tidy, uint8_t b, uint32_t *cp)
{
	if (d->mode >= UTF8)
		return decode_utf8(d, b, cp);
	switch (d->mode & ~(uint32_t)TIDY) {
	case PLAIN:
		if (b == '"')
			return DECODE_QUOTE;
		if (b == '\\')
			return expect_more(d, ESCAPE | tidy, 0);
		return b < 0x20 ? DECODE_BAD : decode_utf8(d, b, cp);
	case ESCAPE:
		return decode_escape(d, b, cp);
	case LOW_BACKSLASH:
		return b == '\\' ? expect_more(d, LOW_U, d->acc) : DECODE_BAD;
	case LOW_U:
		return b == 'u' ? expect_more(d, LOW_HEX, d->acc) : DECODE_BAD;
	default:
		return decode_hex_digit(d, b, cp);
	}
}

enum decoded decode_json(struct decoder *d, uint8_t b, uint32_t *cp)
{
	return decode_string(d, 0, b, cp);
}
enum decoded decode_tidy(struct decoder *d, uint8_t b, uint32_t *cp)
{
	return decode_string(d, TIDY, b, cp);
}

int dfa_reaches(const struct dfa *d, uint32_t state, uint32_t lo, uint32_t hi, struct span n)
{
	uint32_t a = 0, b = d->n_ranges;

	if (d->flags[state] & DFA_ALL)
		return 1;
	while (b - a > 1) {
		const uint32_t mid = (a + b) / 2;

		if (d->from[mid] <= lo)
			a = mid;
		else
			b = mid;
	}
	for (; a < d->n_ranges && d->from[a] <= hi; a++)
		if (dfa_spans(d, d->next[(size_t)state * d->n_classes + d->range_class[a]], n))
			return 1;
	return 0;
}
