/* schema/repeat.c - patterns that only repeat a class of characters, ^[a-z]{0,100000}$: their bounds are
 * limits on the length of the string, which can be counted. */
#include "schema/compile.h"

#include <string.h>

/* Return the bytes of the first atom of s [n], if it surely matches one character; else 0. */
static size_t atom_bytes(const char *s, size_t n)
{
	if (n > 1 && s[0] == '\\')
		return strchr("dDwWsS", s[1]) && s[1] ? 2 : 0;
	if (n && s[0] != '[')
		return s[0] == '.' || (s[0] >= '0' && s[0] <= '9') ||
		                       (s[0] >= 'a' && s[0] <= 'z') || (s[0] >= 'A' && s[0] <= 'Z')
		               ? 1
		               : 0;
	for (size_t i = 1; i < n; i++) {
		if (s[i] == '[' || (s[i] == ']' && (i == 1 || (i == 2 && s[1] == '^'))))
			return 0;
		if (s[i] == ']')
			return i + 1;
		i += s[i] == '\\';
	}
	return 0;
}

/* Read a number of at most 9 digits at s[*i]. Returns 0 if there is none. */
static int read_bound(uint32_t *v, const char *s, size_t n, size_t *i)
{
	const size_t first = *i;

	for (*v = 0; *i < n && *i < first + 9 && s[*i] >= '0' && s[*i] <= '9'; ++*i)
		*v = *v * 10 + (uint32_t)(s[*i] - '0');
	return *i > first;
}

size_t schema_repeats(const char *s, size_t n, uint32_t *least, uint32_t *most)
{
	const size_t atom = n && s[0] == '^' ? atom_bytes(s + 1, n - 1) : 0;
	size_t i = atom + 2;

	if (!atom || i > n || s[i - 1] != '{' || !read_bound(least, s, n, &i))
		return 0;
	*most = *least;
	if (i < n && s[i] == ',') {
		i++;
		if (!read_bound(most, s, n, &i))
			*most = DFA_FOREVER;
	}
	return i + 2 == n && s[i] == '}' && s[i + 1] == '$' && *least <= *most ? atom : 0;
}
