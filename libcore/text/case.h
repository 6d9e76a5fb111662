/* text/case.h - upper and title case that is not the inverse of lower case. */
#ifndef TEXT_CASE_H
#define TEXT_CASE_H
#include <stdint.h>

/* Mappings to up to three code points; unused ones are 0. */
struct unicode_case {
	uint32_t from, upper[3], title[3];
};
extern const struct unicode_case unicode_case_tab[]; /* by ascending from */
extern const unsigned unicode_case_n;

const struct unicode_case *unicode_case(uint32_t cp); /* NULL: an ordinary mapping, or none */
#endif
