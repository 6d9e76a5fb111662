/* text/unicode.h - properties of code points, canonical decomposition, lower case.  Immutable
 * tables. */
#ifndef TEXT_UNICODE_H
#define TEXT_UNICODE_H
#include <stddef.h>
#include <stdint.h>
#include "base/utf8.h"

/* General categories; unicode_tab.c uses these numbers. */
enum unicode_cat {
	UNI_CN,
	UNI_CC,
	UNI_CF,
	UNI_CO,
	UNI_CS,
	UNI_LU,
	UNI_LL,
	UNI_LT,
	UNI_LM,
	UNI_LO,
	UNI_MN,
	UNI_MC,
	UNI_ME,
	UNI_ND,
	UNI_NL,
	UNI_NO,
	UNI_PC,
	UNI_PD,
	UNI_PS,
	UNI_PE,
	UNI_PI,
	UNI_PF,
	UNI_PO,
	UNI_SM,
	UNI_SC,
	UNI_SK,
	UNI_SO,
	UNI_ZS,
	UNI_ZL,
	UNI_ZP
};

/* Sets of categories: one bit each.  White_Space and Script=Han are bits of their own. */
#define UNI_BIT(cat) (UINT32_C(1) << (cat))
#define UNI_C (UINT32_C(0x1f))
#define UNI_L (UINT32_C(0x1f) << UNI_LU)
#define UNI_M (UINT32_C(7) << UNI_MN)
#define UNI_N (UINT32_C(7) << UNI_ND)
#define UNI_P (UINT32_C(0x7f) << UNI_PC)
#define UNI_S (UINT32_C(15) << UNI_SM)
#define UNI_Z (UINT32_C(7) << UNI_ZS)
#define UNI_SPACE (UINT32_C(1) << 30)
#define UNI_HAN (UINT32_C(1) << 31)

struct unicode_lower {
	uint32_t from, to;
};
/* A decomposition: n code points from `at` in unicode_nfd_pool. */
struct unicode_nfd {
	uint32_t from;
	uint16_t at, n;
};
struct unicode_ccc {
	uint32_t from, to;
	uint8_t class;
};

extern const char unicode_version[];
extern const uint8_t unicode_page[0x1100];
extern const uint8_t unicode_prop[][256];
extern const uint32_t unicode_lower_n, unicode_nfd_n, unicode_ccc_n, unicode_nfd_pool[];
extern const struct unicode_lower unicode_lower_tab[];
extern const struct unicode_nfd unicode_nfd_tab[];
extern const struct unicode_ccc unicode_ccc_tab[];

#define UNI_BAD \
	UINT32_C(0x110000) /* represents a byte that is not part of a valid sequence; category Cn */

/* Return the sets that contain cp: the bit of its category, UNI_SPACE and UNI_HAN. */
static inline uint32_t unicode_set(uint32_t cp)
{
	if (cp >= UNI_BAD)
		return UNI_BIT(UNI_CN);
	unsigned p = unicode_prop[unicode_page[cp >> 8]][cp & 255];
	return UNI_BIT(p & 31) | (uint32_t)(p & 96) << 25;
}

/* Decode the next code point of s[0 .. n), n > 0; returns its length.  UNI_BAD and 1 if s does not
 * begin with a valid sequence. */
static inline size_t unicode_next(const char *s, size_t n, uint32_t *cp)
{
	if ((unsigned char)*s < 0x80) {
		*cp = (unsigned char)*s;
		return 1;
	}
	size_t k = utf8_get(s, n, cp);
	if (k)
		return k;
	*cp = UNI_BAD;
	return 1;
}

/* True for a word character, \w of UTS 18: alphabetic, mark, decimal digit, connector or joiner. */
static inline int unicode_is_word(uint32_t cp)
{
	if (cp < 0x80)
		return (cp | 32) - 'a' < 26 || cp - '0' < 10 || cp == '_';
	return (unicode_set(cp) &
	        (UNI_L | UNI_M | UNI_BIT(UNI_ND) | UNI_BIT(UNI_NL) | UNI_BIT(UNI_PC))) ||
	       cp - 0x24b6 < 52 || cp - 0x1f130 < 26 || cp - 0x1f150 < 26 || cp - 0x1f170 < 26 ||
	       cp == 0x200c || cp == 0x200d;
}

/* Return the simple lower-case mapping; for U+0130, whose lower case is two code points, U+0069. */
uint32_t unicode_to_lower(uint32_t cp);
int unicode_class(uint32_t cp); /* return the canonical combining class */
/* Write the full canonical decomposition of cp to out; returns 1 ... 4.  The caller reorders the
 * marks. */
int unicode_decompose(uint32_t cp, uint32_t out[4]);
/* Order the combining marks of cp[0 .. n) canonically (stable): UAX 15, D109.  O(n + sum of k^2
 * over runs of k marks), k <= 64. */
void unicode_order(uint32_t *cp, size_t n);
#endif
