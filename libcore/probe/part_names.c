/* probe/part_names.c - names of machines as people type them: "RTX 4090", "rtx4090", "4090", "Apple M3 Max" */
#include "probe/probe.h"

#include <string.h>

enum { MOST = 64 };

static int has_digit(char c) { return c >= '0' && c <= '9'; }

/* Copy the letters and digits of a name in lower case, up to a comma.  Returns their number.  starts: bit i is set if
 * letter or digit i begins a word. */
static size_t fold_name(char to[MOST], uint64_t *starts, const char *name, size_t n)
{
	size_t at = 0;
	int begins = 1;

	*starts = 0;
	for (size_t i = 0; i < n && name[i] != ',' && at + 1 < MOST; i++) {
		char c = name[i];

		if (c >= 'A' && c <= 'Z')
			c = (char)(c - 'A' + 'a');
		if (!has_digit(c) && !(c >= 'a' && c <= 'z')) {
			begins = 1;
			continue;
		}
		if (begins)
			*starts |= (uint64_t)1 << at;
		begins = 0;
		to[at++] = c;
	}
	to[at] = 0;
	return at;
}

/* Remove the maker's words from the beginning of a folded name.  Returns the rest. */
static const char *skip_maker(const char *name)
{
	static const char *const words[] = { "nvidia",   "geforce", "tesla", "amd", "radeon",
		                             "instinct", "intel",   "apple", "aws" };
	size_t i = 0;

	while (i < sizeof words / sizeof *words) {
		size_t n = strlen(words[i]);

		if (!strncmp(name, words[i], n) && name[n]) {
			name += n;
			i = 0;
		} else {
			i++;
		}
	}
	return name;
}

int probe_name_rank(const char *asked, size_t n, const char *name, const char *title)
{
	char want[MOST], have[MOST], long_name[MOST];
	uint64_t starts, none;
	const char *core;
	size_t length, have_length, digits = 0;

	if (!fold_name(want, &none, asked, n))
		return 0;
	have_length = fold_name(have, &starts, name, strlen(name));
	fold_name(long_name, &none, title, strlen(title));
	core = skip_maker(want);
	if (!strcmp(want, have) || !strcmp(core, skip_maker(have)) ||
	    !strcmp(core, skip_maker(long_name)))
		return 2;
	length = strlen(core);
	for (size_t i = 0; i < length; i++)
		digits += has_digit(core[i]);
	/* the last words of a name, with a number: "4090", "i9-13900k" */
	return digits && length < have_length && !strcmp(have + have_length - length, core) &&
	       starts >> (have_length - length) & 1;
}

int probe_name_likeness(const char *asked, size_t n, const char *name)
{
	enum { LEAST = 3 };
	char want[MOST], have[MOST];
	uint64_t starts, none;
	size_t all = fold_name(want, &starts, asked, n),
	       part = fold_name(have, &none, name, strlen(name));

	if (all >= LEAST && all < part && !strncmp(have, want, all))
		return (int)all;
	for (size_t i = 0; part && i + part <= all; i++)
		if (starts >> i & 1 && (i + part == all || starts >> (i + part) & 1) &&
		    !strncmp(want + i, have, part))
			return (int)part;
	return 0;
}
