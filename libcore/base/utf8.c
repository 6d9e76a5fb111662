/* base/utf8.c - well-formed sequences, as ranges of the second byte that depend on the first. */
#include "base/utf8.h"

#include <string.h>

/* Return the length of a sequence by its first byte, and the range of the second byte; 0: no
 * sequence begins with it. */
static int lead_length(unsigned char c, unsigned char *lo, unsigned char *hi)
{
	*lo = 0x80;
	*hi = 0xbf;
	if (c < 0x80)
		return 1;
	if (c < 0xc2 || c > 0xf4)
		return 0;
	if (c < 0xe0)
		return 2;
	if (c == 0xe0)
		*lo = 0xa0; /* shortest form */
	if (c == 0xed)
		*hi = 0x9f; /* no surrogates */
	if (c == 0xf0)
		*lo = 0x90;
	if (c == 0xf4)
		*hi = 0x8f; /* up to U+10FFFF */
	return c < 0xf0 ? 3 : 4;
}

/* Return the number of valid bytes of the sequence at s; *want: its whole length (0: the first byte
 * is not a lead byte). */
static int valid_prefix(const unsigned char *s, size_t n, int *want)
{
	unsigned char lo, hi;
	int i = 1;

	*want = lead_length(s[0], &lo, &hi);
	if (!*want)
		return 0;
	for (; i < *want && (size_t)i < n && s[i] >= lo && s[i] <= hi; i++) {
		lo = 0x80;
		hi = 0xbf;
	}
	return i;
}

int utf8_get(const char *s, size_t n, uint32_t *cp)
{
	const unsigned char *u = (const unsigned char *)s;
	int want, have;

	if (u[0] < 0x80) {
		*cp = u[0];
		return 1;
	}
	have = valid_prefix(u, n, &want);
	if (!want || have < want) {
		*cp = 0xfffd;
		return 0;
	}
	*cp = u[0] & (0xffu >> (want + 1));
	for (int i = 1; i < want; i++)
		*cp = *cp << 6 | (u[i] & 0x3f);
	return want;
}

int utf8_put(char out[4], uint32_t cp)
{
	int n = cp < 0x80 ? 1 : cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4;

	if (cp > 0x10ffff || (cp >= 0xd800 && cp < 0xe000))
		return 0;
	if (n == 1) {
		out[0] = (char)cp;
		return 1;
	}
	for (int i = n - 1; i > 0; i--, cp >>= 6)
		out[i] = (char)(0x80 | (cp & 0x3f));
	out[0] = (char)((0xf00u >> n & 0xf0) | cp);
	return n;
}

size_t utf8_check(const char *s, size_t n)
{
	size_t i = 0;
	uint64_t w;
	uint32_t cp;
	int len;

	while (i < n) {
		while (n - i >= 8 && (memcpy(&w, s + i, 8), !(w & 0x8080808080808080)))
			i += 8;
		if (i == n)
			break;
		/* two bytes, the most frequent case after ASCII */
		if (n - i >= 2 && (unsigned char)s[i] - 0xc2u < 0x1e &&
		    ((unsigned char)s[i + 1] & 0xc0) == 0x80) {
			i += 2;
			continue;
		}
		len = utf8_get(s + i, n - i, &cp);
		if (!len)
			break;
		i += (size_t)len;
	}
	return i;
}

size_t utf8_tail(const char *s, size_t n)
{
	const unsigned char *u = (const unsigned char *)s;

	for (size_t k = 1; k <= 3 && k <= n; k++) {
		int want, have;

		if ((u[n - k] & 0xc0) == 0x80)
			continue;
		have = valid_prefix(u + n - k, k, &want);
		return (size_t)have == k && have < want ? k : 0;
	}
	return 0;
}

size_t utf8_bad(const char *s, size_t n)
{
	int want, have = valid_prefix((const unsigned char *)s, n, &want);

	return have ? (size_t)have : 1;
}
