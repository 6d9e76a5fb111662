/* common/opt_other.c - find the row of other_list.h for an unknown option. */
#include "common/opt_other.h"
#include "base/err.h"
#include "base/nearest.h"

#include <string.h>

static const struct other {
	const char *names; /* separated by spaces */
	const char *ours, *say;
} others[] = {
#define OTHER(names, ours) { names, ours, "did you mean " ours "?" },
#define SAID(names, ours, say) { names, ours, say },
#include "common/other_list.h"
#undef OTHER
#undef SAID
};

int opt_has(const struct opt *rows, const char *option)
{
	for (; rows->kind != OPT_END; rows++)
		if (rows->kind != OPT_GROUP &&
		    (option[1] != '-' ? rows->key == option[1]
		                      : rows->name && !strcmp(rows->name, option + 2)))
			return 1;
	return 0;
}

/* True if `name` is one of `names`, or, if near, similar to one or begins as a name with * does. */
static int names_match(const char *names, const char *name, int near)
{
	char one[OPT_NAME_MAX];

	for (size_t n; *names; names += n + (names[n] == ' ')) {
		n = strcspn(names, " ");
		must(n && n < sizeof one);
		memcpy(one, names, n);
		one[n] = 0;
		if (one[n - 1] == '*' ? near && !strncmp(name, one, n - 1)
		                      : !strcmp(one, name) || (near && strlen(name) > 5 &&
		                                               nearest_edits(one, name) <= 1))
			return 1;
	}
	return 0;
}

const char *opt_other(const struct opt *rows, const char *name, int near)
{
	char plain[OPT_NAME_MAX] = "";

	for (size_t i = 0; name[i] && i + 1 < sizeof plain; i++)
		plain[i] = name[i] == '_' ? '-' : name[i];
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (names_match(others[i].names, plain, near) &&
		    (!*others[i].ours || opt_has(rows, others[i].ours)))
			return others[i].say;
	return NULL;
}
