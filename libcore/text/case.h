/* text/case.h - upper- and title-case mappings that are not inverses of lower case. */
#ifndef TEXT_CASE_H
#define TEXT_CASE_H
#include <stdint.h>

/* Mappings to up to three code points; unused ones are 0. */
struct unicode_case {
	uint32_t from, upper[3], title[3];
};
extern const struct unicode_case unicode_case_tab[]; /* sorted by `from` */
extern const unsigned unicode_case_n;

const struct unicode_case *unicode_case(uint32_t cp); /* NULL: cp has no such mapping */
#endif
