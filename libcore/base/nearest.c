/* base/nearest.c - distances between names. */
#include "base/nearest.h"

#include <string.h>

static int smaller(int a, int b) { return a < b ? a : b; }

int nearest_edits(const char *a, const char *b)
{
	int rows[3][NEAREST_NAME + 1], na = (int)strlen(a), nb = (int)strlen(b);

	for (int j = 0; j <= nb; j++)
		rows[0][j] = j;
	for (int i = 1; i <= na; i++) {
		int *row = rows[i % 3], *last = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];

		row[0] = i;
		for (int j = 1; j <= nb; j++) {
			row[j] = smaller(last[j - 1] + (a[i - 1] != b[j - 1]),
			                 smaller(last[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = smaller(row[j], before[j - 2] + 1);
		}
	}
	return rows[na % 3][nb];
}

void nearest_begin(struct nearest *n, const char *typed)
{
	size_t len = strlen(typed);

	*n = (struct nearest){ .typed = typed, .least = len < 6 ? 2 : 3 };
	if (len < 2 || len >= NEAREST_NAME)
		n->least = 0;
}

void nearest_try(struct nearest *n, const char *name)
{
	if (!n->least || strlen(name) >= NEAREST_NAME)
		return;
	int d = strncmp(name, n->typed, strlen(n->typed)) ? nearest_edits(n->typed, name) : 1;

	if (d < n->least) {
		n->least = d;
		n->best = name;
	}
}
