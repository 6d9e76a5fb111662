/* base/jread_num.c - decimal text to the nearest double, ties to even, without libc, whose
 * decimal point depends on the locale.  Short numbers take one exact multiplication or division
 * of doubles.  For other numbers, w * 10^q is computed to 128 bits with an error bound; if that
 * does not decide the rounding, with integers of any length. */
#include "base/jread.h"
#include "base/err.h"

#include <string.h>

typedef unsigned __int128 u128;

enum { STEP = 28, LOWEST = -13, DIGITS = 800, LIMBS = 96 };

/* the first 128 bits of 10^(STEP * k), truncated, k from LOWEST; the top bit is set.  Generated
 * by scripts/check-json.py. */
static const uint64_t tens[][2] = {
	{ 0xe1afa13afbd14d6d, 0x82189c09a3a1ec21 }, { 0xe3e27a444d8d98b7, 0xfd1b1b2308169b25 },
	{ 0xe61acf033d1a45df, 0x6fb92487298e33bd }, { 0xe858ad248f5c22c9, 0xd1b3400f8f9cff68 },
	{ 0xea9c227723ee8bcb, 0x465e15a979c1cadc }, { 0xece53cec4a314ebd, 0xa4f8bf5635246428 },
	{ 0xef340a98172aace4, 0x86fb897116c87c34 }, { 0xf18899b1bc3f8ca1, 0xdc44e6c3cb279ac1 },
	{ 0xf3e2f893dec3f126, 0x5a89dba3c3efccfa }, { 0xf64335bcf065d37d, 0x4d4617b5ff4a16d5 },
	{ 0xf8a95fcf88747d94, 0x75a44c6397ce912a }, { 0xfb158592be068d2e, 0xeed6e2f0f0d56712 },
	{ 0xfd87b5f28300ca0d, 0x8bca9d6e188853fc }, { 0x8000000000000000, 0x0000000000000000 },
	{ 0x813f3978f8940984, 0x4000000000000000 }, { 0x82818f1281ed449f, 0xbff8f10e7a8921a4 },
	{ 0x83c7088e1aab65db, 0x792667c6da79e0fa }, { 0x850fadc09923329e, 0x03e2cf6bc604ddb0 },
	{ 0x865b86925b9bc5c2, 0x0b8a2392ba45a9b2 }, { 0x87aa9aff79042286, 0x90fb44d2f05d0842 },
	{ 0x88fcf317f22241e2, 0x441fece3bdf81f03 }, { 0x8a5296ffe33cc92f, 0x82bd6b70d99aaa6f },
	{ 0x8bab8eefb6409c1a, 0x1ad089b6c2f7548e }, { 0x8d07e33455637eb2, 0xdb0b487b6423e1e8 },
	{ 0x8e679c2f5e44ff8f, 0x570f09eaa7ea7648 },
};

/* 5^n, for every n for which it fits 64 bits */
static const uint64_t fives[] = {
	1,
	5,
	25,
	125,
	625,
	3125,
	15625,
	78125,
	390625,
	1953125,
	9765625,
	48828125,
	244140625,
	1220703125,
	6103515625,
	30517578125,
	152587890625,
	762939453125,
	3814697265625,
	19073486328125,
	95367431640625,
	476837158203125,
	2384185791015625,
	11920928955078125,
	59604644775390625,
	298023223876953125,
	1490116119384765625,
	7450580596923828125,
};

static const double exact[] = {
	1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
};

/* A parsed number: w * 10^q, plus a remainder if digits from the 20th on were left out; all digits
 * are in first ... end. */
struct decimal {
	uint64_t w;
	int64_t q;
	int digits, more, negative, real;
	const char *first, *end;
};

/* ---- integers of any length, least significant word first */

struct big {
	int n;
	uint32_t at[LIMBS];
};

static void big_muladd(struct big *b, uint32_t by, uint32_t add)
{
	uint64_t carry = add;

	for (int i = 0; i < b->n; i++) {
		carry += (uint64_t)b->at[i] * by;
		b->at[i] = (uint32_t)carry;
		carry >>= 32;
	}
	if (carry) {
		must(b->n < LIMBS);
		b->at[b->n++] = (uint32_t)carry;
	}
}

static void big_set(struct big *b, uint64_t v)
{
	b->n = 2;
	b->at[0] = (uint32_t)v;
	b->at[1] = (uint32_t)(v >> 32);
}

static void big_five(struct big *b, int64_t power)
{
	for (; power >= 13; power -= 13)
		big_muladd(b, (uint32_t)fives[13], 0);
	big_muladd(b, (uint32_t)fives[power], 0);
}

static void big_shift(struct big *b, int64_t bits)
{
	int limbs = (int)(bits / 32);

	big_muladd(b, (uint32_t)1 << bits % 32, 0);
	must(limbs <= LIMBS - b->n);
	memmove(b->at + limbs, b->at, (size_t)b->n * sizeof *b->at);
	memset(b->at, 0, (size_t)limbs * sizeof *b->at);
	b->n += limbs;
}

static int big_compare(const struct big *a, const struct big *b)
{
	for (int i = a->n > b->n ? a->n : b->n; i-- > 0;) {
		uint32_t x = i < a->n ? a->at[i] : 0, y = i < b->n ? b->at[i] : 0;

		if (x != y)
			return x < y ? -1 : 1;
	}
	return 0;
}

/* Set b to the first DIGITS digits of d, more than any midpoint of two doubles has, then a digit 1
 * if a further one is not 0.  Returns the power of ten to multiply b by. */
static int64_t big_digits(struct big *b, const struct decimal *d)
{
	uint32_t group = 0, scale = 1;
	int64_t q = d->q;
	const char *p = d->first;
	int n = 0, rest = 0;

	big_set(b, d->w);
	if (!d->more)
		return q;
	big_set(b, 0);
	for (; p < d->end; p++) {
		if (*p == '.')
			continue;
		if (n == DIGITS) {
			rest |= *p != '0';
			if (rest)
				break;
			continue;
		}
		n++;
		group = group * 10 + (uint32_t)(*p - '0');
		scale *= 10;
		if (scale == 1000000000) {
			big_muladd(b, scale, group);
			group = 0;
			scale = 1;
		}
	}
	big_muladd(b, scale, group);
	if (rest)
		big_muladd(b, 10, 1);
	return q - (n + rest - d->digits);
}

/* True if d rounds up: it is above the midpoint (2m + 1) * 2^e, or equal to it and m is odd. */
static int rounds_up(const struct decimal *d, uint64_t m, int64_t e)
{
	struct big x, y;
	int64_t q = big_digits(&x, d), up = q - e;
	int order;

	big_set(&y, 2 * m + 1);
	big_five(q < 0 ? &y : &x, q < 0 ? -q : q);
	big_shift(up < 0 ? &y : &x, up < 0 ? -up : up);
	order = big_compare(&x, &y);
	return order ? order > 0 : m & 1;
}

/* ---- 128 bits */

static u128 mul_high(u128 a, u128 b)
{
	uint64_t al = (uint64_t)a, ah = (uint64_t)(a >> 64), bl = (uint64_t)b,
		 bh = (uint64_t)(b >> 64);
	u128 low = (u128)al * bl, m1 = (u128)ah * bl, m2 = (u128)al * bh;
	u128 middle = (low >> 64) + (uint64_t)m1 + (uint64_t)m2;

	return (u128)ah * bh + (m1 >> 64) + (m2 >> 64) + (middle >> 64);
}

/* Return the bits of the double nearest to d's magnitude, which may be infinity. */
static uint64_t nearest_bits(const struct decimal *d)
{
	static const uint64_t infinite = (uint64_t)2047 << 52;
	int64_t k, r, e;
	uint64_t m;
	u128 a, h, below, half, missing;
	int lead, cut;

	if (!d->w || d->q < -342)
		return 0;
	if (d->q > 308)
		return infinite;
	k = (d->q - STEP * LOWEST) / STEP + LOWEST;
	r = d->q - STEP * k;
	a = (u128)d->w * fives[r];
	lead = a >> 64 ? __builtin_clzll((uint64_t)(a >> 64)) : 64 + __builtin_clzll((uint64_t)a);
	h = mul_high(a << lead, (u128)tens[k - LOWEST][0] << 64 | tens[k - LOWEST][1]);
	/* h * 2^e <= value < (h + missing) * 2^e */
	e = r + ((STEP * k * 217706) >> 16) + 1 - lead;
	missing = d->more ? (u128)1 << 70 : 4;
	if (!(h >> 127)) {
		h <<= 1;
		e--;
	}
	cut = e + 127 < -1022 ? (int)(75 - 1022 - 127 - e) : 75;
	if (cut > 128)
		return 0;
	m = cut < 128 ? (uint64_t)(h >> cut) : 0;
	below = cut < 128 ? h & (((u128)1 << cut) - 1) : h;
	half = (u128)1 << (cut - 1);
	if (below > half || (below + missing > half && rounds_up(d, m, e + cut - 1)))
		m++;
	if (cut > 75)
		return m;
	e += 127 + 1023;
	/* the leading bit of m adds 1 to the exponent */
	return e >= 2047 ? infinite : ((uint64_t)(e - 1) << 52) + m;
}

/* ---- text */

static int is_digit(const char *p, const char *end)
{
	return p < end && (unsigned char)(*p - '0') < 10;
}

/* Read digits at p.  after: 1 if they follow the decimal point. */
static const char *parse_digits(struct decimal *d, const char *p, const char *end, int after)
{
	for (; is_digit(p, end); p++) {
		unsigned digit = (unsigned)(*p - '0');

		if (d->digits < 19) {
			if (!d->w)
				d->first = p;
			d->w = d->w * 10 + digit;
			d->digits += d->w != 0;
			d->q -= after;
		} else {
			d->more |= digit != 0;
			d->q += !after;
		}
	}
	return p;
}

/* Parse a number; returns its end, or NULL if there is none. */
static const char *parse_text(struct decimal *d, const char *p, const char *end)
{
	int64_t e = 0;
	int minus = 0;

	if (p < end && *p == '-') {
		d->negative = 1;
		p++;
	}
	if (!is_digit(p, end))
		return NULL;
	p = *p == '0' ? p + 1 : parse_digits(d, p, end, 0);
	if (p < end && *p == '.') {
		d->real = 1;
		if (!is_digit(++p, end))
			return NULL;
		p = parse_digits(d, p, end, 1);
	}
	d->end = p;
	if (p == end || (*p | 32) != 'e')
		return p;
	d->real = 1;
	if (++p < end && (*p == '+' || *p == '-'))
		minus = *p++ == '-';
	if (!is_digit(p, end))
		return NULL;
	for (; is_digit(p, end); p++)
		if (e < (int64_t)1 << 40) /* limit: more than the digits of a text can compensate */
			e = e * 10 + (*p - '0');
	d->q += minus ? -e : e;
	return p;
}

/* Set *v to an integer without point or exponent.  Returns 0 if it does not fit 64 bits. */
static int to_integer(struct json *v, const struct decimal *d)
{
	uint64_t w = d->w;

	if (d->q > 1 ||
	    (d->q == 1 && (__builtin_mul_overflow(w, 10, &w) ||
	                   __builtin_add_overflow(w, (uint64_t)(d->end[-1] - '0'), &w))))
		return 0;
	if (d->negative) {
		if (w > (uint64_t)1 << 63)
			return 0;
		v->kind = JSON_INT;
		v->i = (int64_t)(0 - w);
		return 1;
	}
	v->kind = w > INT64_MAX ? JSON_UINT : JSON_INT;
	v->u = w;
	return 1;
}

size_t jread_num(struct json *v, const char *s, size_t n)
{
	struct decimal d = { 0 };
	const char *end = parse_text(&d, s, s + n);
	uint64_t bits;

	if (!end)
		return 0;
	if (!d.real && to_integer(v, &d))
		return (size_t)(end - s);
	v->kind = JSON_REAL;
	if (!d.more && d.w <= (uint64_t)1 << 53 && d.q >= -22 && d.q <= 22) {
		double x = d.q < 0 ? (double)d.w / exact[-d.q] : (double)d.w * exact[d.q];

		v->d = d.negative ? -x : x;
		return (size_t)(end - s);
	}
	bits = nearest_bits(&d);
	if (bits >> 52 == 2047)
		v->kind = JSON_NULL;
	bits |= (uint64_t)d.negative << 63;
	memcpy(&v->d, &bits, sizeof bits);
	return (size_t)(end - s);
}
